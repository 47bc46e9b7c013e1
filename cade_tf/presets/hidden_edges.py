"""Edges hidden from a training graph: what tells them tells something about the graph."""

import dataclasses
from typing import Self

import numpy as np

from cade_tf.errors import InputError
from cade_tf.graph.graph import Graph
from cade_tf.graph.link_splits import hidden_edges

HIDDEN = 0.1
"""Share of the edges that is hidden."""

LEAST_EDGES = 100
"""Fewer hidden edges than this tell nothing for certain."""

MOST_NODES = 20_000
"""Of a larger graph a part of this size is looked at, nodes that are near each other."""


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class HiddenEdges:
    """A graph without some of its edges.

    Args:
        visible: What is left of the graph.
        edges: The hidden edges, int64 [pairs, 2].
        non_edges: As many pairs of nodes without an edge.

    Example:

    >>> ring = Graph.from_edges([[i, (i + step) % 600] for i in range(600) for step in (1, 2)])
    >>> found = HiddenEdges.of(ring, seed=0)
    >>> len(found.edges), found.visible.num_edges
    (120, 1080)
    """

    visible: Graph
    edges: np.ndarray
    non_edges: np.ndarray

    @classmethod
    def of(cls, graph: Graph, seed: int) -> Self | None:
        """Hides edges; None where a graph is too small or too dense for it.

        Args:
            graph: The training graph; of a large one, a part.
            seed: Seed of all choices.
        """
        part = graph.subgraph(near_each_other(graph, MOST_NODES, seed))
        try:
            links = hidden_edges(part, HIDDEN, 0.0, seed, train_non_edges=False)
        except InputError:
            return None
        if len(links.test_edges) < LEAST_EDGES:
            return None
        return cls(
            visible=links.input_graph(part),
            edges=links.test_edges,
            non_edges=links.test_non_edges,
        )


def near_each_other(graph: Graph, count: int, seed: int) -> np.ndarray:
    """Nodes around a random one, the nearest first; around others where a component ends.

    Args:
        graph: The graph.
        count: How many, at most.
        seed: Seed of the choice.

    Returns:
        Positions, ascending.

    Example:

    >>> path = Graph.from_edges([[i, i + 1] for i in range(9)])
    >>> bool((np.diff(near_each_other(path, 4, seed=0)) == 1).all())
    True
    """
    if graph.num_nodes <= count:
        return np.arange(graph.num_nodes)
    generator = np.random.default_rng(seed)
    found = np.zeros(graph.num_nodes, bool)
    missing, starts, frontier = count, 1, np.zeros(0, np.int64)
    while missing:
        if not len(frontier):
            # More at a time: there may be many small components.
            frontier = generator.permutation(np.flatnonzero(~found))[:starts]
            starts *= 2
        frontier = generator.permutation(frontier)[:missing]
        found[frontier] = True
        missing -= len(frontier)
        neighbors = np.unique(graph.adjacency()[frontier].indices)
        frontier = neighbors[~found[neighbors]]
    return np.flatnonzero(found)
