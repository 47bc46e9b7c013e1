"""Graph2Gauss's training data: for each node one node of every hop, and one beyond them."""

import numpy as np
import scipy.sparse as sp

from cade_tf.graph.graph import Graph

# Draws for the node beyond all hops before a node is left out for this epoch.
ATTEMPTS = 50


class HopTriplets:
    """Draws triplets (anchor, nearer node, farther node) without a loop over nodes.

    A node beyond the hops is drawn from all nodes and drawn again where it is too near; nodes that
    find none within `ATTEMPTS` draws (those near almost everything) give no such triplet.

    Args:
        graph: Training graph.
        hops: K, the farthest hop that counts as near.
        seed: Seed of all draws.

    Example:

    >>> graph = Graph.from_edges([[0, 1], [1, 2], [2, 3]])
    >>> HopTriplets(graph, hops=1, seed=0).draw().shape[1]
    3
    """

    def __init__(self, graph: Graph, hops: int, seed: int) -> None:
        self._nodes = graph.num_nodes
        self._hops = _hop_matrices(graph, hops)
        self._rng = np.random.default_rng(seed)
        near = sp.csr_array(sum(self._hops[1:], self._hops[0]) + sp.eye_array(self._nodes))
        rows = np.repeat(np.arange(self._nodes), np.diff(near.indptr))
        self._near_keys = np.sort(rows * self._nodes + near.indices)

    def draw(self) -> np.ndarray:
        """A fresh int64 [triplets, 3]."""
        levels = [self._from_hop(hop) for hop in self._hops]
        levels.append(self._beyond())
        anchors = np.arange(self._nodes)
        triplets = []
        for near in range(len(levels) - 1):
            for far in range(near + 1, len(levels)):
                both = (levels[near] >= 0) & (levels[far] >= 0)
                triplets.append(
                    np.stack([anchors[both], levels[near][both], levels[far][both]], axis=1)
                )
        return np.concatenate(triplets)

    def _from_hop(self, hop: sp.csr_array) -> np.ndarray:
        """A random member of the hop for each node; -1 where it has none."""
        counts = np.diff(hop.indptr)
        drawn = np.full(self._nodes, -1, np.int64)
        some = counts > 0
        offset = (self._rng.random(some.sum()) * counts[some]).astype(np.int64)
        drawn[some] = hop.indices[hop.indptr[:-1][some] + offset]
        return drawn

    def _beyond(self) -> np.ndarray:
        drawn = np.full(self._nodes, -1, np.int64)
        waiting = np.arange(self._nodes)
        for _ in range(ATTEMPTS):
            candidates = self._rng.integers(self._nodes, size=len(waiting))
            keys = waiting * self._nodes + candidates
            place = np.searchsorted(self._near_keys, keys).clip(max=len(self._near_keys) - 1)
            far = self._near_keys[place] != keys
            drawn[waiting[far]] = candidates[far]
            waiting = waiting[~far]
            if not len(waiting):
                break
        return drawn


def _hop_matrices(graph: Graph, hops: int) -> list[sp.csr_array]:
    """0/1 matrices of the nodes at a distance of exactly 1, 2, ... `hops`."""
    step = sp.csr_array(graph.adjacency().astype(bool).astype(np.float32))
    nearer = sp.csr_array(sp.eye_array(graph.num_nodes, dtype=np.float32) + step)
    matrices = [step]
    for _ in range(1, hops):
        reached = sp.csr_array(nearer @ step)
        reached.data[:] = 1.0
        both = sp.csr_array(reached + nearer)
        both.data[:] = 1.0
        # What is reached now and was not before: in the union, but not in `nearer`.
        fresh = sp.csr_array(both - nearer)
        fresh.eliminate_zeros()
        matrices.append(fresh)
        nearer = both
    return matrices
