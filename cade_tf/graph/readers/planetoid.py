"""Planetoid's `ind.NAME.*` (Pubmed, Cora, Citeseer)."""

from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from cade_tf import problems
from cade_tf.errors import InputError
from cade_tf.graph.graph import Graph
from cade_tf.graph.naming import dense_labels, matrix_labels
from cade_tf.graph.readers.unpickling import read_pickle

_SUFFIXES = ("allx", "ally", "tx", "ty", "graph", "test.index")


def recognises(path: Path) -> bool:
    """Whether a folder or a prefix is of this format."""
    return _prefix(path) is not None


def _files(path: Path) -> list[Path]:
    """The files that `read` reads."""
    prefix = _prefix(path)
    if prefix is None:
        raise InputError(
            str(path), "ind.NAME.* files", "others", "Give the folder or one of the files."
        )
    return [prefix.with_name(f"{prefix.name}.{suffix}") for suffix in _SUFFIXES]


def _prefix(path: Path) -> Path | None:
    """DIR/ind.NAME of a folder, of one of the files or of the prefix itself."""
    if path.is_dir():
        found = sorted(path.glob("ind.*.graph"))
        return found[0].with_name(found[0].name.removesuffix(".graph")) if len(found) == 1 else None
    parts = path.name.split(".")
    if len(parts) < 2 or parts[0] != "ind":
        return None
    return path.with_name(".".join(parts[:2]))


def read(path: Path) -> Graph:
    """Reads the graph, with the test rows put back where `test.index` says.

    The numbers of a test row that no file has (isolated nodes of Citeseer) are zero and its label
    is -1.

    Args:
        path: The folder, one of the files, or their prefix `DIR/ind.NAME`.

    Raises:
        InputError: A file is missing, damaged, hostile, or does not fit the others.
    """
    allx_path, ally_path, tx_path, ty_path, graph_path, index_path = _files(path)
    order = _test_index(index_path)
    known, test = _matrix(allx_path), _matrix(tx_path)
    _check_fit(known, test, tx_path)
    if test.shape[0] != len(order):
        raise InputError(
            str(index_path),
            f"{test.shape[0]} ids, one per row of tx",
            len(order),
            "Use one version.",
        )
    if len(order) and (order.min() < known.shape[0] or len(np.unique(order)) != len(order)):
        raise InputError(
            str(index_path),
            f"distinct ids from {known.shape[0]}, after the rows of allx",
            f"{order.min()} or a repetition",
            "Use the file that belongs to allx.",
        )
    pairs = _pairs(read_pickle(graph_path), graph_path)
    nodes = max(known.shape[0], int(order.max(initial=-1)) + 1, int(pairs.max(initial=-1)) + 1)
    if nodes > known.shape[0] + 2 * len(order) + 1:
        raise InputError(
            str(graph_path),
            f"about {known.shape[0] + len(order)} nodes, as in allx and tx",
            f"node {nodes - 1}",
            "Use files of one data set.",
        )
    place = np.concatenate([np.arange(known.shape[0]), order])
    position = np.full(nodes, -1)
    position[place] = np.arange(len(place))
    fields: dict[str, Any] = {"features": _placed(sp.csr_array(sp.vstack([known, test])), position)}
    with problems.part():
        known_labels = _labels(ally_path, known.shape[0])
        test_labels = _labels(ty_path, test.shape[0])
        _check_fit(known_labels, test_labels, ty_path)
        one_hot = np.zeros((nodes, known_labels.shape[1]), np.int64)
        one_hot[place] = np.concatenate([known_labels, test_labels])
        fields |= matrix_labels(one_hot, nodes)
    with problems.within(allx_path):
        name = allx_path.name.split(".")[1]
        return Graph.from_edges(pairs, num_nodes=nodes, name=name, **fields)


def _check_fit(known: Any, test: Any, test_path: Path) -> None:
    """Whether test rows are as wide as the others."""
    if known.shape[1] != test.shape[1]:
        raise InputError(
            str(test_path),
            f"width {known.shape[1]}, as that of the other nodes",
            test.shape[1],
            "Use one version.",
        )


def _placed(features: sp.csr_array, position: np.ndarray) -> sp.csr_array:
    """Row `position[i]` at i; an empty row where it is -1."""
    empty = sp.csr_array((1, features.shape[1]), dtype=features.dtype)
    return sp.csr_array(sp.vstack([features, empty]))[position]


def _matrix(path: Path) -> sp.csr_array:
    value = read_pickle(path)
    if isinstance(value, np.ndarray) and value.ndim == 2 and value.dtype.kind in "fiub":
        value = sp.csr_array(value)
    if not (sp.issparse(value) and value.format == "csr"):
        raise InputError(str(path), "a matrix of features", type(value).__name__, "Replace it.")
    return value


def _labels(path: Path, rows: int) -> np.ndarray:
    with problems.within(path):
        value = dense_labels(read_pickle(path), rows)
    if not isinstance(value, np.ndarray) or value.ndim != 2 or not np.isin(value, (0, 1)).all():
        raise InputError(str(path), "a 0/1 matrix of classes", type(value).__name__, "Replace it.")
    if len(value) != rows:
        raise InputError(str(path), f"{rows} rows", len(value), "Use one version.")
    return value.astype(np.int64)


def _test_index(path: Path) -> np.ndarray:
    try:
        return np.array(path.read_text("ascii").split(), np.int64)
    except (ValueError, OverflowError) as error:
        raise InputError(str(path), "one integer per line", str(error), "Replace it.") from error


def _pairs(graph: Any, path: Path) -> np.ndarray:
    if not isinstance(graph, dict):
        raise InputError(
            str(path), "a dict of neighbour lists", type(graph).__name__, "Replace it."
        )
    try:
        counts = [len(neighbors) for neighbors in graph.values()]
        sources = np.repeat(np.array(list(graph), np.int64), counts)
        targets = np.array([t for neighbors in graph.values() for t in neighbors], np.int64)
        pairs = np.stack([sources, targets], axis=1)
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            str(path), "a dict of neighbour lists", str(error), "Replace it."
        ) from error
    if pairs.size and pairs.min() < 0:
        raise InputError(str(path), "nodes from 0", pairs.min(), "Replace it.")
    return pairs
