"""What commands on a trained run have in common."""

import dataclasses
from pathlib import Path

from cade_tf.cli import checks
from cade_tf.config import Config, DataOptions
from cade_tf.errors import InputError
from cade_tf.options import Options, option
from cade_tf.training.run_options import read_config


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainedRunOptions(Options):
    """Trained run."""

    run_dir: str | None = option(None, "Folder of the trained run.")


def existing_run(run_dir: str | None) -> Path:
    """The folder of a trained run.

    Raises:
        InputError: None is named, or it does not exist.
    """
    if run_dir is None:
        raise InputError("--run_dir", "the folder of a trained run", "none", "Give --run_dir.")
    folder = Path(run_dir).expanduser()
    if not folder.is_dir():
        raise InputError("--run_dir", "the folder of a trained run", run_dir, "Train first.")
    return folder


def open_run(run_dir: Path, options: DataOptions) -> tuple[Config, DataOptions]:
    """Options of a trained run, and the graph that a command wants of it.

    Args:
        run_dir: Folder of the run.
        options: The graph that the flags name, if any.

    Returns:
        The options of the run, and where the graph is; its files exist.

    Raises:
        InputError: There is no run, or no graph.
    """
    config = read_config(run_dir)
    data = data_of(options, config)
    checks.data(data)
    return config, data


def data_of(options: DataOptions, config: Config) -> DataOptions:
    """The graph of a command: the one its flags name, else that of the run.

    Features, labels, format and the folder of the data sets can each be given for the run's graph.
    """
    names = DataOptions.field_names()
    given = {name: getattr(options, name) for name in names}
    if not (options.dataset or options.graph):
        known = {name: getattr(config, name) for name in names}
        given = known | {name: value for name, value in given.items() if value is not None}
    elif options.data_dir is None:
        given["data_dir"] = config.data_dir
    return DataOptions(**given)
