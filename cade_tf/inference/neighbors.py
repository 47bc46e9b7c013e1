"""The nearest nodes by cosine: exact, block by block; by faiss where there are very many.

scikit-learn's neighbours want all embeddings in memory; these are read where they lie.
"""

from typing import Protocol

import numpy as np

from cade_tf.display import short
from cade_tf.errors import InputError, require_module
from cade_tf.graph.graph import Graph
from cade_tf.graph.preparation import positions_of
from cade_tf.inference.finite import require_rows

BLOCK = 65_536
METHODS = ("exact", "faiss")


class Search(Protocol):
    """Finds the rows most similar to some vectors."""

    def __call__(self, queries: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows [queries, top] and their cosines, the most similar first."""


def nearest(
    embeddings: np.ndarray, rows: np.ndarray, top: int = 10, *, method: str = "exact"
) -> tuple[np.ndarray, np.ndarray]:
    """The nodes nearest to some nodes, themselves excluded.

    Args:
        embeddings: [nodes, dim], in memory or memory-mapped: only a block is held at a time.
        rows: int [n], positions of the nodes asked for.
        top: Nodes returned for each; fewer where the graph has no more.
        method: exact, or faiss (an approximate index that is built first, for many questions to
            a very large graph).

    Returns:
        Positions int64 [n, top] and cosines float32 [n, top], the nearest first. Equally near
        nodes come in the order of their positions.

    Raises:
        InputError: An unknown method, a position out of range, or faiss is missing.

    Example:

    >>> nearest(np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]), np.array([0]), 1)[0]
    array([[2]])
    """
    rows = np.asarray(rows, np.int64)
    if method not in METHODS:
        raise InputError("method", "one of " + ", ".join(METHODS), method, "Choose one.")
    if top < 1:
        raise InputError("top", "at least 1", top, "Raise it.")
    if len(rows) and (rows.min() < 0 or rows.max() >= len(embeddings)):
        raise InputError(
            "rows", f"positions below {len(embeddings)}", rows.max(), "Use positions, not ids."
        )
    top = min(top, len(embeddings) - 1)
    search: Search = ExactSearch(embeddings) if method == "exact" else FaissSearch(embeddings)
    found, cosines = search(_unit(embeddings[rows]), top + 1)
    # A node is its own nearest, unless others are equal to it: whatever the place, it leaves.
    others = found != rows[:, None]
    others &= np.cumsum(others, axis=1) <= top
    return found[others].reshape(len(rows), top), cosines[others].reshape(len(rows), top)


def neighbors(
    graph: Graph, embeddings: np.ndarray, node: object, top: int = 10, *, method: str = "exact"
) -> tuple[np.ndarray, np.ndarray]:
    """The nodes whose embeddings are nearest to that of a node, by their ids.

    For the neighbours that edges make, see `Graph.neighbors`.

    Args:
        graph: The graph, for the ids of its nodes.
        embeddings: [nodes, dim], rows in the order of the graph.
        node: Id of the node.
        top: Nodes returned; fewer where the graph has no more.
        method: exact or faiss; see `nearest`.

    Returns:
        Ids [top] and cosines float32 [top], the nearest first.

    Raises:
        InputError: An unknown id, or embeddings of another graph.

    Example:

    >>> graph = Graph.from_edges([["ann", "bob"]], node_ids=["ann", "bob", "eve"])
    >>> neighbors(graph, np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]]), "ann", 1)[0]
    array(['eve'], dtype='<U3')
    """
    embeddings = require_rows(embeddings, graph)
    if np.ndim(node):  # type: ignore[arg-type]
        raise InputError("node", "the id of one node", short(node), "Ask for one at a time.")
    rows = positions_of(graph, [node])
    found, cosines = nearest(embeddings, rows, top, method=method)
    return graph.ids[found[0]], cosines[0]


class ExactSearch:
    """All cosines, a block of nodes at a time.

    Args:
        embeddings: [nodes, dim].

    Example:

    >>> ExactSearch(np.eye(3, dtype=np.float32))(np.array([[0.0, 1.0, 0.0]]), 1)[0].tolist()
    [[1]]
    """

    def __init__(self, embeddings: np.ndarray) -> None:
        self.embeddings = embeddings

    def __call__(self, queries: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        """The best of all blocks."""
        rows = np.zeros((len(queries), 0), np.int64)
        cosines = np.zeros((len(queries), 0), np.float32)
        for first in range(0, len(self.embeddings), BLOCK):
            block = _unit(self.embeddings[first : first + BLOCK])
            here = np.broadcast_to(np.arange(first, first + len(block)), (len(queries), len(block)))
            rows = np.concatenate([rows, here], axis=1)
            cosines = np.concatenate([cosines, queries @ block.T], axis=1)
            best = _best(cosines, top)
            rows = np.take_along_axis(rows, best, axis=1)
            cosines = np.take_along_axis(cosines, best, axis=1)
        return rows, cosines


def _best(values: np.ndarray, top: int) -> np.ndarray:
    """Columns of the largest values of each row, in falling order, earlier columns first."""
    if values.shape[1] > 4 * top:
        # The smallest value among the best decides; everything equal to it stays in the race.
        limit = -np.partition(-values, top - 1, axis=1)[:, top - 1 : top]
        values = np.where(values >= limit, values, -np.inf)
    return np.argsort(-values, axis=1, kind="stable")[:, :top]


class FaissSearch:
    """An inverted-file index of faiss over unit vectors.

    Args:
        embeddings: [nodes, dim].
        probed: Share of the lists that a question looks into.
    """

    def __init__(self, embeddings: np.ndarray, probed: float = 0.1) -> None:
        faiss = require_module("faiss", "method")
        dim = embeddings.shape[1]
        lists = max(int(len(embeddings) ** 0.5), 1)
        self.index = faiss.IndexIVFFlat(
            faiss.IndexFlatIP(dim), dim, lists, faiss.METRIC_INNER_PRODUCT
        )
        # The training of the lists reports a small sample by a warning on standard error.
        self.index.cp.min_points_per_centroid = 1
        self.index.train(_unit(embeddings[:: max(len(embeddings) // (64 * lists), 1)]))
        for first in range(0, len(embeddings), BLOCK):
            self.index.add(_unit(embeddings[first : first + BLOCK]))
        self.index.nprobe = max(int(np.ceil(probed * lists)), 8)

    def __call__(self, queries: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        """What the index finds; where its lists hold too few, all lists are searched."""
        cosines, rows = self.index.search(queries, top)
        if (rows < 0).any():
            self.index.nprobe = self.index.nlist
            cosines, rows = self.index.search(queries, top)
        return rows, cosines


def _unit(vectors: np.ndarray) -> np.ndarray:
    vectors = np.asarray(vectors, np.float32)
    lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
    return np.ascontiguousarray(vectors / np.where(lengths == 0, 1, lengths))
