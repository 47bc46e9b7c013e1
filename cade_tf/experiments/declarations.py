"""The paper's tables and figures, declared as data: which numbers each of them holds.

Every trained row stands in two blocks, one for each preset; both stand next to the paper's
number. The only options that an experiment changes in a preset are its subject (aggregator, K,
width, fan-outs) and, where a full pass takes too long, the budget.
"""

import dataclasses
import itertools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from cade_tf import presets
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
RECONSTRUCTED = ("ppi", "subppi")
"""Data sets whose labels are a reconstruction; every score by them says so."""

LINK_UNSEEN = 0.2
"""Share of unseen nodes in link prediction: the paper's for Pubmed, our reading for PPI."""


def labelled_title(dataset: str) -> str:
    """Title of a data set where it is scored by its labels."""
    return TITLES[dataset] + (" (reconstructed labels)" if dataset in RECONSTRUCTED else "")


@dataclasses.dataclass(frozen=True)
class Entry:
    """One number of a table or one point of a figure: a mean over splits.

    Args:
        row: Title of its row, or of its line in a plot.
        column: Title of its column.
        dataset: Name of the data set.
        task: `classification` or `links`.
        method: Name of the method.
        preset: Preset of its options, which is its block in the report; None for a baseline,
            which has options of its own.
        changes: Options that the experiment changes in the preset; the report prints them.
        unseen_ratio: Share of unseen nodes, for classification; for links it is `LINK_UNSEEN`.
        hidden_ratio: Share of hidden edges, for links.
        against: Row of the same block that it is compared with by split; None for none.
        paper: What the paper prints, in percent, by metric.
        x: Place on the axis of a plot.
        quick: Whether `quick` keeps it.
        unavailable: Why it cannot be run; None where it can.
    """

    row: str
    column: str
    dataset: str
    task: str
    method: str
    preset: str | None = None
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    unseen_ratio: float = 0.3
    hidden_ratio: float | None = None
    against: str | None = None
    paper: Mapping[str, float] = dataclasses.field(default_factory=dict)
    x: float | None = None
    quick: bool = True
    unavailable: str | None = None


@dataclasses.dataclass(frozen=True)
class Experiment:
    """A table or figure.

    Args:
        name: Name on the command line.
        title: Heading of the report.
        splits: Splits by default.
        entries: All its numbers.
        axis: Label of the horizontal axis of its plots; None for no plots.
    """

    name: str
    title: str
    splits: int
    entries: tuple[Entry, ...]
    axis: str | None = None


# What is tabulated: probe or protocol, metric, title; the first two of a task are its main ones.
METRICS = {
    CLASSIFICATION: (
        ("logreg", "micro_f1", "Micro-F1, probe `logreg`"),
        ("sgd", "micro_f1", "Micro-F1, probe `sgd`"),
        ("logreg", "macro_f1", "Macro-F1, probe `logreg`"),
        ("kmeans", "nmi", "k-means on unseen nodes, normalised mutual information"),
    ),
    LINKS: (
        ("paper", "auc", "AUC, protocol `paper` (our guess at the paper's: concatenation, `sgd`)"),
        ("strong", "auc", "AUC, protocol `strong` (product, difference or dot by validation)"),
        ("paper", "ap", "Average precision, protocol `paper` (our guess at the paper's)"),
        ("strong", "ap", "Average precision, protocol `strong`"),
        ("hadamard_logreg", "auc", "AUC, elementwise product and `logreg`"),
        ("l1_logreg", "auc", "AUC, absolute difference and `logreg`"),
        ("dot", "auc", "AUC, plain dot product"),
        ("dual", "auc", "AUC, product of a pair's own dual representations"),
        ("attention", "flatness", "Entropy of the attention of linked nodes, % of a flat one's"),
    ),
}
UNRANKED = ("flatness",)
"""Metrics of which neither more nor less is better."""


def main_metrics(task: str) -> tuple[tuple[str, str, str], ...]:
    """The scores that an experiment is about, entries of `METRICS`."""
    return METRICS[task][:2]


# Data sets whose files fix which nodes are unseen; a ratio would say nothing.
FIXED_SPLIT = ("ppi", "subppi", "reddit")
NO_REDDIT = "the data set is not available: no public copy of its features and edges was found"
AGGREGATOR_TITLES = {"mean": "mean", "lstm": "LSTM", "pool": "pool"}  # in the paper's order

_ONE_CANDIDATE = {"pubmed": 3000, "blogcatalog": 2000, "ppi": 3000, "subppi": 500}
_MANY_SETS = {"pubmed": 1000, "blogcatalog": 1000, "ppi": 1000, "subppi": 500}
BUDGETS = {
    "graphsage": _ONE_CANDIDATE,
    "cade_gb": _ONE_CANDIDATE,
    "cade_ms": {**_ONE_CANDIDATE, "ppi": 1000},
    "cade_ma": _MANY_SETS,
}
"""Steps of the paper's method, by model and data set; what is not named here has its whole pass.

The 30 % columns of Table 1 have both. The reasons for the numbers are few: by the validation nodes
of `cade reproduce curve`, one run each, GraphSAGE gains until about step 3000 on Pubmed and 2000 on
BlogCatalog, and CADE-MS stays within 0.3 points from step 2000 on there; CADE-MA is best at step
1000 on Pubmed and loses afterwards; on BlogCatalog it still gains, for twice the time. On subPPI
CADE-gb gains 1.1 points between step 500 and the end of the pass, so that 500 steps are too few
there, and what the figures can afford. PPI has no curve.
"""
UNDIVIDED = {"attention_temperature": 1.0}
UNDIVIDED_TITLE = "CADE-MS, undivided"
UNDIVIDED_BUDGETS = {"pubmed": 3000, "blogcatalog": 1000}
"""Steps of CADE-MS with its dot products as the paper prints them, which Table 1 has as well.

By its curve it is best at step 1000 on BlogCatalog and loses afterwards.
"""
SHORT_BUDGET = 500
"""Steps of all models on PPI where a table has many columns of it: Table 3 and Figure 4b."""
AGGREGATOR_BUDGETS = {"graphsage": 1000, "cade_ms": 300, "cade_ma": 300}
"""Steps with pool and LSTM, of which one takes up to 20 times as long as with the mean."""
PAPER_ONLY = presets.PRESETS[:1]
FULL_PASS_RATIO = 0.3
FULL_PASS = " (full pass)"
"""End of the title of a row that runs the pass whatever it takes, next to one with a budget."""


def _percent(ratio: float) -> str:
    return f"{100 * ratio:.0f} %"


def _against(method: str, suffix: str = "") -> str | None:
    return f"GraphSAGE{suffix}" if method.startswith("cade") else None


def _budget(method: str, dataset: str) -> int | None:
    return BUDGETS.get(method, {}).get(dataset)


def _blocks(
    method: str,
    changes: dict[str, Any] | None = None,
    *,
    budget: int | None = None,
    full: bool = False,
    blocks: Sequence[str] = presets.PRESETS,
    **common: Any,
) -> list[Entry]:
    """A row in its blocks; a baseline, which no preset touches, once.

    Args:
        method: Name of the method.
        changes: What the experiment changes in either preset.
        budget: Steps of the paper's method; by default those of `BUDGETS`.
        full: Whether it is the paper's method with its pass, whatever that takes.
        blocks: Presets that it is run with.
        **common: Other arguments of the entries.
    """
    common.setdefault("row", METHODS[method].title + FULL_PASS * full)
    if not METHODS[method].model:
        return [Entry(method=method, **common)]
    entries = []
    # The untrained encoder takes no steps.
    budget = (budget or _budget(method, common["dataset"])) if method in BUDGETS else None
    for preset in PAPER_ONLY if full else blocks:
        mine = dict(changes or {})
        if preset == "paper" and budget and not full:
            mine |= {"steps": budget, "epochs": 0}
        entries.append(Entry(method=method, preset=preset, changes=mine, **common))
    return entries


def _table1(name: str, title: str, datasets: tuple[str, ...]) -> Experiment:
    entries: list[Entry] = []
    methods = [m for m in METHODS if m not in ("degree", "components")]  # They are there for links.
    for dataset, (place, ratio), method in itertools.product(
        datasets, enumerate(paper.RATIOS), methods
    ):
        common: dict[str, Any] = {
            "column": f"{TITLES[dataset]} {_percent(ratio)}",
            "dataset": dataset,
            "task": CLASSIFICATION,
            "unseen_ratio": ratio,
            "x": 100 * ratio,
            "paper": paper.printed(name, dataset, method, place),
        }
        main = ratio == FULL_PASS_RATIO
        entries += _blocks(method, against=_against(method), quick=main, **common)
        whole = main and _budget(method, dataset) is not None
        if whole:
            against = _against(method, FULL_PASS)
            entries += _blocks(method, full=True, against=against, quick=False, **common)
        if method == "cade_ms" and dataset in UNDIVIDED_BUDGETS:
            entries += _undivided(dataset, whole, {**common, "paper": {}})
    return Experiment(name, title, 3, tuple(entries), axis="unseen nodes, %")


def _undivided(dataset: str, whole: bool, common: dict[str, Any]) -> list[Entry]:
    """CADE-MS with the dot products as printed, for comparison: no number of the paper's."""
    short = _blocks(
        "cade_ms",
        UNDIVIDED,
        row=UNDIVIDED_TITLE,
        budget=UNDIVIDED_BUDGETS[dataset],
        blocks=PAPER_ONLY,
        against=_against("cade_ms"),
        quick=False,
        **common,
    )
    if not whole:
        return short
    row, against = UNDIVIDED_TITLE + FULL_PASS, _against("cade_ms", FULL_PASS)
    full = _blocks("cade_ms", UNDIVIDED, row=row, full=True, against=against, quick=False, **common)
    return short + full


def _table2() -> Experiment:
    entries: list[Entry] = []
    for dataset in ("pubmed", "blogcatalog", "ppi", "reddit"):
        fixed = dataset in FIXED_SPLIT
        common: dict[str, Any] = {
            "column": labelled_title(dataset) + ("" if fixed else " 30 %"),
            "dataset": dataset,
            "task": CLASSIFICATION,
            "unavailable": NO_REDDIT if dataset == "reddit" else None,
        }
        for method in ("raw_features", "graph2gauss"):
            entries += _blocks(method, paper=paper.printed("table2", dataset, method), **common)
        for aggregator, method in itertools.product(
            AGGREGATORS, ("graphsage", "cade_ms", "cade_ma")
        ):
            place = [*AGGREGATOR_TITLES].index(aggregator)
            suffix = f"-{AGGREGATOR_TITLES[aggregator]}"
            entries += _blocks(
                method,
                {} if aggregator == "mean" else {"aggregator": aggregator},
                budget=None if aggregator == "mean" else AGGREGATOR_BUDGETS[method],
                row=METHODS[method].title + suffix,
                against=_against(method, suffix),
                paper=paper.printed("table2", dataset, method, place),
                **common,
            )
    return Experiment("table2", "Table 2: node classification by aggregator", 1, tuple(entries))


def _table3() -> Experiment:
    entries: list[Entry] = []
    for dataset, (place, hidden), method in itertools.product(
        ("pubmed", "ppi"), enumerate(paper.HIDDEN), METHODS
    ):
        if method == "components" and dataset != "ppi":
            continue  # PPI is 24 graphs; the others are one.
        entries += _blocks(
            method,
            budget=SHORT_BUDGET if dataset == "ppi" else None,
            column=f"{TITLES[dataset]} {_percent(hidden)}",
            dataset=dataset,
            task=LINKS,
            hidden_ratio=hidden,
            x=100 * hidden,
            against=_against(method),
            paper=paper.printed("table3", dataset, method, place),
            quick=hidden == paper.HIDDEN[0] and dataset == "pubmed",
        )
    title = "Table 3: link prediction by share of hidden edges"
    return Experiment("table3", title, 1, tuple(entries), axis="hidden edges, %")


def _point(dataset: str, method: str, x: int, changes: dict[str, Any], **more: Any) -> list[Entry]:
    """A point of a figure, in both blocks."""
    return _blocks(
        method,
        changes,
        column=f"{labelled_title(dataset)} {x}",
        dataset=dataset,
        task=CLASSIFICATION,
        against=_against(method),
        x=x,
        **more,
    )


def _sampling() -> Experiment:
    entries: list[Entry] = []
    for place, width in enumerate((5, 10, 15, 20)):
        for method in ("graphsage", "cade_gb", "cade_ms"):
            if method == "cade_ms":
                changes = {"fanouts": (20, width), "k": width}
            else:
                changes = {"fanouts": (20, width * width)}
            printed = paper.printed("sampling", "subppi", method, place)
            entries += _point("subppi", method, width**2, changes, paper=printed, quick=width == 5)
    return Experiment(
        "sampling",
        "Figure 4a: the same number of sampled neighbours, in one sampling or in K",
        1,
        tuple(entries),
        axis="neighbours of the second hop (CADE-MS: s2 x K)",
    )


def _dimensions() -> Experiment:
    entries: list[Entry] = []
    for dim, method in itertools.product(
        (50, 100, 200, 300, 400), ("graphsage", "cade_ms", "cade_ma")
    ):
        entries += _point("ppi", method, dim, {"dim": dim}, budget=SHORT_BUDGET, quick=dim == 50)
    title = "Figure 4b: width of the embeddings"
    return Experiment("dimensions", title, 1, tuple(entries), axis="dimensions")


def _study_of_k() -> Experiment:
    entries: list[Entry] = []
    for k, method in itertools.product((1, 2, 5, 10, 15, 20), ("cade_ms", "cade_ma")):
        changes = {"k": k, "fanouts": (20, 25), "global_bias": False}
        entries += _point("subppi", method, k, changes, quick=k in (1, 5))
    title = "Figure 5: K against score and time, without global bias"
    return Experiment("k", title, 1, tuple(entries), axis="K")


_MAKERS: dict[str, Callable[[], Experiment]] = {
    "table1": lambda: _table1(
        "table1",
        "Table 1: node classification by share of unseen nodes",
        ("pubmed", "blogcatalog"),
    ),
    "table2": _table2,
    "table3": _table3,
    "sampling": _sampling,
    "dimensions": _dimensions,
    "k": _study_of_k,
    "digits": lambda: _table1(
        "digits", "The form of Table 1 on the data that come with cade_tf", ("digits",)
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
