"""The experiments of the paper, declared as data: which numbers each of them holds."""

import itertools
from collections.abc import Callable
from typing import Any

from cade_tf.config import AGGREGATORS
from cade_tf.errors import InputError
from cade_tf.experiments import paper
from cade_tf.experiments.ablation import ablation
from cade_tf.experiments.attention import attention
from cade_tf.experiments.cells import CLASSIFICATION, LINKS
from cade_tf.experiments.entries import EITHER, PAPER_EQUATIONS, TITLES, Entry, Experiment
from cade_tf.experiments.methods import METHODS

# Data sets whose files fix which nodes are unseen; a ratio would say nothing.
FIXED_SPLIT = ("ppi", "subppi", "reddit")
WIDE = 512
"""Pubmed's features are 500 wide: rows of this width lose nothing by being narrower."""

AGGREGATOR_TITLES = {"mean": "mean", "lstm": "LSTM", "pool": "pool"}


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
    "ablation": ablation,
    "attention": attention,
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
