"""Reddit as DGL and PyG distribute it: `reddit_data.npz` and `reddit_graph.npz`."""

import operator
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from cade_tf import problems
from cade_tf.errors import InputError
from cade_tf.graph import arrays
from cade_tf.graph.graph import Graph
from cade_tf.graph.interop import from_scipy
from cade_tf.graph.validation import integers

_DATA, _GRAPH = "reddit_data.npz", "reddit_graph.npz"


def recognises(path: Path) -> bool:
    """Whether a folder, or one of the two files, is of this format."""
    return all(file.is_file() for file in _files(path)) and (
        path.is_dir() or path.name in (_DATA, _GRAPH)
    )


def _files(path: Path) -> list[Path]:
    """The files that `read` reads."""
    folder = path if path.is_dir() else path.parent
    return [folder / _DATA, folder / _GRAPH]


def read(path: Path) -> Graph:
    """Reads the graph with features, classes and the split.

    Args:
        path: The folder, or one of its two files.

    Raises:
        InputError: A file is missing, damaged, or does not fit the other.
    """
    data_file, graph_file = _files(path)
    nodes = arrays.read_some(data_file, ("feature", "label", "node_types"), memory_map=False)
    edges = arrays.read_some(graph_file, ("row", "col", "shape"), memory_map=False)
    try:
        shape = tuple(operator.index(size) for size in edges["shape"])
        if shape != (len(nodes["label"]),) * 2:
            raise ValueError(f"shape {shape} for {len(nodes['label'])} nodes")
        ends = tuple(integers(name, edges[name], edges[name].dtype) for name in ("row", "col"))
        matrix = sp.csr_array(sp.coo_array((np.ones(len(ends[0]), bool), ends), shape=shape))
    except (ValueError, TypeError, OverflowError) as error:
        raise InputError(str(graph_file), "a COO matrix", str(error), "Copy it again.") from error
    kinds = nodes["node_types"]
    if kinds.dtype.kind not in "iu" or not np.isin(kinds, (1, 2, 3)).all():
        raise InputError(
            f"{data_file}, node_types", "1, 2 or 3 per node", "others", "Copy it again."
        )
    with problems.within(data_file):
        return from_scipy(
            matrix,
            features=nodes["feature"],
            labels=nodes["label"],
            split=kinds.astype(np.int64) - 1,
            name="reddit",
        )
