"""Graphs of other Python libraries, whose packages are never imported here."""

from collections.abc import Hashable
from typing import Any

import numpy as np
import scipy.sparse as sp

from cade_tf.errors import InputError
from cade_tf.graph.graph import EdgeReport, Graph


def from_scipy(matrix: Any, **fields: Any) -> Graph:
    """Makes a graph of an adjacency matrix, sparse or dense.

    A matrix that is not symmetric is symmetrised; where the two directions differ the larger
    weight counts. A matrix of ones gives a graph without weights.

    Args:
        matrix: [nodes, nodes].
        **fields: Any other argument of `Graph`: features, labels, node_ids and so on.

    Returns:
        The graph; its report counts the self-loops and repeated entries that were dropped.

    Raises:
        InputError: Not square, weights that are not positive, or fields that do not fit.

    Example:

    >>> from_scipy(np.array([[0, 1], [1, 0]])).num_edges
    1
    """
    try:
        csr = sp.csr_array(matrix)
    except (ValueError, TypeError) as error:
        raise InputError("matrix", "a matrix of numbers", str(error), "Convert it.") from error
    if csr.ndim != 2 or csr.shape[0] != csr.shape[1]:
        raise InputError("matrix", "a square matrix", f"shape {csr.shape}", "Use [nodes, nodes].")
    if csr.dtype.kind not in "biuf":
        raise InputError("matrix", "numbers", csr.dtype, "Convert it.")
    entries = csr.nnz
    weighted = bool((csr.data != 1).any())
    if weighted:
        csr = csr.copy()
        csr.eliminate_zeros()
        if (csr.data < 0).any() or not np.isfinite(csr.data).all():
            raise InputError(
                "edge_weights", "finite numbers above 0", "others", "Drop or shift such edges."
            )
        entries = csr.nnz
    weights = csr.data.astype(np.float32) if weighted else np.ones(csr.nnz, bool)
    csr = sp.csr_array((weights, csr.indices, csr.indptr), shape=csr.shape, copy=True)
    # Not summed: a repeated edge is still one edge, and the largest weight counts everywhere.
    csr = _without_repetitions(csr)
    report_repeated = entries - csr.nnz
    rows = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
    loops = rows == csr.indices
    if loops.any():
        csr.data[loops] = 0
        csr.eliminate_zeros()
    transposed = sp.csr_array(csr.T)
    transposed.sort_indices()
    symmetric = np.array_equal(csr.indptr, transposed.indptr) and np.array_equal(
        csr.indices, transposed.indices
    )
    if not symmetric or (weighted and not np.array_equal(csr.data, transposed.data)):
        csr = sp.csr_array(csr.maximum(transposed))
        csr.sort_indices()
    return Graph(
        indptr=csr.indptr,
        indices=csr.indices,
        edge_weights=csr.data if weighted and (csr.data != 1).any() else None,
        report=EdgeReport(int(loops.sum()), report_repeated),
        **fields,
    )


def _without_repetitions(csr: sp.csr_array) -> sp.csr_array:
    if csr.has_canonical_format:
        return csr
    rows = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
    order = np.lexsort((-csr.data.astype(np.float32), csr.indices, rows))
    rows, columns, data = rows[order], csr.indices[order], csr.data[order]
    first = np.ones(len(rows), bool)
    first[1:] = (rows[1:] != rows[:-1]) | (columns[1:] != columns[:-1])
    result = sp.csr_array((data[first], (rows[first], columns[first])), shape=csr.shape)
    result.sort_indices()
    return result


def from_networkx(
    graph: Any,
    *,
    features: str | None = None,
    labels: str | None = None,
    weights: str | None = None,
    name: str | None = None,
) -> Graph:
    """Makes a graph of a NetworkX graph, directed or not; node names become ids.

    Args:
        graph: A `networkx.Graph`, `DiGraph` or one with parallel edges.
        features: Node attribute that holds a vector.
        labels: Node attribute that holds a class: an integer or a string.
        weights: Edge attribute that holds a weight.
        name: Name of the result; by default that of the NetworkX graph.

    Returns:
        The graph, nodes in NetworkX' order.

    Raises:
        InputError: A node or an edge lacks a named attribute, or the values do not fit.
    """
    nodes = list(graph.nodes(data=True))
    position: dict[Hashable, int] = {node: i for i, (node, _) in enumerate(nodes)}
    edges = list(graph.edges(data=True))
    pairs = np.array([[position[e[0]], position[e[1]]] for e in edges], np.int64).reshape(-1, 2)
    fields: dict[str, Any] = {"num_nodes": len(nodes), "node_ids": ids_of(list(position))}
    if features is not None:
        vectors = [_attribute(node, data, features) for node, data in nodes]
        try:
            fields["features"] = np.asarray(vectors)
        except ValueError as error:
            raise InputError("features", "vectors of one length", str(error), "Pad.") from error
    if labels is not None:
        fields |= class_indices([_attribute(node, data, labels) for node, data in nodes])
    if weights is not None:
        fields["edge_weights"] = [_attribute(e[:2], e[2], weights) for e in edges]
    return Graph.from_edges(pairs, name=name or getattr(graph, "name", "") or "graph", **fields)


def _attribute(where: Any, data: dict[str, Any], name: str) -> Any:
    if name not in data:
        raise InputError(
            name, "an attribute of every node or edge", f"none at {where!r}", "Fill it in."
        )
    return data[name]


def ids_of(names: list[Any]) -> np.ndarray:
    """Node ids as an array: integers where all are, else strings."""
    if all(_is_whole(name) for name in names):
        return np.array(names, np.int64)
    return np.array([str(n) for n in names], str)


def _is_whole(name: Any) -> bool:
    whole = isinstance(name, (int, np.integer)) and not isinstance(name, bool)
    return whole and abs(int(name)) < 2**63


def from_pyg(data: Any, *, name: str = "graph") -> Graph:
    """Makes a graph of a PyTorch Geometric `Data`, read by its attributes.

    Args:
        data: Anything with `edge_index`; `x`, `y`, `edge_weight`, `num_nodes` and
            `train_mask`, `val_mask`, `test_mask` are used where they are.
        name: Name of the result.

    Returns:
        The graph. A node in none of the masks counts as a training node.

    Raises:
        InputError: There is no `edge_index`, or something does not fit.
    """
    edge_index = _numpy(getattr(data, "edge_index", None))
    if edge_index is None or edge_index.ndim != 2 or edge_index.shape[0] != 2:
        raise InputError(
            "edge_index",
            "shape [2, edges]",
            "none" if edge_index is None else f"shape {edge_index.shape}",
            "Give a Data of one graph.",
        )
    fields: dict[str, Any] = {"name": name, "features": _numpy(getattr(data, "x", None))}
    nodes = getattr(data, "num_nodes", None)
    if nodes is not None:
        fields["num_nodes"] = int(nodes)
    weights = _numpy(getattr(data, "edge_weight", None))
    if weights is not None:
        fields["edge_weights"] = weights.ravel()
    labels = _numpy(getattr(data, "y", None))
    if labels is not None:
        if labels.ndim == 2 and labels.shape[1] == 1:
            labels = labels.ravel()
        fields["labels"] = labels.astype(np.int64) if labels.ndim == 2 else labels
    validation, test = (_numpy(getattr(data, f"{part}_mask", None)) for part in ("val", "test"))
    if validation is not None and test is not None and validation.ndim == test.ndim == 1:
        fields["split"] = np.where(test, 2, np.where(validation, 1, 0))
    return Graph.from_edges(edge_index.T, **fields)


def _numpy(value: Any) -> np.ndarray | None:
    if value is None:
        return None
    for step in ("detach", "cpu", "numpy"):
        if hasattr(value, step):
            value = getattr(value, step)()
    return np.asarray(value)


def class_indices(values: Any) -> dict[str, Any]:
    """Classes of any name as the fields `labels` and `class_names` of a `Graph`.

    Args:
        values: One class per node: integers, whole floats or strings. Empty strings, and -1 where
            no other class is negative, mean no class.

    Returns:
        `labels` from 0, -1 for none, and `class_names`.

    Raises:
        InputError: Other values.

    Example:

    >>> class_indices(["b", "a", "", "b"])
    {'labels': array([ 1,  0, -1,  1]), 'class_names': ('a', 'b')}
    """
    array = np.asarray(values)
    if array.ndim != 1:
        raise InputError("labels", "one class per node", f"shape {array.shape}", "Flatten it.")
    if array.dtype.kind == "f" and array.size and np.array_equal(array, np.round(array)):
        array = array.astype(np.int64)
    if array.dtype.kind in "iub":
        missing = array.astype(np.int64) == -1
    elif array.dtype.kind in "UO":
        array = array.astype(str)
        missing = array == ""
    else:
        raise InputError("labels", "integers or names of classes", array.dtype, "Convert them.")
    labels = np.full(len(array), -1)
    names, labels[~missing] = np.unique(array[~missing], return_inverse=True)
    return {"labels": labels, "class_names": tuple(str(name) for name in names)}


def classes_of_matrix(matrix: np.ndarray) -> np.ndarray:
    """Class indices of a 0/1 matrix in which no node has two classes, else the matrix."""
    count = matrix.sum(axis=1)
    if (count > 1).any() or not len(matrix):
        return matrix
    return np.where(count == 1, matrix.argmax(axis=1), -1)
