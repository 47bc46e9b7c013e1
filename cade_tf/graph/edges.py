"""From any list of edges to a simple undirected graph, as CSR arrays."""

import dataclasses
from typing import Any

import numpy as np
import scipy.sparse as sp


@dataclasses.dataclass(frozen=True)
class EdgeReport:
    """What was lost on the way from a list of edges to a simple undirected graph.

    An edge given once in each direction is no repetition.

    Args:
        self_loops: Edges from a node to itself, dropped.
        duplicates: Edges that had come before in the same direction, dropped.
        one_way: Edges that were given in one direction only, which is not kept.
    """

    self_loops: int = 0
    duplicates: int = 0
    one_way: int = 0

    def __str__(self) -> str:
        return f"{self.self_loops:,} self-loops and {self.duplicates:,} repeated edges dropped"

    @property
    def undirected(self) -> "EdgeReport":
        """The report of edges whose direction never had a meaning."""
        return dataclasses.replace(self, one_way=0)


NOTHING_DROPPED = EdgeReport()


def _repetitions(pairs: np.ndarray, nodes: int) -> int:
    """How many pairs have come before in the same direction."""
    key = pairs[:, 0] * nodes + pairs[:, 1]
    key.sort()
    return int((key[1:] == key[:-1]).sum())


def simple_csr(pairs: np.ndarray, nodes: int, weights: np.ndarray | None) -> dict[str, Any]:
    """Symmetrises, drops self-loops and repetitions.

    Args:
        pairs: int64 [edges, 2], all within the nodes.
        nodes: Number of nodes.
        weights: Positive weights of the pairs; of a repeated edge the largest counts.

    Returns:
        The fields `indptr`, `indices`, `edge_weights` and `report` of a Graph.
    """
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
    repeated = _repetitions(pairs[~loops], nodes)
    one_way = 2 * len(distinct) - (len(key) - repeated)
    return {
        "indptr": matrix.indptr,
        "indices": matrix.indices,
        "edge_weights": None if weights is None else matrix.data,
        "report": EdgeReport(int(loops.sum()), repeated, one_way),
    }
