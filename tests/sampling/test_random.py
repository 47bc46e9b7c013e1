"""Random numbers are pure functions of what they are for, uniform and independent."""

import numpy as np
import pytest
import tensorflow as tf
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from cade_tf.sampling import random
from cade_tf.sampling.random import Stream

MANY = 20000


PERMUTE = tf.function(
    lambda index, size, seed: random.permute(index, size, random.make_key(seed, Stream.WALK_ORDER)),
    reduce_retracing=True,
)


def correlation(one, other):
    return abs(np.corrcoef(np.ravel(one), np.ravel(other))[0, 1])


def many(key, count=1):
    """Uniform numbers for the keys of MANY things."""
    return random.uniform(random.fold_in(key, tf.range(MANY)), count).numpy()


@pytest.mark.parametrize("draw", [random.uniform, random.fine_uniform])
def test_numbers_are_uniform_over_keys_and_over_positions(draw):
    keys = random.fold_in(random.make_key(1, Stream.WALK), tf.range(500))
    numbers = draw(keys, 40).numpy()
    assert numbers.min() >= 0.0
    assert numbers.max() < 1.0
    for part in (numbers, numbers[:, 0], numbers[0], numbers[:, -1]):
        assert stats.kstest(np.ravel(part), "uniform").pvalue > 0.001


def test_every_bit_is_set_half_of_the_time():
    numbers = random.bits(random.fold_in(random.make_key(0, 1), tf.range(5000)), 4).numpy()
    shares = [((numbers >> bit) & 1).mean() for bit in range(32)]
    assert np.abs(np.array(shares) - 0.5).max() < 4 * 0.5 / np.sqrt(20000)


def test_the_largest_number_is_below_one_and_fine_numbers_are_fine():
    # 24 bits are all that float32 holds below 1; 56 bits fill a float64.
    numbers = random.fine_uniform(random.fold_in(random.make_key(0, 1), tf.range(4)), 8).numpy()
    assert numbers.dtype == np.float64
    assert ((numbers * 2.0**24) % 1 != 0).all()


def test_neighbouring_seeds_streams_steps_and_things_are_independent():
    key = random.make_key(5, Stream.NEIGHBOR, 9)
    others = [
        random.make_key(6, Stream.NEIGHBOR, 9),
        random.make_key(5, Stream.NEGATIVE, 9),
        random.make_key(5, Stream.NEIGHBOR, 10),
        random.make_key(9, Stream.NEIGHBOR, 5),
        random.fold_in(key, 0),
        random.fold_in(key, 1),
    ]
    limit = 4 / np.sqrt(MANY)
    for other in others:
        assert correlation(many(key), many(other)) < limit
    numbers = many(key, 3)
    assert correlation(numbers[:, 0], numbers[:, 1]) < limit
    assert correlation(numbers[:-1, 0], numbers[1:, 0]) < limit
    assert correlation(numbers[:-1, 1], numbers[1:, 0]) < limit


def test_the_same_key_gives_the_same_numbers_inside_and_outside_a_function():
    def draw(step):
        return random.uniform(random.make_key(3, Stream.WALK, step), 5)

    compiled = tf.function(draw)
    for step in range(3):
        inside = compiled(tf.constant(step, tf.int64))
        np.testing.assert_array_equal(inside, draw(step))


def test_keys_of_different_integer_types_are_equal():
    key = random.make_key(0, Stream.WALK)
    wide = random.fold_in(key, tf.range(5, dtype=tf.int64))
    np.testing.assert_array_equal(random.fold_in(key, tf.range(5)), wide)
    np.testing.assert_array_equal(random.fold_in(key, 4), wide[4])


@given(size=st.integers(1, 3000), seed=st.integers(0, 10**6))
def test_permute_is_a_permutation(size, seed):
    places = PERMUTE(tf.range(size, dtype=tf.int64), tf.constant(size), tf.constant(seed)).numpy()
    np.testing.assert_array_equal(np.sort(places), np.arange(size))


def test_permute_of_very_many_gives_distinct_places_in_range():
    size = 10**12 + 7
    index = tf.concat([tf.range(500, dtype=tf.int64), size - 1 - tf.range(500, dtype=tf.int64)], 0)
    places = random.permute(index, size, random.make_key(0, Stream.WALK_ORDER)).numpy()
    assert len(np.unique(places)) == 1000
    assert places.min() >= 0
    assert places.max() < size
    assert stats.kstest(places / size, "uniform").pvalue > 0.001


@pytest.mark.parametrize("size", [5, 1000])
def test_each_place_of_a_permutation_is_equally_likely(size):
    permuted = tf.function(lambda key: random.permute(tf.range(5, dtype=tf.int64), size, key))
    keys = random.make_key(tf.range(300), Stream.WALK_ORDER)
    places = np.stack([permuted(key).numpy() for key in keys])
    for place in places.T:
        assert stats.chisquare(np.histogram(place, bins=5, range=(0, size))[0]).pvalue > 0.001
    # Of five things, another's place is a little likelier where the first is not: -1/4.
    assert correlation(places[:, 0], places[:, 1]) < (0.45 if size == 5 else 0.2)


def test_epochs_are_permuted_differently():
    index = tf.range(100, dtype=tf.int64)
    orders = {
        tuple(random.permute(index, 100, random.make_key(0, Stream.WALK_ORDER, epoch)).numpy())
        for epoch in range(20)
    }
    assert len(orders) == 20
