"""The immutable graph that everything else reads."""

import dataclasses
import functools
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from cade_tf import problems
from cade_tf.display import html_table, short
from cade_tf.errors import InputError
from cade_tf.graph.edges import NOTHING_DROPPED, EdgeReport, simple_csr
from cade_tf.graph.naming import by_position
from cade_tf.graph.validation import (
    Features,
    check_bounds,
    check_simple,
    checked_edges,
    checked_features,
    checked_labels,
    checked_node_ids,
    checked_split,
    checked_weights,
    index_dtype,
    integers,
    per_node,
)

__all__ = ["EdgeReport", "Features", "Graph"]


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
        positional_ids: Whether `node_ids` are mere positions in a larger graph that has no ids
            and that this one was cut from; see `has_given_ids`.
        graph_ids: int32 per node where several graphs are held in one (as PPI's 24).
        edge_weights: float32 aligned with `indices`, positive and symmetric.
        split: int8 per node, 0 train, 1 validation, 2 test, where the data fix it.
        feature_names: Names of the feature columns.
        class_names: Names of the classes.
        name: What to call the graph in reports.
        report: What was dropped when the graph was made.
        notes: What a reader wants a user to know of the files, each a sentence.

    Example:

    >>> graph = Graph.from_edges([[0, 1], [1, 2]], features=np.eye(3))
    >>> graph.num_nodes, graph.num_edges, graph.neighbors(1).tolist()
    (3, 2, [0, 2])
    >>> Graph.from_edges([["bob", "ann"]], node_ids=["ann", "bob"], labels=["x", "y"]).class_names
    ('x', 'y')
    """

    indptr: np.ndarray
    indices: np.ndarray
    features: Features | None = None
    labels: np.ndarray | None = None
    node_ids: np.ndarray | None = None
    positional_ids: bool = False
    graph_ids: np.ndarray | None = None
    edge_weights: np.ndarray | None = None
    split: np.ndarray | None = None
    feature_names: tuple[str, ...] | None = None
    class_names: tuple[str, ...] | None = None
    name: str = "graph"
    report: EdgeReport = NOTHING_DROPPED
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        self._validate(trusted=False)

    def _validate(self, trusted: bool) -> None:
        """Checks all fields; trusted ones without what costs a pass over every edge or feature."""

        def put(name: str, value: Any) -> None:
            object.__setattr__(self, name, value)

        put("indptr", integers("indptr", self.indptr, np.int64))
        nodes = len(self.indptr) - 1
        put("indices", integers("indices", self.indices, index_dtype(nodes)))
        check_bounds(self.indptr, self.indices)
        if not trusted:
            check_simple(self.indptr, self.indices)
        checks: dict[str, Callable[[Any], Any]] = {
            "features": lambda value: checked_features(value, nodes, finite=not trusted),
            "labels": lambda value: checked_labels(value, nodes),
            "node_ids": lambda value: checked_node_ids(value, nodes),
            "graph_ids": lambda value: per_node("graph_ids", value, nodes, np.int32),
            "split": lambda value: checked_split(value, nodes),
            "edge_weights": lambda value: checked_weights(value, len(self.indices)),
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
        edges: np.ndarray | Sequence[Sequence[int]] | Sequence[Sequence[str]],
        *,
        num_nodes: int | None = None,
        edge_weights: np.ndarray | Sequence[float] | None = None,
        **fields: Any,
    ) -> Self:
        """Makes a simple undirected graph of any list of edges.

        Both directions of an edge are kept as one undirected edge; repeated edges and self-loops
        are dropped and counted in `report`. Where a repeated edge has several weights, the largest
        counts.

        Features and labels may be a pandas DataFrame or Series. Its index then names the nodes,
        edges hold these names, and nodes come in the order of the features.

        Args:
            edges: [edges, 2], node positions, or names as strings. Names are those of `node_ids`
                or of a pandas index; of a graph of edges alone, all names found, sorted.
            num_nodes: Number of nodes; by default what features, labels or node ids say, else one
                more than the largest position.
            edge_weights: A positive weight per edge.
            **fields: Any other argument of `Graph`; labels may also be strings, and NaN, None or
                an empty string for no class.

        Raises:
            InputError: Anything does not fit; the message names the argument.
        """
        pairs, fields = by_position(edges, fields)
        nodes = _count_nodes(pairs, num_nodes, fields)
        if edge_weights is not None:
            given, edge_weights = edge_weights, None
            with problems.part():
                edge_weights = checked_weights(np.asarray(given), len(pairs))
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
        return cls(**simple_csr(pairs, nodes, edge_weights), **fields)

    @classmethod
    def _trusted(cls, **fields: Any) -> Self:
        """A graph of arrays that were checked before they were saved."""
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

    # --- from and to other libraries; see `cade_tf.graph.interop` --------------------------------

    @classmethod
    def from_scipy(cls, matrix: Any, **fields: Any) -> "Graph":
        """A graph of an adjacency matrix, sparse or dense; see `interop.from_scipy`."""
        from cade_tf.graph import interop

        return interop.from_scipy(matrix, **fields)

    @classmethod
    def from_networkx(cls, graph: Any, **options: Any) -> "Graph":
        """A graph of a NetworkX graph; see `interop.from_networkx`."""
        from cade_tf.graph import interop

        return interop.from_networkx(graph, **options)

    @classmethod
    def from_pandas(cls, edges: Any, features: Any = None, **options: Any) -> "Graph":
        """A graph of tables of edges and features; see `interop.from_pandas`."""
        from cade_tf.graph import interop

        return interop.from_pandas(edges, features, **options)

    @classmethod
    def from_edge_index(cls, edge_index: Any, **fields: Any) -> "Graph":
        """A graph of edges [2, edges], NumPy, torch or TensorFlow; see `interop`."""
        from cade_tf.graph import interop

        return interop.from_edge_index(edge_index, **fields)

    @classmethod
    def from_pyg(cls, data: Any, **fields: Any) -> "Graph":
        """A graph of a PyTorch Geometric `Data`; see `interop.from_pyg`."""
        from cade_tf.graph import interop

        return interop.from_pyg(data, **fields)

    @classmethod
    def from_dgl(cls, graph: Any, **options: Any) -> "Graph":
        """A graph of a DGL graph; see `interop.from_dgl`."""
        from cade_tf.graph import interop

        return interop.from_dgl(graph, **options)

    def to_networkx(self) -> Any:
        """The graph as a `networkx.Graph`; see `interop.to_networkx`."""
        from cade_tf.graph import interop

        return interop.to_networkx(self)

    def to_scipy(self) -> sp.csr_array:
        """The adjacency matrix as a CSR array of its own, which may be changed."""
        return self.adjacency().copy()

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
        """Number of classes, 0 for a graph without labels; also those that no node here has."""
        if self.labels is None:
            return 0
        if self.is_multilabel:
            return self.labels.shape[1]
        return max(int(self.labels.max(initial=-1)) + 1, len(self.class_names or ()))

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

    @property
    def has_given_ids(self) -> bool:
        """Whether ids were given; where not, they are positions and mean nothing elsewhere.

        Node 0 of one graph and node 0 of another are the same node only if both ids were given.
        """
        return self.node_ids is not None and not self.positional_ids

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

    def components(self) -> np.ndarray:
        """Connected component of each node, int32 from 0."""
        # In a symmetric graph strong components are the connected ones, and need no transpose.
        _, component = connected_components(self.adjacency(), directed=True, connection="strong")
        return component

    def subgraph(self, nodes: np.ndarray | Sequence[int]) -> "Graph":
        """The graph induced by some nodes, which keep their ids, in the order given.

        Raises:
            InputError: A position is out of range or repeated.
        """
        chosen = np.asarray(nodes)
        if chosen.dtype == bool and chosen.shape == (self.num_nodes,):
            chosen = np.flatnonzero(chosen)
        chosen = integers("nodes", chosen, np.int64)
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
            positional_ids=not self.has_given_ids,
            report=NOTHING_DROPPED,
        )
        for name in ("features", "labels", "graph_ids", "split"):
            value = getattr(self, name)
            kept[name] = None if value is None else value[chosen]
        return Graph(**kept)

    def with_edges(self, edges: np.ndarray) -> "Graph":
        """The same nodes with some of the edges, which keep their weights.

        Args:
            edges: Integers [edges, 2], positions of nodes.
        """
        weights = None
        if self.edge_weights is not None:
            weights = np.asarray(self.adjacency()[edges[:, 0], edges[:, 1]]).ravel()
        csr = simple_csr(checked_edges(edges), self.num_nodes, weights)
        return dataclasses.replace(self, **csr | {"report": NOTHING_DROPPED})

    def __deepcopy__(self, memo: dict[int, Any]) -> "Graph":
        # Nobody can change it; scikit-learn copies the parameters of every estimator it tries.
        return self

    def __repr__(self) -> str:
        return (
            f"Graph({short(self.name)}, nodes={self.num_nodes}, edges={self.num_edges}, "
            f"features={self.num_features}, classes={self.num_classes})"
        )

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        counts = ("nodes", "edges", "features", "classes")
        rows: dict[str, object] = {n: f"{getattr(self, f'num_{n}'):,}" for n in counts}
        rows["ids"] = "given" if self.has_given_ids else "positions"
        rows["edge weights"] = "none" if self.edge_weights is None else "given"
        return html_table(f"Graph {self.name}", rows)


_SURELY_POSITIONS = 1_000_000
"""Smaller numbers are taken for positions, however few of them occur."""


def _read_only(value: Any) -> Any:
    """A view that cannot be written through; the caller's own array stays as it is."""
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    elif sp.issparse(value):
        parts = tuple(_read_only(part) for part in (value.data, value.indices, value.indptr))
        value = sp.csr_array(parts, shape=value.shape)
    return value


def _count_nodes(pairs: np.ndarray, num_nodes: int | None, fields: dict[str, Any]) -> int:
    if num_nodes is not None:
        if not isinstance(num_nodes, (int, np.integer)) or num_nodes < 0:
            raise InputError("num_nodes", "an integer from 0", repr(num_nodes), "Count the nodes.")
        return int(num_nodes)
    for name in ("features", "labels", "node_ids", "graph_ids", "split"):
        value = fields.get(name)
        if value is not None:
            return value.shape[0] if hasattr(value, "shape") else len(value)
    largest = int(pairs.max(initial=-1))
    if largest >= max(_SURELY_POSITIONS, 100 * pairs.size):
        raise InputError(
            "edges",
            "node positions from 0",
            f"{largest} in a list of {len(pairs):,} edges",
            "Ids of another kind go in as strings or by Graph.from_pandas; or give num_nodes.",
        )
    return largest + 1
