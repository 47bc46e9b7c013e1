"""Adam is Keras' Adam on dense weights, and Adam on the rows it is given and nothing elsewhere."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from cade_tf.optimizers import Adam
from tests import oracle

ROWS, WIDTH, RATE = 6, 3, 0.05


def table():
    return np.random.default_rng(0).normal(size=(ROWS, WIDTH)).astype(np.float32)


def slices(rows, gradients):
    return tf.IndexedSlices(
        tf.constant(gradients, tf.float32), tf.constant(rows), tf.constant([ROWS, WIDTH])
    )


def state(adam, variable):
    """The table and its moments."""
    return [variable.numpy(), adam._momentums[0].numpy(), adam._velocities[0].numpy()]


def batches(steps):
    """Rows, some of them repeated, and gradients of each step."""
    rng = np.random.default_rng(1)
    return [
        (rng.integers(4, size=5), rng.normal(size=(5, WIDTH)).astype(np.float32))
        for _ in range(steps)
    ]


@pytest.mark.parametrize("compiled", [False, True])
def test_steps_on_rows_equal_the_oracle_repeated_rows_included(compiled):
    variable, adam = keras.Variable(table()), Adam(RATE)
    adam.build([variable])

    def apply(rows, gradients):
        adam.apply([tf.IndexedSlices(gradients, rows, tf.constant([ROWS, WIDTH]))], [variable])

    if compiled:
        apply = tf.function(apply)
    truth = (table(), np.zeros((ROWS, WIDTH)), np.zeros((ROWS, WIDTH)))
    for step, (rows, gradients) in enumerate(batches(6), start=1):
        apply(tf.constant(rows), tf.constant(gradients))
        truth = oracle.row_sparse_adam_step(
            *truth, rows, gradients, lr=RATE, beta1=0.9, beta2=0.999, epsilon=1e-8, t=step
        )
        for mine, expected in zip(state(adam, variable), truth, strict=True):
            np.testing.assert_allclose(mine, expected, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "rows"])
def test_it_equals_keras_adam_where_every_row_is_touched(sparse):
    mine, theirs = keras.Variable(table()), keras.Variable(table())
    adam, reference = Adam(RATE), keras.optimizers.Adam(RATE, epsilon=1e-8)
    rng = np.random.default_rng(2)
    for _ in range(7):
        gradients = rng.normal(size=(ROWS, WIDTH)).astype(np.float32)
        order = rng.permutation(ROWS)
        adam.apply([slices(order, gradients[order]) if sparse else tf.constant(gradients)], [mine])
        reference.apply([tf.constant(gradients)], [theirs])
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-4, atol=1e-6)


def test_untouched_rows_keep_every_bit_of_their_values_and_moments():
    variable, adam = keras.Variable(table()), Adam(RATE)
    adam.apply([slices(range(ROWS), np.ones((ROWS, WIDTH)))], [variable])
    before = state(adam, variable)
    for _ in range(8):
        adam.apply([slices([1, 4], np.ones((2, WIDTH)))], [variable])
    untouched = [0, 2, 3, 5]
    for old, now in zip(before, state(adam, variable), strict=True):
        np.testing.assert_array_equal(now[untouched], old[untouched])
        assert (now[[1, 4]] != old[[1, 4]]).all()


def test_no_rows_change_nothing():
    variable = keras.Variable(table())
    Adam(RATE).apply([slices(np.zeros(0, int), np.zeros((0, WIDTH)))], [variable])
    np.testing.assert_array_equal(variable.numpy(), table())


def test_weight_decay_takes_a_share_of_the_weights_times_the_rate():
    weight = keras.Variable([2.0])
    Adam(0.1, weight_decay=0.5).apply([tf.zeros([1])], [weight])
    np.testing.assert_allclose(weight.numpy(), [2.0 - 0.1 * 0.5 * 2.0])


def test_rows_have_a_weight_decay_and_a_learning_rate_of_their_own():
    rows = tf.IndexedSlices(tf.zeros([1, 1]), tf.constant([1]), tf.constant([2, 1]))
    decayed = keras.Variable([[2.0], [2.0]])
    Adam(0.1, row_weight_decay=0.5).apply([rows], [decayed])
    np.testing.assert_allclose(decayed.numpy(), [[2.0], [1.9]])
    changes = []
    for share in (1.0, 0.5):
        variable = keras.Variable(table())
        adam = Adam(RATE, row_learning_rate=share)
        adam.apply([slices([3], np.ones((1, WIDTH)))], [variable])
        changes.append(variable.numpy()[3] - table()[3])
    np.testing.assert_allclose(changes[1], 0.5 * changes[0], rtol=1e-4)


def test_a_schedule_of_keras_sets_the_rate_of_dense_weights_and_rows():
    schedule = keras.optimizers.schedules.PiecewiseConstantDecay([0], [0.1, 0.0])
    weight, variable = keras.Variable([1.0]), keras.Variable(table())
    adam = Adam(schedule)
    for expected in ((True, True), (False, False)):
        before = weight.numpy().copy(), variable.numpy().copy()
        adam.apply([tf.ones([1]), slices([0], np.ones((1, WIDTH)))], [weight, variable])
        moved = (weight.numpy() != before[0]).any(), (variable.numpy() != before[1]).any()
        assert moved == expected


def test_a_configuration_makes_the_same_optimiser_again():
    adam = Adam(0.02, row_learning_rate=0.5, row_weight_decay=0.1, weight_decay=0.3)
    again = keras.optimizers.deserialize(keras.optimizers.serialize(adam))
    assert type(again) is Adam
    assert again.get_config() == adam.get_config()
