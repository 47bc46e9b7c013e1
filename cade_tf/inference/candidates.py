"""Candidates of nodes by sampled neighbourhoods: Algorithm 3 for whoever asks."""

import tensorflow as tf

from cade_tf.layers.sparse_ops import gather_rows
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.sampling.batch import every_sampling
from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.sampling.neighborhood import distinct_instances
from cade_tf.sampling.trees import draw_trees


def sampled_candidates(
    model: DualEncoder, graph: GraphTables, nodes: tf.Tensor, key: tf.Tensor
) -> tf.Tensor:
    """Samples neighbourhoods and encodes nodes.

    Args:
        model: A trained model.
        graph: Tables of the graph.
        nodes: Integers, any shape, repetitions welcome.
        key: Key of the neighbour stream; equal keys give equal draws.

    Returns:
        The shape of `nodes`, then `[K or 1, dim]`.
    """
    shape = model.tree_shape
    roots, samplings, position = distinct_instances(
        *every_sampling(nodes, shape.samplings), graph.num_nodes
    )
    encoded = model(draw_trees(graph, roots, samplings, shape, key))
    width = max(shape.samplings, model.parameter_sets)
    flat = gather_rows(encoded, position)
    return tf.reshape(flat, tf.concat([tf.shape(nodes), [width, model.dim]], 0))
