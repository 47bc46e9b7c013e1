"""Random graphs of any size."""

import numpy as np

from cade_tf.graph.graph import Graph


def random_graph(nodes: int, edges: int, width: int, seed: int = 0) -> Graph:
    """A graph whose edges join any two nodes with the same chance.

    Args:
        nodes: Number of nodes.
        edges: Number of edges; the few that are drawn twice or join a node to itself are dropped.
        width: Normal features of a node.
        seed: Seed.

    Example:

    >>> random_graph(100, 300, 8).num_features
    8
    """
    rng = np.random.default_rng(seed)
    return Graph.from_edges(
        rng.integers(nodes, size=(edges, 2)),
        num_nodes=nodes,
        features=rng.standard_normal((nodes, width), np.float32),
        name=f"generated-{nodes}",
    )
