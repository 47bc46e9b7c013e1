"""`cade reproduce`: run an experiment of the paper and write its report."""

import os
from pathlib import Path

import threadpoolctl

from cade_tf.cli import checks, logs
from cade_tf.errors import InputError
from cade_tf.experiments.options import ReproduceOptions

CURVE, DATA, DEFAULT, SUMMARY = "curve", "data", "default", "summary"
TABLES = ("table1", "table2", "table3", "sampling", "dimensions", "k", "digits")
WORD, WORDS = "experiment", (*TABLES, CURVE, DATA, DEFAULT, SUMMARY)
USAGE = (
    f"cade reproduce {'|'.join(TABLES)}\n"
    "                      [--preset=NAME,...] [--methods=NAME,...] [--datasets=NAME,...]\n"
    "       cade reproduce curve|data|default|summary"
)
NICENESS = 5
CELLS_PER_PROCESS = 10


OPTIONS = ReproduceOptions


def run(options: ReproduceOptions, name: str) -> int:
    """Runs the command."""
    folder = checks.writable_folder("reports", options.folder())
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
        from cade_tf.experiments import report

        path = report.write_data(folder / name, options.data_dir)
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

    if (folder / report.RESULTS_FILE).is_file():
        # The cells of a report that a clone brings are cells like any others.
        cells.restore(report.read(folder), Path(options.cells))
    results = runner.run(
        declarations.experiment_of(name), options, cells_per_process=CELLS_PER_PROCESS
    )
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
        and (not options.rows or c.title in options.rows)
    ]
    options.check_names(
        "curve",
        methods=(c.model for c in curve.CURVES),
        datasets=(c.dataset for c in curve.CURVES),
        rows=(c.title for c in curve.CURVES),
    )
    if not chosen:
        options.refuse_choice("curve")
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
    # NumPy's threads were counted and started before; left on other cores, every product would
    # wait for one of them.
    threadpoolctl.threadpool_limits(1)
    os.nice(NICENESS)
