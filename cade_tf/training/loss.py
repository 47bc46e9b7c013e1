"""The pair reconstruction loss with negative sampling (equations 1 and 2)."""

from typing import NamedTuple

import tensorflow as tf

from cade_tf.models.dual_encoder import PairScores


class LossTerms(NamedTuple):
    """The loss and its parts, means over the valid pairs.

    Attributes:
        total: What is minimised.
        positive: -log sigma(z_v . z_p).
        negative: The weighted term of the negatives.
    """

    total: tf.Tensor
    positive: tf.Tensor
    negative: tf.Tensor


def pair_loss(
    scores: PairScores, valid: tf.Tensor, *, negative_weight: float, temperature: float
) -> LossTerms:
    """Loss of a batch.

    Args:
        scores: Affinities of the batch.
        valid: bool [pairs]; pairs that count.
        negative_weight: Factor before the expectation over negatives; the paper's is Q.
        temperature: Affinities are divided by this.
    """
    positive = tf.nn.softplus(-tf.cast(scores.positive, tf.float32) / temperature)
    expectation = tf.reduce_mean(
        tf.nn.softplus(tf.cast(scores.negative, tf.float32) / temperature), axis=1
    )
    positive = masked_mean(positive, valid)
    negative = negative_weight * masked_mean(expectation, valid)
    return LossTerms(positive + negative, positive, negative)


def masked_mean(values: tf.Tensor, valid: tf.Tensor) -> tf.Tensor:
    """Mean of the valid entries; 0 where there is none."""
    weights = tf.cast(valid, values.dtype)
    return tf.math.divide_no_nan(tf.reduce_sum(values * weights), tf.reduce_sum(weights))
