"""The loss as a function of affinities; end to end it is tested with the models."""

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.models.dual_encoder import PairScores
from cade_tf.training.loss import masked_mean, pair_loss
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
