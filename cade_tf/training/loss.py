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
    scores: PairScores,
    valid: tf.Tensor,
    *,
    negative_weight: float,
    temperature: float,
    count: tf.Tensor | None = None,
) -> LossTerms:
    """Loss of a batch.

    Args:
        scores: Affinities of the batch.
        valid: bool [pairs]; pairs that count.
        negative_weight: Factor before the expectation over negatives; the paper's is Q.
        temperature: Affinities are divided by this.
        count: Valid pairs of the whole step, where this batch is a replica's part of it: the
            losses of all parts then add up to that of the step.
    """
    positive = tf.nn.softplus(-tf.cast(scores.positive, tf.float32) / temperature)
    expectation = tf.reduce_mean(
        tf.nn.softplus(tf.cast(scores.negative, tf.float32) / temperature), axis=1
    )
    positive = masked_mean(positive, valid, count)
    negative = negative_weight * masked_mean(expectation, valid, count)
    return LossTerms(positive + negative, positive, negative)


def masked_mean(values: tf.Tensor, valid: tf.Tensor, count: tf.Tensor | None = None) -> tf.Tensor:
    """Mean of the valid entries; 0 where there is none.

    Args:
        values: Numbers.
        valid: bool, the shape of `values`.
        count: What the sum is divided by; the number of valid entries by default.
    """
    weights = tf.cast(valid, values.dtype)
    if count is None:
        count = tf.reduce_sum(weights)
    return tf.math.divide_no_nan(tf.reduce_sum(values * weights), tf.cast(count, values.dtype))
