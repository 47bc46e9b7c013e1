"""Numbers that tell whether a run learns or collapses."""

import logging
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from cade_tf.losses.affinity_loss import AffinityLoss
from cade_tf.models.dual_encoder import PairScores
from cade_tf.sampling.batch import PairBatch

STEP_METRICS = (
    "loss",
    "positive_loss",
    "negative_loss",
    "positive_affinity",
    "negative_affinity",
    "mrr",
    "mean_cosine",
)

_log = logging.getLogger(__name__)


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


def loss_terms(
    loss: keras.losses.Loss, scores: PairScores, batch: PairBatch, count: tf.Tensor | None = None
) -> LossTerms:
    """The loss of a batch.

    Args:
        loss: A loss of affinities; one that does not know its parts counts as positive.
        scores: Affinities of the batch.
        batch: The batch.
        count: Valid pairs of the whole step, where this batch is a replica's part of it: the
            losses of all parts then add up to that of the step.
    """
    if isinstance(loss, AffinityLoss):
        if loss.contrasts_batch:
            scores = scores.against_batch(batch)
        pulls, pushes = loss.parts(scores.labels, scores.affinities)
    else:
        pulls = tf.cast(loss.call(scores.labels, scores.affinities), tf.float32)
        pushes = tf.zeros_like(pulls)
    positive, negative = (masked_mean(part, batch.valid, count) for part in (pulls, pushes))
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


def step_metrics(
    scores: PairScores,
    terms: LossTerms,
    valid: tf.Tensor,
    *,
    count: tf.Tensor | None = None,
    replicas: int = 1,
) -> tf.Tensor:
    """The numbers named by `STEP_METRICS`, float32 [7].

    Args:
        scores: Affinities of the batch.
        terms: Its loss.
        valid: bool [pairs]; pairs that count.
        count: Valid pairs of the whole step, where this batch is a replica's part of it.
        replicas: Parts of the step; the numbers of all parts add up to those of the step, except
            that the mean cosine is that within the parts.
    """
    directions = tf.math.l2_normalize(tf.cast(scores.dual.nodes, tf.float32), axis=-1)
    affinities = tf.cast(scores.affinities, tf.float32)
    values = (
        terms.total,
        terms.positive,
        terms.negative,
        masked_mean(affinities[:, 0], valid, count),
        masked_mean(tf.reduce_mean(affinities[:, 1:], axis=1), valid, count),
        masked_mean(reciprocal_ranks(scores), valid, count),
        _mean_cosine(directions) / replicas,
    )
    return tf.stack(values)


def named(values: np.ndarray) -> dict[str, float]:
    """Numbers by the names of `STEP_METRICS`."""
    return dict(zip(STEP_METRICS, map(float, values), strict=True))


def brief(values: np.ndarray) -> str:
    """What a progress bar says of the numbers named by `STEP_METRICS`."""
    found = named(values)
    return f"loss {found['loss']:.3f}  MRR {found['mrr']:.3f}"


def reciprocal_ranks(scores: PairScores) -> tf.Tensor:
    """One over the place of each positive affinity among the negative ones, float32 [pairs]."""
    # A tie counts against the positive: a model that gives all the same score is not perfect.
    above = tf.cast(scores.affinities[:, 1:] >= scores.affinities[:, :1], tf.float32)
    return 1.0 / (1.0 + tf.reduce_sum(above, axis=1))


def _mean_cosine(directions: tf.Tensor) -> tf.Tensor:
    """Mean cosine of all pairs of different rows, in time linear in the rows."""
    count = tf.cast(tf.shape(directions)[0], tf.float32)
    total = tf.reduce_sum(tf.square(tf.reduce_sum(directions, axis=0)))
    own = tf.reduce_sum(tf.square(directions))
    return tf.math.divide_no_nan(total - own, count * (count - 1))


def rank_me(embeddings: np.ndarray) -> float:
    """RankMe: the effective number of dimensions, exp of the entropy of singular values."""
    singular = np.linalg.svd(np.asarray(embeddings, np.float64), compute_uv=False)
    total = singular.sum()
    if not total > 0:
        return 0.0
    shares = singular / total
    shares = shares[shares > 0]
    return float(np.exp(-(shares * np.log(shares)).sum()))


def collapse_warning(metrics: dict[str, float]) -> str | None:
    """What is wrong where a run has fallen into a trivial solution, else None.

    Two are known: all embeddings point the same way; or, in CADE-MA, every z_v points against
    every partner, so that positive and negative affinities are equally low.
    """
    if metrics["mean_cosine"] > 0.98:
        return f"all embeddings point one way (mean cosine {metrics['mean_cosine']:.3f})"
    gap = metrics["positive_affinity"] - metrics["negative_affinity"]
    if metrics["negative_affinity"] < -0.5 and gap < 0.05:
        return (
            "positive and negative affinities are both low "
            f"({metrics['positive_affinity']:.2f} and {metrics['negative_affinity']:.2f}); "
            "lower the weight of negatives"
        )
    return None


def equal_embeddings(embeddings: np.ndarray) -> str | None:
    """What is wrong where all nodes have got the same vector, also said in the log; else None.

    Args:
        embeddings: [nodes, dim].
    """
    if len(embeddings) < 2:
        return None
    largest = float(np.abs(embeddings[0]).max(initial=0.0))
    # Of most graphs a few nodes say enough.
    for rows in (embeddings[:1000], embeddings):
        if not np.allclose(rows, embeddings[0], rtol=0, atol=1e-5 * largest):
            return None
    warning = "all embeddings are equal: neither features nor edges tell nodes apart"
    _log.warning("The run has collapsed: %s.", warning)
    return warning
