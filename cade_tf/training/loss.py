"""The pair reconstruction loss with negative sampling (equations 1, 2), and a softmax instead."""

import math
from typing import NamedTuple

import tensorflow as tf

from cade_tf.models.dual_encoder import PairScores


class LossTerms(NamedTuple):
    """The loss and its parts, means over the valid pairs.

    Attributes:
        total: What is minimised.
        positive: What pulls a pair together.
        negative: What pushes a node away from the negatives.
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


def softmax_loss(
    scores: PairScores,
    nodes: tf.Tensor,
    partners: tf.Tensor,
    valid: tf.Tensor,
    *,
    temperature: float,
    count: tf.Tensor | None = None,
) -> LossTerms:
    """An extension, not the paper's: which of the batch's partners is mine (InfoNCE)?

    A node's own partner stands against the sampled negatives and against the partners of the
    other pairs. A partner that is also one of the node's own, or the node itself, does not count.

    Args:
        scores: Affinities and dual representations of the batch.
        nodes: int64 [pairs], v.
        partners: int64 [pairs], v_p.
        valid: bool [pairs]; pairs that count.
        temperature: Affinities are divided by this.
        count: See `pair_loss`.
    """
    of_nodes, of_partners = (
        tf.cast(v, tf.float32) for v in (scores.dual.nodes, scores.dual.partners)
    )
    others = tf.matmul(of_nodes, of_partners, transpose_b=True)
    candidate = valid[None, :] & (nodes[:, None] != nodes[None, :])
    candidate &= (partners[:, None] != partners[None, :]) & (nodes[:, None] != partners[None, :])
    others = tf.where(candidate, others, -math.inf)
    positive = tf.cast(scores.positive, tf.float32)
    negative = tf.cast(scores.negative, tf.float32)
    logits = tf.concat([positive[:, None], negative, others], axis=1) / temperature
    pulled = masked_mean(-positive / temperature, valid, count)
    pushed = masked_mean(tf.reduce_logsumexp(logits, axis=1), valid, count)
    return LossTerms(pulled + pushed, pulled, pushed)


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
