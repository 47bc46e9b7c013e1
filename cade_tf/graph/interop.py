"""Graphs of other Python libraries, recognised by their attributes.

None of these libraries is imported, except NetworkX where a NetworkX graph is to be made.
"""

import dataclasses
from collections.abc import Hashable
from typing import Any

import numpy as np
import scipy.sparse as sp

from cade_tf.errors import InputError, require_module
from cade_tf.graph.columns import edge_columns
from cade_tf.graph.edges import simple_csr
from cade_tf.graph.graph import Graph
from cade_tf.graph.naming import class_indices, ids_of
from cade_tf.graph.validation import array_of, check_compressed

# --- SciPy ---------------------------------------------------------------------------------------


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
    csr = _positive_csr(_square(matrix))
    rows = np.repeat(np.arange(csr.shape[0]), np.diff(csr.indptr))
    loops = rows == csr.indices
    weights = csr.data if (csr.data[~loops] != 1).any() else None
    # A matrix that is such a graph already is taken as it is, six times as fast as its edges.
    if not loops.any() and csr.has_canonical_format and _equal(csr, sp.csr_array(csr.T)):
        return Graph(indptr=csr.indptr, indices=csr.indices, edge_weights=weights, **fields)
    pairs = np.stack([rows, csr.indices], axis=1).astype(np.int64)
    found = simple_csr(pairs, csr.shape[0], weights)
    if weights is not None and (found["edge_weights"] == 1).all():
        found["edge_weights"] = None
    return Graph(**found, **fields)


def _square(matrix: Any) -> sp.csr_array:
    shape = getattr(matrix, "shape", None)
    if sp.issparse(matrix) and (len(matrix.shape) != 2 or matrix.shape[0] != matrix.shape[1]):
        # Before CSR is made of it, which takes as much memory as a damaged shape claims.
        raise InputError("matrix", "a square matrix", f"shape {shape}", "Use [nodes, nodes].")
    check_compressed("matrix", matrix)
    try:
        csr = sp.csr_array(matrix)
    except (ValueError, TypeError) as error:
        raise InputError("matrix", "a matrix of numbers", str(error), "Convert it.") from error
    if csr.ndim != 2 or csr.shape[0] != csr.shape[1]:
        raise InputError("matrix", "a square matrix", f"shape {csr.shape}", "Use [nodes, nodes].")
    if csr.dtype.kind not in "biuf":
        raise InputError("matrix", "numbers", csr.dtype, "Convert it.")
    return csr


def _positive_csr(csr: sp.csr_array) -> sp.csr_array:
    """A copy in float32 without zeros."""
    data = csr.data
    if (data < 0).any() or not np.isfinite(data).all():
        raise InputError(
            "edge_weights", "finite numbers above 0", "others", "Drop or shift such edges."
        )
    with np.errstate(over="ignore", under="ignore"):
        copy = sp.csr_array(
            (data.astype(np.float32), csr.indices, csr.indptr), csr.shape, copy=True
        )
    if not np.isfinite(copy.data).all():
        raise InputError("edge_weights", "numbers up to 3e38", "larger ones", "Scale them down.")
    copy.eliminate_zeros()
    return copy


def _equal(first: sp.csr_array, second: sp.csr_array) -> bool:
    return all(
        np.array_equal(getattr(first, part), getattr(second, part))
        for part in ("indptr", "indices", "data")
    )


# --- NetworkX ------------------------------------------------------------------------------------


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
    if not hasattr(graph, "nodes"):
        raise InputError("graph", "a NetworkX graph", type(graph).__name__, "Use from_edges.")
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
    made = Graph.from_edges(pairs, name=name or getattr(graph, "name", "") or "graph", **fields)
    if graph.is_directed():
        return made
    return dataclasses.replace(made, report=made.report.undirected)


def _attribute(where: Any, data: dict[str, Any], name: str) -> Any:
    if name not in data:
        raise InputError(
            name, "an attribute of every node or edge", f"none at {where!r}", "Fill it in."
        )
    return data[name]


def to_networkx(graph: Graph) -> Any:
    """The graph as a `networkx.Graph`.

    Nodes are called by their ids and have the attributes `features` (a vector) and `label` (the
    name of the class, or a 0/1 vector), edges the attribute `weight`, each where the graph has
    them.

    Args:
        graph: The graph.

    Raises:
        InputError: NetworkX is not installed.
    """
    result = require_module("networkx", "to_networkx").Graph(name=graph.name)
    ids = graph.ids.tolist()
    result.add_nodes_from(ids)
    edges = graph.edges()
    ends = [(ids[a], ids[b]) for a, b in edges.tolist()]
    if graph.edge_weights is None:
        result.add_edges_from(ends)
    else:
        weights = graph.adjacency()[edges[:, 0], edges[:, 1]].tolist()
        result.add_weighted_edges_from((*e, w) for e, w in zip(ends, weights, strict=True))
    for position, node in enumerate(ids):
        result.nodes[node].update(_attributes(graph, position))
    return result


def _attributes(graph: Graph, position: int) -> dict[str, Any]:
    found: dict[str, Any] = {}
    if graph.features is not None:
        row = graph.features[position]
        found["features"] = row if isinstance(row, np.ndarray) else row.toarray().ravel()
    if graph.labels is not None:
        label = graph.labels[position]
        if graph.is_multilabel:
            found["label"] = label
        elif label >= 0:
            found["label"] = graph.class_names[label] if graph.class_names else int(label)
    return found


# --- pandas --------------------------------------------------------------------------------------


def from_pandas(
    edges: Any,
    features: Any = None,
    *,
    labels: Any = None,
    ids: str | None = None,
    source: str | None = None,
    target: str | None = None,
    weight: str | None = None,
    **fields: Any,
) -> Graph:
    """Makes a graph of a table of edges and one of features, joined by the ids of the nodes.

    Args:
        edges: DataFrame with a column of sources and one of targets.
        features: DataFrame with a row per node; its index, or the column `ids`, names the nodes.
            None for a graph without features, whose nodes are all names in `edges`.
        labels: A Series whose index names the nodes, or the name of a column of `features`.
        ids: Column of `features` that names the nodes; by default its index does.
        source: Column of sources; by default found by its usual names (source, from, u, ...),
            else the first.
        target: Column of targets, likewise, else the second.
        weight: Column of weights; by default `weight`, where there is one.
        **fields: Any other argument of `Graph`.

    Returns:
        The graph, nodes in the order of `features`. Its notes name the columns of `edges` that
        were not read.

    Raises:
        InputError: A column is missing, or an id of one table is not in the other.

    Example:

    >>> import pandas as pd
    >>> edges = pd.DataFrame({"source": ["a", "b"], "target": ["b", "c"]})
    >>> features = pd.DataFrame({"x": [3.0, 1.0, 2.0]}, index=["c", "a", "b"])
    >>> graph = Graph.from_pandas(edges, features)
    >>> graph.ids.tolist(), graph.edges().tolist()
    (['c', 'a', 'b'], [[0, 2], [1, 2]])
    """
    for argument, table in (("edges", edges), ("features", features)):
        if table is not None and not hasattr(table, "columns"):
            raise InputError(argument, "a DataFrame", type(table).__name__, "Use from_edges.")
    columns = [str(name) for name in edges.columns]
    found = edge_columns(columns)
    given = {"source": source, "target": target, "weight": weight}
    chosen: dict[str, int | None] = {
        role: getattr(found, role) if name is None else _column(name, columns, role)
        for role, name in given.items()
    }
    used = set(chosen.values())
    ignored = tuple(n for i, n in enumerate(columns) if i not in used and n in found.ignored)
    if features is not None and ids is not None:
        _column(ids, [str(name) for name in features.columns], "ids")
        features = features.set_index(ids)
    if features is not None and isinstance(labels, str):
        _column(labels, [str(name) for name in features.columns], "labels")
        labels, features = features[labels], features.drop(columns=labels)
    ends = [
        ids_of(edges.iloc[:, chosen[role]].tolist(), f"edges, {columns[chosen[role] or 0]}")
        for role in ("source", "target")
    ]
    if ends[0].dtype.kind != ends[1].dtype.kind:
        ends = [column.astype(str) for column in ends]
    if chosen["weight"] is not None:
        fields["edge_weights"] = edges.iloc[:, chosen["weight"]].to_numpy()
    pairs = np.stack(ends, axis=1)
    if features is None and labels is None and pairs.dtype.kind != "U":
        # Ids of a table are names, not positions.
        names, pairs = np.unique(pairs, return_inverse=True)
        fields.setdefault("node_ids", names)
        pairs = pairs.reshape(-1, 2)
    notes = dataclasses.replace(found, ignored=ignored).note("edges")
    return Graph.from_edges(pairs, features=features, labels=labels, notes=notes, **fields)


def _column(name: str, columns: list[str], argument: str) -> int:
    if name not in columns:
        raise InputError(argument, "one of the columns " + ", ".join(columns), name, "Rename it.")
    return columns.index(name)


# --- PyTorch Geometric, DGL, TensorFlow ----------------------------------------------------------


def from_edge_index(edge_index: Any, **fields: Any) -> Graph:
    """Makes a graph of edges in two rows, sources and targets.

    Args:
        edge_index: Integers [2, edges]: NumPy, torch (on any device), TensorFlow or lists.
        **fields: Any other argument of `Graph.from_edges`; tensors are converted too.

    Raises:
        InputError: Another shape, or something does not fit.

    Example:

    >>> from_edge_index([[0, 1], [1, 2]]).edges().tolist()
    [[0, 1], [1, 2]]
    """
    array = _numpy(edge_index, "edge_index")
    if array is None or array.ndim != 2 or array.shape[0] != 2:
        raise InputError(
            "edge_index",
            "shape [2, edges]",
            "none" if array is None else f"shape {array.shape}",
            "Use Graph.from_edges for [edges, 2].",
        )
    plain: dict[str, Any] = {
        name: _numpy(value) if hasattr(value, "numpy") else value for name, value in fields.items()
    }
    return Graph.from_edges(array.T, **plain)


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
    fields = {"features": getattr(data, "x", None), "labels": getattr(data, "y", None)}
    weights = _numpy(getattr(data, "edge_weight", None))
    if weights is not None:
        fields["edge_weights"] = weights.ravel()
    nodes = getattr(data, "num_nodes", None)
    return from_edge_index(
        getattr(data, "edge_index", None),
        num_nodes=nodes,
        split=_split(lambda mask: getattr(data, mask, None)),
        name=name,
        **fields,
    )


def from_dgl(
    graph: Any,
    *,
    features: str = "feat",
    labels: str = "label",
    weights: str | None = None,
    name: str = "graph",
) -> Graph:
    """Makes a graph of a homogeneous DGL graph.

    Args:
        graph: A `dgl.DGLGraph` of one type of nodes and edges.
        features: Name of the features in `graph.ndata`, where they are.
        labels: Name of the classes in `graph.ndata`, where they are.
        weights: Name of the weights in `graph.edata`; None for none.
        name: Name of the result.

    Returns:
        The graph. `val_mask` and `test_mask` of the nodes become its split.

    Raises:
        InputError: `weights` is not there, or something does not fit.
    """
    sources, targets = graph.edges()
    nodes = graph.ndata
    fields: dict[str, Any] = {}
    if weights is not None:
        _column(weights, list(graph.edata), "weights")
        values = _numpy(graph.edata[weights])
        fields["edge_weights"] = None if values is None else values.ravel()
    return from_edge_index(
        [_numpy(sources), _numpy(targets)],
        num_nodes=int(graph.num_nodes()),
        features=nodes.get(features),
        labels=nodes.get(labels),
        split=_split(nodes.get),
        name=name,
        **fields,
    )


def _split(mask_of: Any) -> np.ndarray | None:
    """The split that the masks of validation and test describe; None without them."""
    validation, test = (_numpy(mask_of(f"{part}_mask")) for part in ("val", "test"))
    if validation is None or test is None or not validation.ndim == test.ndim == 1:
        return None
    if validation.shape != test.shape:
        expected, received = f"shape {validation.shape}, as of val_mask", f"shape {test.shape}"
        raise InputError("test_mask", expected, received, "Give every node a place in both.")
    return np.where(test, 2, np.where(validation, 1, 0))


def _numpy(value: Any, argument: str = "tensor") -> np.ndarray | None:
    """A tensor, or anything else but None, as an array."""
    if value is None:
        return None
    for step in ("detach", "cpu", "numpy"):
        if hasattr(value, step):
            value = getattr(value, step)()
    return array_of(argument, value)
