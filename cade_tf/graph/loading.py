"""The graph of a command: a known data set by name, or the user's own files."""

from pathlib import Path

from cade_tf.config import DataOptions
from cade_tf.errors import InputError
from cade_tf.graph import datasets, readers
from cade_tf.graph.graph import Graph

DEFAULT_DATASET = "digits"


def load(options: DataOptions, *, verify: bool = False) -> Graph:
    """Reads the graph that the options name; `digits` where they name none.

    Args:
        options: Data set or path, and what belongs to it.
        verify: Whether a file of our own is proved again (`cade data check`).

    Returns:
        The graph.

    Raises:
        InputError: Anything is missing or wrong; the message names the file.
    """
    if options.graph is None:
        for name in ("format", "features", "labels"):
            if getattr(options, name) is not None:
                raise InputError(
                    name,
                    "--graph together with it",
                    "none",
                    f"--{name} belongs to a graph of your own.",
                )
        return datasets.load_dataset(
            options.dataset or DEFAULT_DATASET, options.data_dir, verify=verify
        )
    paths = options.graph_paths()
    if len(paths) > 1:
        for name in ("format", "features", "labels"):
            if getattr(options, name) is not None:
                raise InputError(
                    name, "none with several graphs", getattr(options, name), "Join them first."
                )
        return readers.read_several(paths, verify=verify)
    return readers.read(
        Path(options.graph),
        format=options.format,
        features=options.features,
        labels=options.labels,
        verify=verify,
    )
