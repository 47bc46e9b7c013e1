"""`cade reproduce`: run an experiment of the paper and write its report."""

import dataclasses
import logging
import sys
from pathlib import Path

from cade_tf.cli import app, flags
from cade_tf.config import MODELS, Config
from cade_tf.errors import InputError
from cade_tf.options import Options, option

ROOT = Path(__file__).resolve().parent.parent
README = "readme"
USAGE = (
    "cade reproduce table1|table2|table3|sampling|dimensions|k|ablation|attention|digits\n"
    "                      [--quick] [--splits=N]\n"
    "       cade reproduce readme"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class ReproduceOptions(Options):
    """Experiment."""

    quick: bool = option(
        False, "Minutes instead of hours: one split, few steps, part of the cells; marked so."
    )
    splits: int | None = option(
        None, "Splits of each cell (paper: 10). Default: the experiment's own number.", minimum=1
    )
    methods: tuple[str, ...] = option((), "Methods to run. Default: all of the experiment.")
    datasets: tuple[str, ...] = option((), "Data sets to run. Default: all of the experiment.")
    validating: bool = option(
        False, "Score validation data and hide the test data, to choose a recipe."
    )
    fresh: bool = option(False, "Compute cells again that were computed before.")
    report_only: bool = option(
        False, "Compute nothing: write the report of the cells computed so far."
    )
    extend: bool = option(
        False,
        "Take over the cells of the report that is there, as a clone brings it, "
        "and compute only what it lacks.",
    )
    data_dir: str | None = option(
        None, "Folder of the known data sets. Default: the environment variable CADE_DATA_DIR."
    )
    recipes: str | None = option(
        None,
        "Folder of the recipes, TASK/DATASET-METHOD.flags; rows without a file take the defaults. "
        "Default: flags/ of the clone.",
    )
    cells: str = option("runs/cells", "Folder where computed cells are kept.")
    reports: str | None = option(
        None, "Folder of reports. Default: runs/reports; runs/quick and runs/validation otherwise."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("report_only", "extend"):
            if self.fresh and getattr(self, name):
                raise InputError(name, "false beside --fresh", "true", "Leave one of them out.")


OPTIONS = ReproduceOptions


def run(options: ReproduceOptions, words: list[str]) -> int:
    """Runs the command."""
    from cade_tf.experiments import cells, report, runner, tables

    if len(words) != 1:
        raise InputError(
            "experiment",
            "one of " + ", ".join((*tables.EXPERIMENTS, README)),
            " ".join(words) or "none",
            "See cade reproduce --help.",
        )
    if words[0] == README:
        return _write_readme(options)
    experiment = tables.experiment_of(words[0])
    recipes = Path(options.recipes) if options.recipes else ROOT / "flags"
    if not recipes.is_dir():
        raise InputError("recipes", "a folder", recipes, "Run from a clone or give --recipes.")
    settings = runner.Settings(
        recipe=lambda task, dataset, method: read_recipe(recipes, task, dataset, method),
        cache_dir=Path(options.cells),
        data_dir=options.data_dir,
        splits=options.splits,
        methods=options.methods,
        datasets=options.datasets,
        quick=options.quick,
        validating=options.validating,
        fresh=options.fresh,
        report_only=options.report_only,
    )
    # Every cell has a model of its own, which TensorFlow would call excessive retracing.
    logging.getLogger("tensorflow").setLevel(logging.ERROR)
    folder = _folder(options) / experiment.name
    if options.extend:
        cells.restore(report.read(folder), settings.cache_dir)
    results = runner.run(experiment, settings)
    if not any("scores" in entry for entry in results["entries"]):
        raise InputError(
            experiment.name, "a cell with scores", "none", results["entries"][0]["reason"]
        )
    path = report.write(results, folder)
    print(path.read_text())
    print(f"Report: {path}")
    return 0


def read_recipe(folder: Path, task: str, dataset: str, method: str) -> Config:
    """Options of a row: its flagfile, or the defaults where it has none.

    Args:
        folder: Folder of the recipes.
        task: `classification` or `links`.
        dataset: Name of the data set.
        method: Name of the method.

    Raises:
        InputError: The file names unknown flags or values.
    """
    path = folder / task / f"{dataset}-{method}.flags"
    if path.is_file():
        return flags.parse(Config, [f"--flagfile={path}"])[0]
    return Config(model=method) if method in MODELS else Config()


def _folder(options: ReproduceOptions) -> Path:
    if options.reports:
        return Path(options.reports)
    if options.quick:
        return Path("runs/quick")
    return Path("runs/validation" if options.validating else "runs/reports")


def _write_readme(options: ReproduceOptions) -> int:
    from cade_tf.experiments import readme
    from cade_tf.files import atomic_write

    path = Path("README.md")
    if not path.is_file():
        raise InputError("README.md", "the README of a clone", "none here", "Run it in a clone.")
    text = readme.updated(path.read_text(), Path(options.reports or "runs/reports"))
    with atomic_write(path) as file:
        file.write(text.encode())
    print(f"Written: {path}")
    return 0


if __name__ == "__main__":
    sys.exit(app.run_command("reproduce"))
