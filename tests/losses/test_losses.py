"""The loss as a function of affinities; end to end it is tested with the models."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from cade_tf.layers.bi_attention import DualPair
from cade_tf.losses import PairLoss, SoftmaxLoss
from cade_tf.models.dual_encoder import PairScores
from cade_tf.sampling.batch import PairBatch
from cade_tf.training.metrics import loss_terms, masked_mean
from tests import engine, oracle


def affinities_of(positive, negative):
    return tf.concat([tf.constant(positive)[:, None], tf.constant(negative)], axis=1)


def scores_of(positive, negative):
    return PairScores(affinities_of(positive, negative), None)


def test_an_untrained_model_has_the_loss_that_graphsage_reports():
    # 20 negatives with the paper's weight 20, all affinities zero: 21 ln 2.
    terms = engine.pair_terms(scores_of([0.0] * 3, [[0.0] * 20] * 3), tf.fill([3], True), 20.0, 1.0)
    np.testing.assert_allclose(terms.total, 21 * np.log(2), rtol=1e-6)
    np.testing.assert_allclose(terms.positive, np.log(2), rtol=1e-6)


@pytest.mark.parametrize("temperature", [1.0, 0.1])
def test_the_loss_equals_equation_1(temperature):
    rng = np.random.default_rng(0)
    z_v, z_p, z_n = (
        rng.normal(size=shape).astype(np.float32) for shape in ((6, 3), (6, 3), (4, 3))
    )
    valid = np.array([1, 0, 1, 1, 0, 1])
    terms = engine.pair_terms(
        scores_of((z_v * z_p).sum(1), z_v @ z_n.T), tf.constant(valid > 0), 2.5, temperature
    )
    pairs = list(zip(z_v, z_p, strict=True))
    expected = oracle.loss_ms(pairs, z_n, 2.5, temperature, pair_weights=valid)
    np.testing.assert_allclose(terms.total, expected, rtol=1e-5)


def test_a_batch_without_valid_pairs_has_no_loss():
    terms = engine.pair_terms(scores_of([1.0], [[1.0]]), tf.constant([False]), 1.0, 1.0)
    assert [float(term) for term in terms] == [0.0, 0.0, 0.0]


def test_extreme_affinities_leave_the_loss_finite():
    terms = engine.pair_terms(scores_of([-1e4], [[1e4]]), tf.constant([True]), 1.0, 1.0)
    np.testing.assert_allclose(terms.total, 2e4)


def test_half_precision_affinities_are_summed_in_float32():
    half = PairScores(tf.ones([2, 4], tf.float16), None)
    terms = engine.pair_terms(half, tf.fill([2], True), 1.0, 1.0)
    assert terms.total.dtype == tf.float32


def test_masked_mean():
    values, valid = tf.constant([1.0, 100.0, 3.0]), tf.constant([True, False, True])
    assert float(masked_mean(values, valid)) == 2.0


def batch_of(nodes, partners, valid):
    ids = (tf.constant(values, tf.int64) for values in (nodes, partners))
    return PairBatch(*ids, tf.constant(valid), None, None, None, None)


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
        affinities_of((z_v * z_p).sum(1), z_v @ z_n.T),
        DualPair(tf.constant(z_v), tf.constant(z_p), None),
    )
    batch = batch_of(nodes, partners, valid)
    terms = loss_terms(SoftmaxLoss(temperature=temperature), scores, batch)
    expected = softmax_by_hand(z_v, z_p, z_n, nodes, partners, valid, temperature)
    np.testing.assert_allclose(terms.total, expected, rtol=1e-5)
    np.testing.assert_allclose(terms.positive + terms.negative, terms.total, rtol=1e-6)


def test_the_softmax_loss_has_finite_gradients_where_nobody_else_counts():
    z_v, z_p = tf.Variable([[1.0, 0.0]] * 2), tf.Variable([[0.0, 1.0]] * 2)
    with tf.GradientTape() as tape:
        positive = tf.reduce_sum(z_v * z_p, 1, keepdims=True)
        negative = tf.matmul(z_v, z_p[:1], transpose_b=True)
        scores = PairScores(tf.concat([positive, negative], 1), DualPair(z_v, z_p, None))
        batch = batch_of([0, 0], [1, 1], [True, True])
        total = loss_terms(SoftmaxLoss(temperature=0.5), scores, batch).total
    np.testing.assert_allclose(total, np.log(2), rtol=1e-6)
    for gradient in tape.gradient(total, [z_v, z_p]):
        assert np.isfinite(tf.convert_to_tensor(gradient)).all()


def test_a_partner_that_the_batch_repeats_is_no_negative_of_its_own():
    # Pairs 0 and 1 have different nodes and one partner: neither may push the other away.
    z_v, z_p = np.eye(2, 3, dtype=np.float32), np.ones((2, 3), np.float32)
    scores = PairScores(
        affinities_of((z_v * z_p).sum(1), np.zeros((2, 1), np.float32)),
        DualPair(tf.constant(z_v), tf.constant(z_p), None),
    )
    total = loss_terms(SoftmaxLoss(), scores, batch_of([0, 1], [7, 7], [True, True])).total
    np.testing.assert_allclose(total, np.log1p(np.exp(-1)), rtol=1e-6)


def test_as_a_keras_loss_it_is_the_mean_over_what_counts():
    labels, scores = [[1.0, 0.0], [1.0, 0.0]], [[2.0, -1.0], [50.0, 50.0]]
    for loss in (PairLoss(), PairLoss(3.0), SoftmaxLoss(temperature=0.5)):
        alone = loss(labels[:1], scores[:1])
        assert float(loss(labels, scores, sample_weight=[1.0, 0.0])) == pytest.approx(float(alone))


def test_without_a_weight_every_negative_counts_as_much_as_the_partner():
    labels, scores = [[1.0, 0.0, 0.0, 0.0]], [[0.3, 0.1, -0.2, 0.9]]
    assert float(PairLoss()(labels, scores)) == pytest.approx(float(PairLoss(3.0)(labels, scores)))


@pytest.mark.parametrize("loss", [PairLoss(2.0, temperature=0.3), SoftmaxLoss(temperature=0.2)])
def test_a_configuration_makes_the_same_loss_again(loss):
    again = keras.losses.deserialize(keras.losses.serialize(loss))
    assert type(again) is type(loss)
    assert again.get_config() == loss.get_config()
