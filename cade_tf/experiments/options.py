"""How much of an experiment to run, and where its cells and reports are kept."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NoReturn

from cade_tf.errors import InputError
from cade_tf.options import Options, option
from cade_tf.presets import PRESETS


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReproduceOptions(Options):
    """Experiment."""

    preset: tuple[str, ...] = option(
        PRESETS, "Blocks to run; the report shows both.", choices=PRESETS
    )
    methods: tuple[str, ...] = option((), "Methods to run. Default: all of the experiment.")
    datasets: tuple[str, ...] = option((), "Data sets to run. Default: all of the experiment.")
    rows: tuple[str, ...] = option(
        (), "Rows to run, as their titles in the report. Default: all of the experiment."
    )
    columns: tuple[str, ...] = option(
        (), "Columns to run, as their titles in the report. Default: all of the experiment."
    )
    splits: int | None = option(
        None, "Splits of each cell (paper: 10). Default: the experiment's own number.", minimum=1
    )
    quick: bool = option(
        False, "Minutes instead of hours: one split, few steps, part of the cells; marked so."
    )
    validating: bool = option(
        False,
        "Score validation data of splits from 100 on and hide the test data, to choose options.",
    )
    fresh: bool = option(False, "Compute cells again that were computed before.")
    report_only: bool = option(
        False, "Compute nothing: write the report of the cells computed so far."
    )
    core: int | None = option(
        None,
        "Run on this processor core alone and with low priority, for long work in the background; "
        "a stopped command goes on within the cell where it was.",
        minimum=0,
    )
    data_dir: str | None = option(
        None, "Folder of the known data sets. Default: the environment variable CADE_DATA_DIR."
    )
    cells: str = option("runs/cells", "Folder where computed cells are kept.")
    reports: str | None = option(
        None, "Folder of reports. Default: runs/reports; runs/quick and runs/validation otherwise."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.fresh and self.report_only:
            raise InputError("report_only", "false with fresh", "true", "Leave one of them out.")

    def chosen(self, entry: Any) -> bool:
        """Whether an entry is to be computed; what is not is shown where it was before."""
        return (
            (entry.preset is None or entry.preset in self.preset)
            and (not self.methods or entry.method in self.methods)
            and (not self.datasets or entry.dataset in self.datasets)
            and (not self.rows or entry.row in self.rows)
            and (not self.columns or entry.column in self.columns)
        )

    def check_names(self, experiment: str, **known: Iterable[str]) -> None:
        """Refuses names that an experiment has not.

        Args:
            experiment: Its name.
            **known: Names that it has, by option.

        Raises:
            InputError: A name is unknown.
        """
        for option_name, names in known.items():
            once = list(dict.fromkeys(names))
            for given in getattr(self, option_name):
                if given not in once:
                    expected = "one of " + ", ".join(once)
                    raise InputError(option_name, expected, given, f"{experiment} has no other.")

    def refuse_choice(self, experiment: str) -> NoReturn:
        """Raises the error for known names that leave nothing to run."""
        given = (*self.methods, *self.datasets, *self.rows, *self.columns)
        raise InputError(
            "methods, datasets, rows and columns",
            f"a choice that leaves something of {experiment}",
            ", ".join(given) or "quick",
            "Nothing has all of them at once; leave one out.",
        )

    def folder(self) -> Path:
        """Where the reports are written."""
        if self.reports:
            return Path(self.reports)
        if self.quick:
            return Path("runs/quick")
        return Path("runs/validation" if self.validating else "runs/reports")
