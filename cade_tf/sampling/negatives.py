"""Negative nodes, drawn in proportion to degree^0.75."""

import tensorflow as tf

from cade_tf.sampling import random
from cade_tf.sampling.graph_tables import GraphTables


def draw_negatives(graph: GraphTables, keys: tf.Tensor, count: int) -> tf.Tensor:
    """Draws negatives; positives are not excluded, as in GraphSAGE.

    Args:
        graph: Tables of the graph.
        keys: uint32, any shape.
        count: Draws a key.

    Returns:
        int64 node ids, the shape of `keys` plus one axis.
    """
    rows = graph.negatives.search(random.fine_uniform(keys, count))
    return tf.minimum(rows, graph.num_nodes - 1)
