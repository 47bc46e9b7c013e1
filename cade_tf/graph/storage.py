"""A graph as one npz file."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from cade_tf import problems
from cade_tf.errors import InputError
from cade_tf.graph import arrays
from cade_tf.graph.graph import EdgeReport, Graph
from cade_tf.graph.validation import integers, sparse_matrix

FORMAT = "cade_tf.graph.1"
"""Value of the member `format`; a file of another value is not read."""

_REQUIRED = ("indptr", "indices")
_ARRAYS = (*_REQUIRED, "labels", "node_ids", "graph_ids", "edge_weights", "split")
_NAMES = ("feature_names", "class_names", "notes")
_SPARSE = ("data", "indices", "indptr", "shape")


def save(graph: Graph, path: str | Path) -> None:
    """Writes a graph as one uncompressed npz without pickles, all or nothing."""
    members: dict[str, Any] = {"format": FORMAT, "name": graph.name}
    members["report"] = np.array(dataclasses.astuple(graph.report), np.int64)
    members["positional_ids"] = graph.positional_ids
    for name in _ARRAYS + _NAMES:
        value = getattr(graph, name)
        if value is not None and (name != "notes" or value):
            members[name] = value
    if sp.issparse(graph.features):
        for part in _SPARSE:
            members[f"features_{part}"] = getattr(graph.features, part)
    elif graph.features is not None:
        members["features"] = graph.features
    arrays.write_arrays(path, {name: np.asarray(value) for name, value in members.items()})


def load(path: str | Path, *, verify: bool = False) -> Graph:
    """Reads a graph that `save` wrote.

    Large arrays are mapped, not read, and what `save` guarantees is not proved again, so that a
    graph of any size opens at once.

    Args:
        path: The file.
        verify: Whether everything is validated as for a new graph (`cade data check`).

    Returns:
        The graph.

    Raises:
        InputError: The file is no graph, of another version, or damaged.
    """
    # Only what is read, not what is mapped, has its checksum compared.
    members = arrays.read_arrays(path, memory_map=not verify)
    written = str(members.get("format", "nothing"))
    if written != FORMAT:
        raise InputError(
            str(path), f"a graph of format {FORMAT}", written, "Convert it with cade data convert."
        )
    try:
        with problems.within(path):
            fields = _fields(members)
            return Graph(**fields) if verify else Graph._trusted(**fields)
    except InputError:
        raise
    except (KeyError, TypeError, IndexError) as error:
        raise InputError(
            str(path), "all arrays of a graph", f"{error!r}", "Write it again."
        ) from error
    except (ValueError, ArithmeticError) as error:
        raise InputError(
            str(path), "arrays that fit together", str(error), "Write it again."
        ) from error


def _fields(members: dict[str, np.ndarray]) -> dict[str, Any]:
    """Arguments of `Graph`."""
    fields: dict[str, Any] = {
        name: members[name] for name in _ARRAYS if name in members or name in _REQUIRED
    }
    fields["name"] = str(members["name"])
    fields["report"] = EdgeReport(*integers("report", members["report"], np.int64).tolist())
    fields["positional_ids"] = bool(members.get("positional_ids", False))
    for name in _NAMES:
        if name in members:
            fields[name] = tuple(str(value) for value in members[name])
    if "features" in members:
        fields["features"] = members["features"]
    elif "features_data" in members:
        data, indices, indptr, shape = (members[f"features_{part}"] for part in _SPARSE)
        fields["features"] = sparse_matrix("features", (data, indices, indptr), shape)
    return fields
