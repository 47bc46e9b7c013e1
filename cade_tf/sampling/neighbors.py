"""Uniform (or edge-weighted) neighbour draws with replacement: the sampler S of Algorithm 3."""

import tensorflow as tf

from cade_tf.sampling import random
from cade_tf.sampling.graph_tables import GraphTables


def draw_neighbors(graph: GraphTables, nodes: tf.Tensor, keys: tf.Tensor, count: int) -> tf.Tensor:
    """Draws neighbours with replacement; an isolated node draws itself.

    Args:
        graph: Tables of the graph.
        nodes: Integers [n].
        keys: uint32 [n]; equal keys of equal nodes give equal draws.
        count: Draws a node.

    Returns:
        Node ids [n, count], of the type of `nodes`.
    """
    spans = graph.spans.lookup(nodes)
    edge = spans[:, :1] + draw_places(graph, nodes, spans, keys, count)
    drawn = tf.cast(graph.neighbors.lookup(tf.maximum(edge, 0)), nodes.dtype)
    return tf.where(spans[:, 1:] > 0, drawn, nodes[:, None])


def draw_places(
    graph: GraphTables, nodes: tf.Tensor, spans: tf.Tensor, keys: tf.Tensor, count: int
) -> tf.Tensor:
    """Which of its neighbours each node draws, [n, count], from 0; -1 for an isolated node.

    Args:
        graph: Tables of the graph.
        nodes: Integers [n].
        spans: Their rows of `graph.spans`.
        keys: uint32 [n].
        count: Draws per node.
    """
    starts, degrees = spans[:, :1], spans[:, 1:]
    if graph.edge_chances is None:
        share = random.uniform(keys, count) * tf.cast(degrees, tf.float32)
        place = tf.cast(share, degrees.dtype)
    else:
        target = tf.cast(nodes, tf.float64)[:, None] + random.fine_uniform(keys, count)
        place = tf.maximum(graph.edge_chances.search(target) - starts, 0)
    # Rounding may reach the degree itself.
    return tf.minimum(place, degrees - 1)
