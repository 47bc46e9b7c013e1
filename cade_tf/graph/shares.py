"""The random walk of a graph as a matrix."""

import numpy as np
import scipy.sparse as sp

from cade_tf.graph.graph import Graph


def neighbor_shares(graph: Graph) -> sp.csr_array:
    """Chance of each neighbour to be the next draw; an isolated node draws itself."""
    isolated = np.flatnonzero(graph.degrees == 0)
    ones = np.ones(len(isolated), np.float32)
    shape = (graph.num_nodes, graph.num_nodes)
    loops = sp.csr_array((ones, (isolated, isolated)), shape=shape)
    weights = sp.csr_array(graph.adjacency() + loops)
    totals = np.asarray(weights.sum(axis=1, dtype=np.float64)).ravel()
    data = weights.data / np.repeat(totals, np.diff(weights.indptr))
    return sp.csr_array((data.astype(np.float32), weights.indices, weights.indptr), shape=shape)
