"""The loss as a function of affinities; end to end it is tested with the models."""

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.layers.bi_attention import DualPair
from cade_tf.models.dual_encoder import PairScores
from cade_tf.training.loss import masked_mean, pair_loss, softmax_loss
from tests import oracle


def scores_of(positive, negative):
    return PairScores(tf.constant(positive), tf.constant(negative), None)


def test_an_untrained_model_has_the_loss_that_graphsage_reports():
    # 20 negatives with the paper's weight 20, all affinities zero: 21 ln 2.
    terms = pair_loss(
        scores_of([0.0] * 3, [[0.0] * 20] * 3),
        tf.fill([3], True),
        negative_weight=20.0,
        temperature=1.0,
    )
    np.testing.assert_allclose(terms.total, 21 * np.log(2), rtol=1e-6)
    np.testing.assert_allclose(terms.positive, np.log(2), rtol=1e-6)


@pytest.mark.parametrize("temperature", [1.0, 0.1])
def test_the_loss_equals_equation_1(temperature):
    rng = np.random.default_rng(0)
    z_v, z_p, z_n = (
        rng.normal(size=shape).astype(np.float32) for shape in ((6, 3), (6, 3), (4, 3))
    )
    valid = np.array([1, 0, 1, 1, 0, 1])
    terms = pair_loss(
        scores_of((z_v * z_p).sum(1), z_v @ z_n.T),
        tf.constant(valid > 0),
        negative_weight=2.5,
        temperature=temperature,
    )
    pairs = list(zip(z_v, z_p, strict=True))
    expected = oracle.loss_ms(pairs, z_n, 2.5, temperature, pair_weights=valid)
    np.testing.assert_allclose(terms.total, expected, rtol=1e-5)


def test_a_batch_without_valid_pairs_has_no_loss():
    terms = pair_loss(
        scores_of([1.0], [[1.0]]), tf.constant([False]), negative_weight=1.0, temperature=1.0
    )
    assert [float(term) for term in terms] == [0.0, 0.0, 0.0]


def test_extreme_affinities_leave_the_loss_finite():
    terms = pair_loss(
        scores_of([-1e4], [[1e4]]), tf.constant([True]), negative_weight=1.0, temperature=1.0
    )
    np.testing.assert_allclose(terms.total, 2e4)


def test_half_precision_affinities_are_summed_in_float32():
    half = PairScores(tf.ones([2], tf.float16), tf.ones([2, 3], tf.float16), None)
    terms = pair_loss(half, tf.fill([2], True), negative_weight=1.0, temperature=1.0)
    assert terms.total.dtype == tf.float32


def test_masked_mean():
    values, valid = tf.constant([1.0, 100.0, 3.0]), tf.constant([True, False, True])
    assert float(masked_mean(values, valid)) == 2.0


def softmax_by_hand(z_v, z_p, z_n, nodes, partners, valid, temperature):
    """Pair by pair: -log of the partner's share among the partner and all that count against it."""
    losses = []
    for i, (v, p) in enumerate(zip(nodes, partners, strict=True)):
        if not valid[i]:
            continue
        against = [z_v[i] @ n for n in z_n]
        own = {q for u, q in zip(nodes, partners, strict=True) if u == v}
        for j, q in enumerate(partners):
            stranger = q not in {v, p} and nodes[j] != v
            assert stranger or q in own | {v}, "the batch of this test holds no other case"
            if valid[j] and stranger:
                against.append(z_v[i] @ z_p[j])
        positive = np.exp(z_v[i] @ z_p[i] / temperature)
        losses.append(
            -np.log(positive / (positive + np.exp(np.array(against) / temperature).sum()))
        )
    return np.mean(losses)


@pytest.mark.parametrize("temperature", [1.0, 0.2])
def test_the_softmax_loss_contrasts_a_partner_with_negatives_and_other_partners(temperature):
    rng = np.random.default_rng(1)
    z_v, z_p, z_n = (
        rng.normal(size=shape).astype(np.float32) for shape in ((6, 3), (6, 3), (4, 3))
    )
    # Two pairs of one start, a partner that is a start too, a pair that does not count.
    nodes, partners = [0, 0, 1, 2, 3, 4], [5, 6, 7, 0, 3, 8]
    valid = np.array([1, 1, 1, 1, 0, 1]) > 0
    scores = PairScores(
        tf.constant((z_v * z_p).sum(1)),
        tf.constant(z_v @ z_n.T),
        DualPair(tf.constant(z_v), tf.constant(z_p), None),
    )
    terms = softmax_loss(
        scores,
        tf.constant(nodes, tf.int64),
        tf.constant(partners, tf.int64),
        tf.constant(valid),
        temperature=temperature,
    )
    expected = softmax_by_hand(z_v, z_p, z_n, nodes, partners, valid, temperature)
    np.testing.assert_allclose(terms.total, expected, rtol=1e-5)
    np.testing.assert_allclose(terms.positive + terms.negative, terms.total, rtol=1e-6)


def test_the_softmax_loss_has_finite_gradients_where_nobody_else_counts():
    z_v, z_p = tf.Variable([[1.0, 0.0]] * 2), tf.Variable([[0.0, 1.0]] * 2)
    ids = tf.constant([0, 0], tf.int64)
    with tf.GradientTape() as tape:
        scores = PairScores(
            tf.reduce_sum(z_v * z_p, 1), tf.matmul(z_v, z_p[:1], transpose_b=True),
            DualPair(z_v, z_p, None),
        )  # fmt: skip
        total = softmax_loss(scores, ids, ids + 1, tf.fill([2], True), temperature=0.5).total
    np.testing.assert_allclose(total, np.log(2), rtol=1e-6)
    for gradient in tape.gradient(total, [z_v, z_p]):
        assert np.isfinite(tf.convert_to_tensor(gradient)).all()
