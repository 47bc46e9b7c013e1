"""Whether the nodes of a graph without ids of its own are those that training knew.

Ids that nobody gave are positions. Node 0 of another graph is another node, though both are called
0; the same graph, or one that it grew into, has the same nodes under the same positions. What
nodes have apart from their ids distinguishes these cases: features or, without any, edges.
"""

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Self

import numpy as np

from cade_tf.graph.graph import Features, Graph

SAMPLED_EDGES = 1024
"""Training edges that are remembered where features tell nothing."""

_ROWS = 4096


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class NodeMarks:
    """What identifies the nodes of a training graph when their ids are only positions.

    Args:
        given_ids: Whether the ids of the training graph were given, and mean the same elsewhere.
        row_hashes: uint64 [nodes], of the features of each node; None for a graph without.
        edges: int64 [n, 2], some edges by positions; None where the features suffice.

    Example:

    >>> graph = Graph.from_edges([[0, 1], [1, 2]], features=np.eye(3))
    >>> marks = NodeMarks.of(graph)
    >>> marks.recognise(graph, np.arange(3))
    True
    >>> other = Graph.from_edges([[0, 1], [1, 2]], features=np.ones((3, 3)))
    >>> marks.recognise(other, np.arange(3))
    False
    """

    given_ids: bool
    row_hashes: np.ndarray | None = None
    edges: np.ndarray | None = None

    @classmethod
    def of(cls, graph: Graph) -> Self:
        """Marks of a training graph."""
        parts = None if graph.features is None else [graph.features]
        degrees, neighbors = graph.degrees, graph.indices
        return cls.of_parts(graph.has_given_ids, parts, degrees, neighbors)

    @classmethod
    def of_parts(
        cls,
        given_ids: bool,
        features: Iterable[Features] | None,
        degrees: np.ndarray,
        neighbors: np.ndarray,
    ) -> Self:
        """Marks of a graph that is read part by part.

        Args:
            given_ids: Whether its ids were given.
            features: Parts of the features; None for a graph without.
            degrees: [n], degrees of the first nodes, or of all.
            neighbors: Their neighbours, one node after the other.
        """
        hashes = None if features is None else np.concatenate([row_hashes(f) for f in features])
        edges = None
        if hashes is None or (hashes == hashes[:1]).all():
            rows = np.repeat(np.arange(len(degrees)), degrees)
            chosen = np.unique(np.linspace(0, max(len(rows) - 1, 0), SAMPLED_EDGES).astype(int))
            chosen = chosen[: len(rows)]
            edges = np.stack([rows[chosen], np.asarray(neighbors)[chosen]], axis=1).astype(np.int64)
        return cls(given_ids=given_ids, row_hashes=hashes, edges=edges)

    def recognise(self, graph: Graph, rows: np.ndarray) -> bool:
        """Whether nodes of a graph are the training nodes whose positions they have.

        Args:
            graph: The graph.
            rows: [nodes], position in training that each node may have had, -1 for none.
        """
        if self.row_hashes is not None and not self._same_features(graph, rows):
            return False
        return self.edges is None or self._has_edges(graph, rows)

    def _same_features(self, graph: Graph, rows: np.ndarray) -> bool:
        nodes = np.flatnonzero(rows >= 0)
        if graph.features is None or self.row_hashes is None:
            return False
        return np.array_equal(row_hashes(graph.features[nodes]), self.row_hashes[rows[nodes]])

    def _has_edges(self, graph: Graph, rows: np.ndarray) -> bool:
        """Whether the edges of training are there, as far as both of their ends are."""
        if self.edges is None or not len(self.edges):
            return self.row_hashes is not None
        here = {int(row): node for node, row in enumerate(rows) if row >= 0}
        ends = [(here[v], here[u]) for v, u in self.edges.tolist() if v in here and u in here]
        return bool(ends) and all(u in graph.neighbors(v) for v, u in ends)

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything as named arrays."""
        members = {"given_ids": np.asarray(self.given_ids)}
        if self.row_hashes is not None:
            members["row_hashes"] = self.row_hashes
        if self.edges is not None:
            members["edges"] = self.edges
        return members

    @classmethod
    def from_arrays(cls, members: Mapping[str, np.ndarray], nodes: int) -> Self:
        """What `to_arrays` described.

        Raises:
            ValueError: An array has not the shape or the values it must have.
        """
        hashes, edges = members.get("row_hashes"), members.get("edges")
        if hashes is not None and (hashes.shape != (nodes,) or hashes.dtype != np.uint64):
            raise ValueError(f"{hashes.dtype} {hashes.shape} for hashes of {nodes} nodes")
        if edges is not None:
            if edges.ndim != 2 or edges.shape[1] != 2 or edges.dtype.kind not in "iu":
                raise ValueError(f"{edges.dtype} {edges.shape} for edges")
            if edges.size and not (edges.min() >= 0 and edges.max() < nodes):
                raise ValueError(f"edges between other than {nodes} nodes")
        return cls(given_ids=bool(members["given_ids"]), row_hashes=hashes, edges=edges)


def row_hashes(features: Features) -> np.ndarray:
    """A hash of each row, uint64, the same for dense and for sparse features.

    A zero adds nothing, wherever it stands.
    """
    count, width = features.shape
    factors = _mixed(np.arange(1, width + 1, dtype=np.uint64)) | np.uint64(1)
    if not isinstance(features, np.ndarray):
        terms = _bits(features.data) * factors[features.indices]
        sums = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
        found: np.ndarray = sums[features.indptr[1:]] - sums[features.indptr[:-1]]
        return found
    found = np.zeros(count, np.uint64)
    for first in range(0, count, _ROWS):
        block = np.asarray(features[first : first + _ROWS])
        found[first : first + _ROWS] = (_bits(block) * factors).sum(axis=1, dtype=np.uint64)
    return found


def _bits(values: np.ndarray) -> np.ndarray:
    """Bits of numbers, mixed; those of both zeros are 0."""
    plain = np.asarray(values, np.float32) + np.float32(0)
    return _mixed(np.ascontiguousarray(plain).view(np.uint32).astype(np.uint64))


def _mixed(values: np.ndarray) -> np.ndarray:
    """Numbers spread over 64 bits; 0 stays 0."""
    spread = values * np.uint64(0x9E3779B97F4A7C15)
    return (spread ^ (spread >> np.uint64(29))) * np.uint64(0xBF58476D1CE4E5B9)
