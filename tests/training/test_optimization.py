"""Clipping and the bias's own learning rate do what their options say."""

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.training.gradients import Gradients, clip
from tests.training.test_devices import make_step


def gradients():
    return Gradients([tf.constant([3.0])], tf.constant([0]), tf.constant([[4.0]]))


def test_clipping_by_norm_scales_all_gradients_alike_and_only_when_too_long():
    scaled = clip(gradients(), tf.constant(5.0), clip_value=0.0, clip_norm=1.0)
    np.testing.assert_allclose(scaled.dense[0], [0.6], rtol=1e-6)
    np.testing.assert_allclose(scaled.values, [[0.8]], rtol=1e-6)
    same = clip(gradients(), tf.constant(5.0), clip_value=0.0, clip_norm=10.0)
    np.testing.assert_array_equal(same.values, [[4.0]])


def test_clipping_by_value_comes_after_clipping_by_norm():
    clipped = clip(gradients(), tf.constant(5.0), clip_value=0.7, clip_norm=1.0)
    np.testing.assert_allclose(clipped.dense[0], [0.6], rtol=1e-6)
    np.testing.assert_allclose(clipped.values, [[0.7]], rtol=1e-6)


def test_the_bias_has_a_learning_rate_of_its_own():
    whole, part = make_step(), make_step(bias_learning_rate=0.5)
    for step in (whole, part):
        step.run(tf.constant(1))
    tables = [step.model.bias.table.numpy() for step in (whole, part)]
    assert np.abs(tables[0]).max() > 0
    np.testing.assert_allclose(tables[1], 0.5 * tables[0], rtol=1e-5, atol=1e-9)
    kernels = [step.dense_weights[0].numpy() for step in (whole, part)]
    np.testing.assert_array_equal(*kernels)


def test_a_step_reports_the_length_of_its_gradients_and_its_rate():
    step = make_step(schedule="cosine", steps=2, clip_norm=1e-3)
    rate = float(step.learning_rate())
    step.run(tf.constant(1))
    assert step.gradient_norm.numpy() > 1e-3
    assert float(step.learning_rate()) == pytest.approx(rate / 2)


def test_a_gradient_that_is_not_finite_changes_nothing_and_is_named():
    step = make_step()
    step.run(tf.constant(2))
    weight = step.dense_weights[0]
    weight.assign(tf.fill(weight.shape, np.float32(np.nan)))
    before = [w.numpy() for w in step.dense_weights[1:]]
    step.run(tf.constant(5))
    assert step.step.numpy() == 2
    assert step.fault() == "positive_loss"
    for old, new in zip(before, step.dense_weights[1:], strict=True):
        np.testing.assert_array_equal(old, new.numpy())
