"""What an experiment is made of."""

import dataclasses
from collections.abc import Mapping
from typing import Any

TITLES = {
    "digits": "Digits",
    "pubmed": "Pubmed",
    "blogcatalog": "BlogCatalog",
    "ppi": "PPI",
    "subppi": "subPPI",
    "reddit": "Reddit",
}
EITHER = "either"
"""Task of a study that is scored by classification where there are labels, else by links."""

LINK_UNSEEN = 0.2
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
        bars: Probe or protocol whose scores are drawn as bars; None for no such plots.
    """

    name: str
    title: str
    splits: int
    entries: tuple[Entry, ...]
    axis: str | None = None
    timed: bool = False
    bars: str | None = None
