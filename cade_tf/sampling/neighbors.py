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
    starts, degrees = spans[:, :1], spans[:, 1:]
    if graph.edge_chances is None:
        share = random.uniform(keys, count) * tf.cast(degrees, tf.float32)
        # Rounding may reach the degree itself.
        edge = starts + tf.minimum(tf.cast(share, degrees.dtype), degrees - 1)
    else:
        target = tf.cast(nodes, tf.float64)[:, None] + random.fine_uniform(keys, count)
        edge = graph.edge_chances.search(target)
        # In this order: an isolated node after all others must not end beyond the last edge.
        edge = tf.minimum(tf.maximum(edge, starts), starts + degrees - 1)
    drawn = tf.cast(graph.neighbors.lookup(tf.maximum(edge, 0)), nodes.dtype)
    return tf.where(degrees > 0, drawn, nodes[:, None])
