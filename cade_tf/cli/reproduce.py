"""`cade reproduce`: run an experiment of the paper and write its report."""

import dataclasses
import os
from pathlib import Path

from cade_tf.cli import checks, logs
from cade_tf.errors import InputError
from cade_tf.options import Options, option
from cade_tf.presets import PRESETS

CURVE, DATA, DEFAULT, SUMMARY = "curve", "data", "default", "summary"
TABLES = ("table1", "table2", "table3", "sampling", "dimensions", "k", "digits")
WORDS = (*TABLES, CURVE, DATA, DEFAULT, SUMMARY)
USAGE = (
    f"cade reproduce {'|'.join(TABLES)}\n"
    "                      [--preset=NAME,...] [--methods=NAME,...] [--datasets=NAME,...]\n"
    "       cade reproduce curve|data|default|summary"
)
NICENESS = 5
CELLS_PER_PROCESS = 10


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
            raise InputError("report_only", "false with --fresh", "true", "Leave one of them out.")


OPTIONS = ReproduceOptions


def run(options: ReproduceOptions, words: list[str]) -> int:
    """Runs the command."""
    name = checks.one_word(words, "experiment", WORDS, "reproduce")
    folder = checks.writable_folder("reports", _folder(options))
    checks.writable_folder("cells", options.cells)
    checks.extra("matplotlib", "cade reproduce")
    if options.core is not None:
        # Before TensorFlow counts the cores, so that it starts no more threads than it may use.
        _stay_on(options.core)
    logs.configure("info")
    if name == SUMMARY:
        from cade_tf.experiments import summary

        path = summary.write(folder)
    elif name == DATA:
        from cade_tf.experiments import data_table

        path = data_table.write(folder / name, options.data_dir)
    elif name == DEFAULT:
        from cade_tf.experiments import default_study

        if not options.report_only:
            default_study.run(
                folder / name,
                Path(options.cells),
                options.data_dir,
                graphs=options.datasets,
                methods=options.methods,
            )
        path = default_study.write(folder / name)
    elif name == CURVE:
        path = _run_curves(options, folder / name)
    else:
        path = _run_experiment(name, options, folder / name)
    print(path.read_text())
    print(f"Report: {path}")
    return 0


def _run_experiment(name: str, options: ReproduceOptions, folder: Path) -> Path:
    from cade_tf.experiments import cells, declarations, report, runner

    settings = runner.Settings(
        cache_dir=Path(options.cells),
        data_dir=options.data_dir,
        splits=options.splits,
        presets=options.preset,
        methods=options.methods,
        datasets=options.datasets,
        rows=options.rows,
        columns=options.columns,
        quick=options.quick,
        validating=options.validating,
        fresh=options.fresh,
        report_only=options.report_only,
        cells_per_process=CELLS_PER_PROCESS,
    )
    if (folder / report.RESULTS_FILE).is_file():
        # The cells of a report that a clone brings are cells like any others.
        cells.restore(report.read(folder), settings.cache_dir)
    results = runner.run(declarations.experiment_of(name), settings)
    if not any("scores" in entry for entry in results["entries"]):
        reason = results["entries"][0]["reason"] or "Run it without --report_only."
        raise InputError(name, "a cell with scores", "none", reason)
    return report.write(results, folder)


def _run_curves(options: ReproduceOptions, folder: Path) -> Path:
    from cade_tf.experiments import curve

    chosen = [
        c
        for c in curve.CURVES
        if (not options.methods or c.model in options.methods)
        and (not options.datasets or c.dataset in options.datasets)
    ]
    if not chosen:
        given = ", ".join((*options.methods, *options.datasets))
        raise InputError("methods and datasets", "some that curve has", given, "Choose others.")
    if not options.report_only:
        for one in chosen:
            curve.trace(one, folder, Path(options.cells), options.data_dir)
    return curve.write(folder)


def _stay_on(core: int) -> None:
    if not hasattr(os, "sched_setaffinity"):
        raise InputError("core", "a system that can pin a process", os.name, "Leave it out.")
    try:
        os.sched_setaffinity(0, {core})
    except OSError as error:
        known = ", ".join(map(str, sorted(os.sched_getaffinity(0))))
        raise InputError("core", f"one of {known}", core, "Choose another.") from error
    os.nice(NICENESS)


def _folder(options: ReproduceOptions) -> Path:
    if options.reports:
        return Path(options.reports)
    if options.quick:
        return Path("runs/quick")
    return Path("runs/validation" if options.validating else "runs/reports")
