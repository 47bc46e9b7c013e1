"""The experiments of the paper, declared as data: which numbers each of them holds."""

import dataclasses
import itertools
from collections.abc import Callable, Mapping
from typing import Any

from cade_tf.config import AGGREGATORS
from cade_tf.errors import InputError
from cade_tf.experiments import paper
from cade_tf.experiments.cells import CLASSIFICATION, LINKS
from cade_tf.experiments.methods import METHODS

TITLES = {
    "digits": "Digits",
    "pubmed": "Pubmed",
    "blogcatalog": "BlogCatalog",
    "ppi": "PPI",
    "subppi": "subPPI",
    "reddit": "Reddit",
}
# Data sets whose files fix which nodes are unseen; a ratio would say nothing.
FIXED_SPLIT = ("ppi", "subppi", "reddit")
EITHER = "either"
"""Task of a study that is scored by classification where there are labels, else by links."""

LINK_UNSEEN = 0.2
WIDE = 512
"""Pubmed's features are 500 wide: rows of this width lose nothing by being narrower."""

PAPER_EQUATIONS: Mapping[str, Any] = {
    "initialization": "glorot",
    "activation": "relu",
    "normalize": "output",
    "loss": "pair",
    "temperature": 1.0,
    "learning_rate": 3e-4,
    "steps": 100,
}
"""Undoes the extensions that a recipe may have; rate and steps suit a random start."""

AGGREGATOR_TITLES = {"mean": "mean", "lstm": "LSTM", "pool": "pool"}


@dataclasses.dataclass(frozen=True)
class Entry:
    """One number of a table or one point of a figure: a mean over splits.

    Args:
        row: Title of its row, or of its line in a plot.
        column: Title of its column.
        dataset: Name of the data set.
        task: `classification`, `links` or `either`.
        method: Name of the method.
        changes: Options that differ from the method's recipe.
        unseen_ratio: Share of unseen nodes, for classification; for links it is `LINK_UNSEEN`.
        hidden_ratio: Share of hidden edges, for links.
        against: Row it is compared with by split; None for none.
        paper: What the paper prints, in percent, by metric.
        x: Place on the axis of a plot.
        quick: Whether `--quick` keeps it.
    """

    row: str
    column: str
    dataset: str
    task: str
    method: str
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    unseen_ratio: float = 0.3
    hidden_ratio: float | None = None
    against: str | None = None
    paper: Mapping[str, float] = dataclasses.field(default_factory=dict)
    x: float | None = None
    quick: bool = True


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A table or figure.

    Args:
        name: Name on the command line.
        title: Heading of the report.
        splits: Splits by default.
        entries: All its numbers.
        axis: Label of the horizontal axis of its plots; None for no such plots.
        timed: Whether the report shows training time.
        bars: Whether rows are drawn as bars.
    """

    name: str
    title: str
    splits: int
    entries: tuple[Entry, ...]
    axis: str | None = None
    timed: bool = False
    bars: bool = False


def _percent(ratio: float) -> str:
    return f"{100 * ratio:.0f} %"


def _against(method: str, suffix: str = "") -> str | None:
    return f"GraphSAGE{suffix}" if method.startswith("cade") else None


def _table1(name: str, title: str, datasets: tuple[str, ...], quick: float) -> Experiment:
    entries = []
    for dataset, ratio in itertools.product(datasets, paper.RATIOS):
        common: dict[str, Any] = {
            "column": f"{TITLES[dataset]} {_percent(ratio)}",
            "dataset": dataset,
            "task": CLASSIFICATION,
            "unseen_ratio": ratio,
            "x": 100 * ratio,
        }
        entries += [
            Entry(
                row=method.title,
                method=method.name,
                against=_against(method.name),
                paper=paper.table1(dataset, method.name, ratio),
                quick=ratio == quick,
                **common,
            )
            for method in METHODS.values()
            if method.name != "degree"  # It is there for links, whose protocol rewards it.
        ]
        suffix = f", {WIDE} wide"
        entries += [
            Entry(
                row=METHODS[method].title + suffix,
                method=method,
                changes={"dim": WIDE},
                against=_against(method, suffix),
                quick=False,
                **common,
            )
            for method in ("smoothed_pca", "graphsage", "cade_ms", "cade_ma")
            if dataset == "pubmed"
        ]
    return Experiment(name, title, 3, tuple(entries), axis="unseen nodes, %")


def _table2() -> Experiment:
    entries = []
    for dataset in ("pubmed", "blogcatalog", "ppi", "reddit"):
        column = TITLES[dataset] + ("" if dataset in FIXED_SPLIT else " 30 %")
        common: dict[str, Any] = {"column": column, "dataset": dataset, "task": CLASSIFICATION}
        entries.append(
            Entry(
                row="Graph2Gauss",
                method="graph2gauss",
                paper=paper.table2(dataset, "graph2gauss", ""),
                **common,
            )
        )
        for aggregator in AGGREGATORS:
            suffix = f"-{AGGREGATOR_TITLES[aggregator]}"
            entries += [
                Entry(
                    row=METHODS[method].title + suffix,
                    method=method,
                    changes={**PAPER_EQUATIONS, "aggregator": aggregator},
                    against=_against(method, suffix),
                    paper=paper.table2(dataset, method, aggregator),
                    **common,
                )
                for method in ("graphsage", "cade_ms", "cade_ma")
            ]
    return Experiment("table2", "Table 2: node classification by aggregator", 1, tuple(entries))


def _table3() -> Experiment:
    entries = tuple(
        Entry(
            row=method.title,
            column=f"{TITLES[dataset]} {_percent(hidden)}",
            dataset=dataset,
            task=LINKS,
            method=method.name,
            hidden_ratio=hidden,
            x=100 * hidden,
            against=_against(method.name),
            paper=paper.table3(dataset, method.name, hidden),
            quick=hidden == paper.HIDDEN[0] and dataset == "pubmed",
        )
        for dataset in ("pubmed", "ppi")
        for hidden in paper.HIDDEN
        for method in METHODS.values()
    )
    title = "Table 3: link prediction by share of hidden edges"
    return Experiment("table3", title, 1, entries, axis="hidden edges, %")


def _point(dataset: str, method: str, x: float, changes: dict[str, Any], **more: Any) -> Entry:
    """A point of a figure; without labels the same study is done by link prediction."""
    return Entry(
        row=METHODS[method].title,
        column=f"{TITLES[dataset]} {x:g}",
        dataset=dataset,
        task=EITHER,
        method=method,
        changes=changes,
        hidden_ratio=0.1,
        against=_against(method),
        x=x,
        **more,
    )


def _sampling() -> Experiment:
    entries = []
    for dataset in ("subppi", "blogcatalog"):
        for place, width in enumerate((5, 10, 15, 20)):
            for method in ("graphsage", "cade_gb", "cade_ms"):
                if method == "cade_ms":
                    changes = {"fanouts": (20, width), "k": width}
                else:
                    changes = {"fanouts": (20, width * width)}
                printed = paper.sampling(dataset, method, place)
                entries.append(
                    _point(dataset, method, width**2, changes, paper=printed, quick=width == 5)
                )
    return Experiment(
        "sampling",
        "Figure 4a: the same number of sampled neighbours, in one sampling or in K",
        1,
        tuple(entries),
        axis="neighbours of the second hop (CADE-MS: s2 x K)",
        timed=True,
    )


def _dimensions() -> Experiment:
    entries = tuple(
        _point(dataset, method, dim, {"dim": dim}, quick=dim <= 100 and dataset != "ppi")
        for dataset in ("ppi", "pubmed")
        for dim in (50, 100, 200, 300, 400)
        for method in ("graphsage", "cade_ms", "cade_ma")
    )
    return Experiment(
        "dimensions",
        "Figure 4b: width of the embeddings",
        1,
        entries,
        axis="dimensions",
    )


def _study_of_k() -> Experiment:
    entries = tuple(
        _point(
            dataset,
            method,
            k,
            {**PAPER_EQUATIONS, "k": k, "fanouts": (20, 25), "global_bias": False},
            quick=k in (1, 5) and dataset == "pubmed",
        )
        for dataset in ("subppi", "pubmed")
        for k in (1, 2, 5, 10, 15, 20)
        for method in ("cade_ms", "cade_ma")
    )
    return Experiment(
        "k",
        "Figure 5: K against score and time, without global bias",
        1,
        entries,
        axis="K",
        timed=True,
    )


_TRAINED = ("graphsage", "cade_ms", "cade_ma")
_VARIANTS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "the recipe": (_TRAINED, {}),
    "not trained": (_TRAINED, {"steps": 0}),
    "the paper's equations, steps 200": (_TRAINED, {**PAPER_EQUATIONS, "steps": 200}),
    "random start, not trained": (("graphsage",), {**PAPER_EQUATIONS, "steps": 0}),
    "as the paper describes, steps 400": (
        _TRAINED,
        {**PAPER_EQUATIONS, "learning_rate": 1e-4, "negative_weight": 20.0, "steps": 400},
    ),
    "random start, elu, lr 3e-4, steps 100": (
        ("cade_ms",),
        {"initialization": "glorot", "activation": "elu", "learning_rate": 3e-4, "steps": 100},
    ),
    "pair loss": (("cade_ms",), {"loss": "pair", "temperature": 1.0}),
    "lr 3e-4": (("cade_ms",), {"learning_rate": 3e-4}),
    "steps x 8": (("cade_ms",), {"steps": 400}),
    "no global bias": (("cade_ms",), {"global_bias": False}),
    "bias learns 10 x as fast": (("cade_ms",), {"bias_learning_rate": 10.0}),
    "K = 1": (("cade_ms",), {"k": 1}),
    "K = 10": (("cade_ms",), {"k": 10}),
    "unit length before the attention": (("cade_ms",), {"normalize": "both"}),
    "sharp attention": (("cade_ms",), {"normalize": "both", "attention_temperature": 0.05}),
    "walks of 1 step": (("cade_ms",), {"walk_length": 1}),
    "1 walk in Algorithm 1": (("graphsage", "cade_ms"), {"embed_walks": 1}),
    "20 walks in Algorithm 1": (("graphsage", "cade_ms"), {"embed_walks": 20}),
    "all aggregators start alike": (("cade_ma",), {"self_weights": (0.7,)}),
    "tanh score": (("cade_ma",), {"attention_score": "tanh"}),
}


def _ablation() -> Experiment:
    entries = tuple(
        Entry(
            row=f"{METHODS[method].title}: {title}",
            column=f"{TITLES[dataset]} 30 %",
            dataset=dataset,
            task=CLASSIFICATION,
            method=method,
            changes=changes,
            against=None if title == "the recipe" else f"{METHODS[method].title}: the recipe",
            quick=title == "the recipe",
        )
        for dataset in ("pubmed", "blogcatalog")
        for title, (methods, changes) in _VARIANTS.items()
        for method in methods
    )
    return Experiment("ablation", "The recipe, one thing changed at a time", 1, entries, bars=True)


_MAKERS: dict[str, Callable[[], Experiment]] = {
    "table1": lambda: _table1(
        "table1",
        "Table 1: node classification by share of unseen nodes",
        ("pubmed", "blogcatalog"),
        0.3,
    ),
    "table2": _table2,
    "table3": _table3,
    "sampling": _sampling,
    "dimensions": _dimensions,
    "k": _study_of_k,
    "ablation": _ablation,
    "digits": lambda: _table1(
        "digits", "The form of Table 1 on the data that come with cade_tf", ("digits",), 0.3
    ),
}
EXPERIMENTS = tuple(_MAKERS)


def experiment_of(name: str) -> Experiment:
    """The experiment of a name.

    Raises:
        InputError: There is none.

    Example:

    >>> experiment_of("table1").entries[0].column
    'Pubmed 10 %'
    """
    if name not in _MAKERS:
        raise InputError("experiment", "one of " + ", ".join(_MAKERS), name, "Choose one.")
    return _MAKERS[name]()
