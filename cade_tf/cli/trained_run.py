"""What commands on a trained run have in common."""

import dataclasses
from pathlib import Path

from cade_tf.config import Config, DataOptions
from cade_tf.errors import InputError
from cade_tf.options import Options, option


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainedRunOptions(Options):
    """Trained run."""

    run_dir: str | None = option(None, "Folder of the trained run.")


def run_folder(options: TrainedRunOptions, words: list[str], command: str) -> Path:
    """The run directory of a command that takes flags only.

    Raises:
        InputError: There are words beside the flags, or no run directory.
    """
    if words:
        raise InputError("arguments", "flags only", " ".join(words), f"See cade {command} --help.")
    if options.run_dir is None:
        raise InputError("run_dir", "the folder of a trained run", "none", "Give --run_dir.")
    folder = Path(options.run_dir)
    if not folder.is_dir():
        # Told here, before TensorFlow takes its seconds to load.
        raise InputError("run_dir", "the folder of a trained run", f"{folder}", "Train first.")
    return folder


def data_of(options: DataOptions, config: Config) -> DataOptions:
    """The graph of a command: the one its flags name, else that of the run."""
    source: DataOptions = options if options.dataset or options.graph else config
    values = {name: getattr(source, name) for name in DataOptions.field_names()}
    if options.data_dir:
        values["data_dir"] = options.data_dir
    return DataOptions(**values)
