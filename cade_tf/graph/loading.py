"""The graph of a command: a known data set by name, or the user's own files."""

from cade_tf.config import DataOptions
from cade_tf.graph import datasets, readers
from cade_tf.graph.graph import Graph
from cade_tf.progress import Shown

DEFAULT_DATASET = "digits"


def load(options: DataOptions, *, verify: bool = False, progress: Shown = True) -> Graph:
    """Reads the graph that the options name; `digits` where they name none.

    Args:
        options: Data set or path, and what belongs to it.
        verify: Whether a file of our own is proved again (`cade data check`).
        progress: Whether to show how far a large file has been read.

    Returns:
        The graph.

    Raises:
        InputError: Anything is missing or wrong; the message names the file.
    """
    options.check_companions()
    paths = options.graph_paths()
    if not paths:
        return datasets.load_dataset(
            options.dataset or DEFAULT_DATASET, options.data_dir, verify=verify
        )
    if len(paths) > 1:
        return readers.read_several(paths, verify=verify, progress=progress)
    return readers.read(
        paths[0],
        format=options.format,
        features=options.features,
        labels=options.labels,
        verify=verify,
        progress=progress,
    )
