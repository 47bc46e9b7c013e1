"""Which connected component a node is in, and nothing else.

The dot product of two nodes is 1 within a component and 0 between two. PPI is 24 graphs that are
not joined, so that this alone tells most of its non-edges from its edges.
"""

import numpy as np
import scipy.sparse as sp

from cade_tf.graph.graph import Graph


def embed(graph: Graph) -> sp.csr_array:
    """One column for each component, float32 [nodes, components].

    Args:
        graph: The graph that methods may see.

    Example:

    >>> embed(Graph.from_edges([[0, 1], [2, 3]])).toarray().argmax(axis=1).tolist()
    [0, 0, 1, 1]
    """
    found = graph.components()
    values = np.ones(graph.num_nodes, np.float32)
    shape = (graph.num_nodes, int(found.max(initial=0)) + 1)
    return sp.csr_array((values, (np.arange(graph.num_nodes), found)), shape=shape)
