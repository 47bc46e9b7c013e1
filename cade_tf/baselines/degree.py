"""The logarithm of the degree as the whole embedding: how much of a score is popularity?"""

import numpy as np

from cade_tf.graph.graph import Graph


def embed(graph: Graph) -> np.ndarray:
    """One number per node.

    Args:
        graph: Any graph.

    Returns:
        float32 [nodes, 1], log(1 + degree).

    Example:

    >>> embed(Graph.from_edges([[0, 1], [1, 2]])).shape
    (3, 1)
    """
    return np.log1p(graph.degrees.astype(np.float32))[:, None]
