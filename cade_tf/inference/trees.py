"""Neighbourhoods that somebody else sampled, as explicit tensors of features."""

from collections.abc import Sequence

import tensorflow as tf

from cade_tf.layers.sagb import TreeInputs
from cade_tf.models.dual_encoder import DualEncoder


def encode_trees(
    model: DualEncoder, hops: Sequence[tf.Tensor], biases: Sequence[tf.Tensor] | None = None
) -> tf.Tensor:
    """Algorithm 3 on complete trees, each node of which has its own features.

    Args:
        model: A trained model.
        hops: Scaled features by distance from the root: `[n, width]`, then
            `[n, samplings, s_1, width]`, `[n, samplings, s_1, s_2, width]` and so on.
        biases: Global bias of all nodes but those of the last hop, with `dim` for `width`;
            None for nodes that training did not know.

    Returns:
        Candidates `[n, samplings x parameter sets, dim]`.
    """
    count, samplings = tf.shape(hops[1])[0], tf.shape(hops[1])[1]
    features = [tf.reshape(hop, [-1, hop.shape[-1]]) for hop in hops]
    sizes = [tf.shape(rows)[0] for rows in features]
    starts = tf.cumsum(tf.stack(sizes), exclusive=True)
    # The root stands once in the features and once for each sampling among the instances.
    of_root = tf.repeat(tf.range(count), samplings)
    self_index = tf.concat([of_root, tf.range(sizes[0], starts[len(hops) - 1])], 0)
    shift = tf.size(of_root) - sizes[0]
    children = [
        tf.reshape(tf.range(starts[hop], starts[hop] + sizes[hop]), [-1, hops[hop].shape[hop + 1]])
        for hop in range(1, len(hops))
    ]
    bias = None
    if biases is not None:
        rows = [tf.reshape(b, [-1, model.dim]) for b in biases]
        bias = tf.concat([tf.gather(rows[0], of_root), *rows[1:]], 0)
    encoded = model(
        TreeInputs(
            tf.concat(features, 0),
            self_index,
            tuple(children),
            tuple(index + shift for index in children[:-1]),
            bias,
        )
    )
    return tf.reshape(encoded, [count, samplings * model.parameter_sets, model.dim])
