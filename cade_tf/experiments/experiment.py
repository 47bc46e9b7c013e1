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
        quick: Whether `--quick` keeps it.
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
