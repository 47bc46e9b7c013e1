"""RowSparseAdam is Adam on the rows it is given, and nothing elsewhere."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from cade_tf.training.row_sparse_adam import RowSparseAdam
from tests import oracle

ROWS, WIDTH, RATE = 6, 3, 0.05


def table():
    return np.random.default_rng(0).normal(size=(ROWS, WIDTH)).astype(np.float32)


def batches(steps):
    """Rows, some of them repeated, and gradients of each step."""
    rng = np.random.default_rng(1)
    return [
        (rng.integers(4, size=5), rng.normal(size=(5, WIDTH)).astype(np.float32))
        for _ in range(steps)
    ]


@pytest.mark.parametrize("compiled", [False, True])
def test_steps_equal_the_oracle_repeated_rows_included(compiled):
    variable = tf.Variable(table())
    adam = RowSparseAdam(variable)

    def apply(rows, gradients, step):
        adam.apply(rows, gradients, learning_rate=RATE, step=step)

    if compiled:
        apply = tf.function(apply)
    truth = (table(), np.zeros((ROWS, WIDTH)), np.zeros((ROWS, WIDTH)))
    for step, (rows, gradients) in enumerate(batches(6), start=1):
        apply(tf.constant(rows), tf.constant(gradients), tf.constant(step, tf.int64))
        truth = oracle.row_sparse_adam_step(
            *truth, rows, gradients, lr=RATE, beta1=0.9, beta2=0.999, epsilon=1e-8, t=step
        )
        for mine, expected in zip((variable, adam.first, adam.second), truth, strict=True):
            np.testing.assert_allclose(mine, expected, rtol=1e-4, atol=1e-6)


def test_it_equals_keras_adam_where_every_row_is_touched():
    mine, theirs = tf.Variable(table()), keras.Variable(table())
    adam = RowSparseAdam(mine)
    optimizer = keras.optimizers.Adam(RATE, epsilon=1e-8)
    rng = np.random.default_rng(2)
    for step in range(1, 8):
        gradients = tf.constant(rng.normal(size=(ROWS, WIDTH)), tf.float32)
        order = tf.constant(rng.permutation(ROWS))
        adam.apply(order, tf.gather(gradients, order), learning_rate=RATE, step=step)
        optimizer.apply([gradients], [theirs])
        np.testing.assert_allclose(mine, theirs.numpy(), rtol=1e-4, atol=1e-6)


def test_untouched_rows_keep_every_bit_of_their_values_and_moments():
    variable = tf.Variable(table())
    adam = RowSparseAdam(variable)
    adam.apply(tf.range(ROWS), tf.ones([ROWS, WIDTH]), learning_rate=RATE, step=1)
    before = [v.numpy() for v in (variable, adam.first, adam.second)]
    for step in range(2, 10):
        adam.apply(tf.constant([1, 4]), tf.ones([2, WIDTH]), learning_rate=RATE, step=step)
    untouched = [0, 2, 3, 5]
    for old, now in zip(before, (variable, adam.first, adam.second), strict=True):
        np.testing.assert_array_equal(now.numpy()[untouched], old[untouched])
        assert (now.numpy()[[1, 4]] != old[[1, 4]]).all()


def test_gradients_are_clipped_after_those_of_a_row_are_added_up():
    clipped, plain = tf.Variable(table()), tf.Variable(table())
    rows = tf.constant([2, 2])
    RowSparseAdam(clipped, epsilon=1.0).apply(
        rows, tf.constant([[4.0, -4.0, 0.1]] * 2), learning_rate=RATE, step=1, clip_value=5.0
    )
    RowSparseAdam(plain, epsilon=1.0).apply(
        rows[:1], tf.constant([[5.0, -5.0, 0.2]]), learning_rate=RATE, step=1
    )
    np.testing.assert_allclose(clipped, plain, rtol=1e-6)


def test_no_rows_change_nothing():
    variable = tf.Variable(table())
    adam = RowSparseAdam(variable)
    adam.apply(tf.zeros([0], tf.int32), tf.zeros([0, WIDTH]), learning_rate=RATE, step=1)
    np.testing.assert_array_equal(variable, table())
