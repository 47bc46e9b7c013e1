"""The immutable graph that everything else reads."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self, TypeAlias

import numpy as np
import scipy.sparse as sp

from cade_tf import problems
from cade_tf.errors import InputError

Features: TypeAlias = np.ndarray | sp.csr_array


@dataclasses.dataclass(frozen=True)
class EdgeReport:
    """What `Graph.from_edges` dropped on its way to a simple undirected graph.

    An edge given once in each direction is no repetition.
    """

    self_loops: int = 0
    duplicates: int = 0

    def __str__(self) -> str:
        return f"{self.self_loops:,} self-loops and {self.duplicates:,} repeated edges dropped"


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Graph:
    """An undirected graph with node features, held as CSR arrays that nobody can change.

    Use `Graph.from_edges` unless you already have a symmetric CSR. All arrays are validated, then
    made read-only.

    Args:
        indptr: int64 [nodes + 1], start of each node's neighbours in `indices`.
        indices: int32 (int64 beyond 2**31 nodes) [2 x edges], neighbours, ascending in each row,
            without self-loops and repetitions, symmetric.
        features: float32 [nodes, width], dense or SciPy CSR; None for a graph without features.
        labels: Class index per node (-1: no label), or a 0/1 matrix [nodes, classes].
        node_ids: Names of the nodes, integers or strings, distinct; None means 0..nodes-1.
        graph_ids: int32 per node where several graphs are held in one (as PPI's 24).
        edge_weights: float32 aligned with `indices`, positive and symmetric.
        split: int8 per node, 0 train, 1 validation, 2 test, where the data fix it.
        feature_names: Names of the feature columns.
        class_names: Names of the classes.
        name: What to call the graph in reports.
        report: What was dropped when the graph was made.

    Example:

    >>> graph = Graph.from_edges([[0, 1], [1, 2]], features=np.eye(3))
    >>> graph.num_nodes, graph.num_edges, graph.neighbors(1).tolist()
    (3, 2, [0, 2])
    """

    indptr: np.ndarray
    indices: np.ndarray
    features: Features | None = None
    labels: np.ndarray | None = None
    node_ids: np.ndarray | None = None
    graph_ids: np.ndarray | None = None
    edge_weights: np.ndarray | None = None
    split: np.ndarray | None = None
    feature_names: tuple[str, ...] | None = None
    class_names: tuple[str, ...] | None = None
    name: str = "graph"
    report: EdgeReport = EdgeReport()

    def __post_init__(self) -> None:
        self._validate(trusted=False)

    def _validate(self, trusted: bool) -> None:
        """Checks all fields; trusted ones without what costs a pass over every edge or feature."""

        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        put("indptr", _integers("indptr", self.indptr, np.int64))
        nodes = len(self.indptr) - 1
        put("indices", _integers("indices", self.indices, _index_dtype(nodes)))
        _check_bounds(self.indptr, self.indices)
        if not trusted:
            _check_simple(self.indptr, self.indices)
        checks: dict[str, Callable[[Any], Any]] = {
            "features": lambda value: _checked_features(value, nodes, finite=not trusted),
            "labels": lambda value: _checked_labels(value, nodes),
            "node_ids": lambda value: _checked_node_ids(value, nodes),
            "graph_ids": lambda value: _per_node("graph_ids", value, nodes, np.int32),
            "split": lambda value: _checked_split(value, nodes),
            "edge_weights": lambda value: _checked_weights(value, len(self.indices)),
        }
        for name, check in checks.items():
            value = getattr(self, name)
            if value is not None:
                put(name, None)
                with problems.part():
                    put(name, check(value))
        for name in ("feature_names", "class_names"):
            value = getattr(self, name)
            if value is not None:
                put(name, tuple(str(v) for v in value))
        for names, width in (
            ("feature_names", self.num_features),
            ("class_names", self.num_classes),
        ):
            value = getattr(self, names)
            if value is not None and len(value) != width:
                put(names, None)
                with problems.part():
                    raise InputError(names, f"{width} names", len(value), "Name every column.")
        for field in dataclasses.fields(self):
            put(field.name, _read_only(getattr(self, field.name)))

    # --- making ------------------------------------------------------------------------------

    @classmethod
    def from_edges(
        cls,
        edges: np.ndarray | Sequence[Sequence[int]],
        *,
        num_nodes: int | None = None,
        edge_weights: np.ndarray | Sequence[float] | None = None,
        **fields: Any,
    ) -> Self:
        """Makes a simple undirected graph of any list of edges.

        Both directions of an edge are kept as one undirected edge; repeated edges and self-loops
        are dropped and counted in `report`. Where a repeated edge has several weights, the largest
        counts.

        Args:
            edges: Integers [edges, 2], node positions.
            num_nodes: Number of nodes; by default what features, labels or node ids say, else one
                more than the largest position.
            edge_weights: A positive weight per edge.
            **fields: Any other argument of `Graph`.

        Raises:
            InputError: Anything does not fit; the message names the argument.
        """
        pairs = _checked_edges(edges)
        nodes = _count_nodes(pairs, num_nodes, fields)
        if edge_weights is not None:
            given, edge_weights = edge_weights, None
            with problems.part():
                edge_weights = _checked_weights(np.asarray(given), len(pairs))
        if len(pairs) and (pairs.min() < 0 or pairs.max() >= nodes):
            bad = pairs.min() if pairs.min() < 0 else pairs.max()
            with problems.part():
                raise InputError(
                    "edges",
                    f"node positions from 0 to {nodes - 1}",
                    bad,
                    "Check num_nodes and ids.",
                )
            inside = ((pairs >= 0) & (pairs < nodes)).all(axis=1)
            pairs = pairs[inside]
            edge_weights = None if edge_weights is None else edge_weights[inside]
        return cls(**_simple_csr(pairs, nodes, edge_weights), **fields)

    @classmethod
    def _trusted(cls, **fields: Any) -> Self:
        """A graph of arrays that a Graph had before (a saved one), not proved anew."""
        graph = cls.__new__(cls)
        for field in dataclasses.fields(cls):
            object.__setattr__(graph, field.name, fields.get(field.name, field.default))
        graph._validate(trusted=True)
        return graph

    @classmethod
    def load(cls, path: str | Path) -> "Graph":
        """Reads a graph that `save` wrote; see `cade_tf.graph.storage`."""
        from cade_tf.graph import storage

        return storage.load(path)

    def save(self, path: str | Path) -> None:
        """Writes the graph as one npz without pickles; see `cade_tf.graph.storage`."""
        from cade_tf.graph import storage

        storage.save(self, path)

    # --- reading -----------------------------------------------------------------------------

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return len(self.indptr) - 1

    @property
    def num_edges(self) -> int:
        """Number of undirected edges."""
        return len(self.indices) // 2

    @property
    def num_features(self) -> int:
        """Width of the features, 0 for a graph without."""
        return 0 if self.features is None else self.features.shape[1]

    @property
    def num_classes(self) -> int:
        """Number of classes, 0 for a graph without labels."""
        if self.labels is None:
            return 0
        if self.is_multilabel:
            return self.labels.shape[1]
        return int(self.labels.max(initial=-1)) + 1

    @property
    def is_multilabel(self) -> bool:
        """Whether labels are a 0/1 matrix."""
        return self.labels is not None and self.labels.ndim == 2

    @functools.cached_property
    def degrees(self) -> np.ndarray:
        """Number of neighbours of each node, int64."""
        return np.diff(self.indptr)

    @property
    def ids(self) -> np.ndarray:
        """Names of the nodes, also where `node_ids` is None."""
        return np.arange(self.num_nodes) if self.node_ids is None else self.node_ids

    def neighbors(self, node: int) -> np.ndarray:
        """Positions of a node's neighbours, ascending."""
        if not 0 <= node < self.num_nodes:
            raise InputError(
                "node", f"a position from 0 to {self.num_nodes - 1}", node, "Use a known node."
            )
        return self.indices[self.indptr[node] : self.indptr[node + 1]]

    def edges(self) -> np.ndarray:
        """Each undirected edge once, [edges, 2], first < second."""
        rows = np.repeat(np.arange(self.num_nodes, dtype=self.indices.dtype), self.degrees)
        keep = rows < self.indices
        return np.stack([rows[keep], self.indices[keep]], axis=1)

    def adjacency(self) -> sp.csr_array:
        """The adjacency matrix, weighted where the graph is."""
        data = np.ones(len(self.indices), np.float32)
        if self.edge_weights is not None:
            data = self.edge_weights
        return sp.csr_array(
            (data, self.indices, self.indptr), shape=(self.num_nodes, self.num_nodes)
        )

    def subgraph(self, nodes: np.ndarray | Sequence[int]) -> "Graph":
        """The graph induced by some nodes, which keep their ids, in the order given.

        Raises:
            InputError: A position is out of range or repeated.
        """
        chosen = np.asarray(nodes)
        if chosen.dtype == bool and chosen.shape == (self.num_nodes,):
            chosen = np.flatnonzero(chosen)
        chosen = _integers("nodes", chosen, np.int64)
        if len(chosen) and (chosen.min() < 0 or chosen.max() >= self.num_nodes):
            raise InputError(
                "nodes",
                f"positions from 0 to {self.num_nodes - 1}",
                f"{chosen.min()} to {chosen.max()}",
                "Use positions, not ids.",
            )
        position = np.full(self.num_nodes, -1, np.int64)
        position[chosen] = np.arange(len(chosen))
        if (position >= 0).sum() != len(chosen):
            raise InputError("nodes", "distinct positions", "repeated ones", "Drop the repeats.")
        kept = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        csr = self.adjacency()[chosen][:, chosen]
        csr.sort_indices()
        kept.update(
            indptr=csr.indptr,
            indices=csr.indices,
            edge_weights=None if self.edge_weights is None else csr.data,
            node_ids=self.ids[chosen],
            report=EdgeReport(),
        )
        for name in ("features", "labels", "graph_ids", "split"):
            value = getattr(self, name)
            kept[name] = None if value is None else value[chosen]
        return Graph(**kept)

    def with_edges(self, edges: np.ndarray) -> "Graph":
        """The same nodes with other edges, unweighted (link prediction hides edges)."""
        csr = _simple_csr(_checked_edges(edges), self.num_nodes, None)
        return dataclasses.replace(self, **csr)

    def __repr__(self) -> str:
        return (
            f"Graph({self.name!r}, nodes={self.num_nodes}, edges={self.num_edges}, "
            f"features={self.num_features}, classes={self.num_classes})"
        )


def _index_dtype(nodes: int) -> type:
    return np.int32 if nodes <= np.iinfo(np.int32).max else np.int64


def _read_only(value: Any) -> Any:
    """A view that cannot be written through; the caller's own array stays as it is."""
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    elif sp.issparse(value):
        parts = tuple(_read_only(part) for part in (value.data, value.indices, value.indptr))
        value = sp.csr_array(parts, shape=value.shape)
    return value


def _integers(name: str, value: Any, dtype: Any) -> np.ndarray:
    array = np.asarray(value)
    if array.ndim != 1:
        raise InputError(name, "one dimension", f"shape {array.shape}", "Flatten it.")
    if array.size == 0:
        return array.astype(dtype)
    if array.dtype.kind not in "iu":
        raise InputError(name, "integers", array.dtype, "Convert it; check for missing values.")
    return np.ascontiguousarray(array, dtype=dtype)


def _per_node(name: str, value: Any, nodes: int, dtype: Any) -> np.ndarray:
    array = _integers(name, value, dtype)
    if len(array) != nodes:
        raise InputError(name, f"{nodes} entries, one per node", len(array), "Match the nodes.")
    return array


def _checked_split(split: Any, nodes: int) -> np.ndarray:
    array = _per_node("split", split, nodes, np.int8)
    if nodes and not np.isin(array, (0, 1, 2)).all():
        raise InputError("split", "0, 1 or 2 per node", "other values", "Recode it.")
    return array


def _check_bounds(indptr: np.ndarray, indices: np.ndarray) -> None:
    if len(indptr) == 0 or indptr[0] != 0 or indptr[-1] != len(indices):
        raise InputError(
            "indptr",
            f"from 0 to {len(indices)}",
            indptr[[0, -1]] if len(indptr) else "nothing",
            "Use Graph.from_edges.",
        )
    if (np.diff(indptr) < 0).any():
        raise InputError("indptr", "ascending values", "descending ones", "Use Graph.from_edges.")
    nodes = len(indptr) - 1
    if not len(indices):
        return
    if indices.min() < 0 or indices.max() >= nodes:
        raise InputError(
            "indices",
            f"positions from 0 to {nodes - 1}",
            f"{indices.min()} to {indices.max()}",
            "Use Graph.from_edges.",
        )


def _check_simple(indptr: np.ndarray, indices: np.ndarray) -> None:
    nodes = len(indptr) - 1
    rows = np.repeat(np.arange(nodes, dtype=indices.dtype), np.diff(indptr))
    if (rows == indices).any():
        raise InputError("indices", "no self-loops", "some", "Use Graph.from_edges.")
    same_row = rows[1:] == rows[:-1]
    if (same_row & (indices[1:] <= indices[:-1])).any():
        raise InputError(
            "indices", "ascending, distinct neighbours", "others", "Use Graph.from_edges."
        )
    matrix = sp.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=(nodes, nodes))
    transposed = matrix.T.tocsr()
    if not (
        np.array_equal(transposed.indptr, indptr) and np.array_equal(transposed.indices, indices)
    ):
        raise InputError("indices", "a symmetric graph", "one-way edges", "Use Graph.from_edges.")


def _checked_features(features: Any, nodes: int, finite: bool) -> Features:
    if sp.issparse(features):
        matrix = sp.csr_array(features).astype(np.float32, copy=False)
        if not matrix.has_canonical_format:
            # In place, so not on the caller's own arrays.
            matrix = matrix.copy()
            matrix.sum_duplicates()
        shape = matrix.shape
    else:
        matrix = np.asarray(features)
        if matrix.dtype.kind not in "fiub":
            raise InputError("features", "numbers", matrix.dtype, "Convert the features.")
        if matrix.ndim != 2:
            raise InputError(
                "features", "two dimensions", f"shape {matrix.shape}", "Use [nodes, width]."
            )
        with np.errstate(over="ignore"):
            matrix = np.ascontiguousarray(matrix, dtype=np.float32)
        shape = matrix.shape
    if shape[0] != nodes:
        raise InputError(
            "features", f"{nodes} rows, one per node", shape[0], "Give every node a row."
        )
    if finite:
        _check_finite(matrix)
    return matrix


def _check_finite(features: Features) -> None:
    values = features if isinstance(features, np.ndarray) else features.data
    if not np.isfinite(values).all():
        count = int((~np.isfinite(values)).sum())
        raise InputError(
            "features",
            "finite numbers",
            f"{count:,} NaN or infinite values",
            "Fill or drop them before loading.",
        )


def _checked_labels(labels: Any, nodes: int) -> np.ndarray:
    array = np.asarray(labels)
    if array.ndim not in (1, 2) or len(array) != nodes:
        raise InputError(
            "labels", f"[{nodes}] or [{nodes}, classes]", f"shape {array.shape}", "Reshape it."
        )
    if array.dtype.kind not in "iub" and array.size:
        raise InputError("labels", "integers", array.dtype, "Number the classes from 0.")
    if array.ndim == 2:
        if not np.isin(array, (0, 1)).all():
            raise InputError("labels", "a 0/1 matrix", "other values", "Use one column a class.")
        return array.astype(np.int8)
    if array.min(initial=0) < -1:
        raise InputError("labels", "-1 (none) or a class from 0", array.min(), "Recode them.")
    return array.astype(np.int32)


def _checked_node_ids(node_ids: Any, nodes: int) -> np.ndarray:
    array = np.asarray(node_ids)
    if array.dtype.kind == "O":
        array = array.astype(str)
    if array.dtype.kind not in "iuU" and array.size:
        raise InputError("node_ids", "integers or strings", array.dtype, "Convert them.")
    if array.shape != (nodes,):
        raise InputError("node_ids", f"{nodes} ids", f"shape {array.shape}", "One id per node.")
    ordered = np.sort(array)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(repeated):
        raise InputError(
            "node_ids", "distinct ids", f"{repeated[0]} more than once", "Drop the repeats."
        )
    return array


def _checked_weights(weights: Any, edges: int) -> np.ndarray:
    array = np.asarray(weights)
    if array.shape != (edges,):
        raise InputError("edge_weights", f"{edges} numbers", f"shape {array.shape}", "One an edge.")
    if array.dtype.kind not in "fiu" and array.size:
        raise InputError("edge_weights", "numbers", array.dtype, "Convert them.")
    array = array.astype(np.float32)
    if not (np.isfinite(array).all() and (array > 0).all()):
        raise InputError(
            "edge_weights", "finite numbers above 0", "others", "Drop edges of weight 0 or less."
        )
    return array


def _checked_edges(edges: Any) -> np.ndarray:
    pairs = np.asarray(edges)
    if pairs.size == 0:
        return np.zeros((0, 2), np.int64)
    if pairs.ndim != 2 or pairs.shape[1] != 2:
        raise InputError("edges", "shape [edges, 2]", f"shape {pairs.shape}", "Transpose it?")
    if pairs.dtype.kind not in "iu":
        raise InputError("edges", "integers", pairs.dtype, "Number the nodes from 0.")
    return pairs.astype(np.int64, copy=False)


def _count_nodes(pairs: np.ndarray, num_nodes: int | None, fields: dict[str, Any]) -> int:
    if num_nodes is not None:
        return num_nodes
    for name in ("features", "labels", "node_ids", "graph_ids", "split"):
        value = fields.get(name)
        if value is not None:
            return value.shape[0] if hasattr(value, "shape") else len(value)
    return int(pairs.max()) + 1 if len(pairs) else 0


def _repetitions(pairs: np.ndarray, nodes: int) -> int:
    """How many pairs have come before in the same direction."""
    key = pairs[:, 0] * nodes + pairs[:, 1]
    key.sort()
    return int((key[1:] == key[:-1]).sum())


def _simple_csr(pairs: np.ndarray, nodes: int, weights: np.ndarray | None) -> dict[str, Any]:
    """Symmetrises, drops self-loops and repetitions; returns the CSR fields of a Graph."""
    loops = pairs[:, 0] == pairs[:, 1]
    low = pairs.min(axis=1)[~loops]
    high = pairs.max(axis=1)[~loops]
    key = low * nodes + high
    if weights is None:
        # Sorted here, because numpy.unique hashes integers, which takes far longer.
        key.sort()
    else:
        weights = weights[~loops]
        order = np.lexsort((-weights, key))
        key, weights = key[order], weights[order]
    first = np.ones(len(key), bool)
    first[1:] = key[1:] != key[:-1]
    distinct = key[first]
    weights = None if weights is None else weights[first]
    low, high = np.divmod(distinct, max(nodes, 1))
    rows = np.concatenate([low, high])
    columns = np.concatenate([high, low])
    data = np.concatenate([weights, weights]) if weights is not None else np.ones(len(rows), bool)
    matrix = sp.csr_array(sp.coo_array((data, (rows, columns)), shape=(nodes, nodes)))
    matrix.sort_indices()
    report = EdgeReport(int(loops.sum()), _repetitions(pairs[~loops], nodes))
    return {
        "indptr": matrix.indptr,
        "indices": matrix.indices,
        "edge_weights": None if weights is None else matrix.data,
        "report": report,
    }
