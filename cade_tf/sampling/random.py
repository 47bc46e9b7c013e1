"""Random numbers that are a pure function of what they are for.

A draw is a hash of (seed, stream, step) and of the thing drawn for: a walk's number, a node, a
position. So a resumed run repeats an unbroken one, a node's draw is shared wherever the node
stands in a batch without any bookkeeping, and replicas that split a batch agree with one that
does not.
"""

import enum
from typing import TypeAlias

import tensorflow as tf

Number: TypeAlias = tf.Tensor | int


class Stream(enum.IntEnum):
    """What random numbers are drawn for; streams are independent of each other."""

    WALK_ORDER = 1
    WALK = 2
    NEIGHBOR = 3
    NEGATIVE = 4
    EMBEDDING_WALK = 5
    EMBEDDING_NEIGHBOR = 6
    FEATURE_DROPOUT = 7
    BIAS_DROPOUT = 8


def make_key(seed: Number, stream: Number, step: Number = 0) -> tf.Tensor:
    """The key of all draws of one stream in one step: a uint32 scalar."""
    return fold_in(fold_in(fold_in(_unsigned(0x5CADE), seed), stream), step)


def fold_in(key: tf.Tensor, number: Number) -> tf.Tensor:
    """A new key that depends on a number, or on each of a tensor of numbers."""
    return _mix(key ^ _mix(_unsigned(number) + _unsigned(0x9E3779B9)))


def bits(key: tf.Tensor, count: int) -> tf.Tensor:
    """`count` independent uint32 numbers for each key: shape of `key`, plus one axis."""
    offsets = _unsigned(tf.range(count, dtype=tf.int64)) * _unsigned(0x9E3779B9)
    return _mix(tf.expand_dims(key, -1) ^ offsets)


def uniform(key: tf.Tensor, count: int) -> tf.Tensor:
    """`count` float32 numbers in [0, 1) for each key: shape of `key`, plus one axis."""
    return tf.cast(tf.bitwise.right_shift(bits(key, count), _unsigned(8)), tf.float32) * 2.0**-24


def fine_uniform(key: tf.Tensor, count: int) -> tf.Tensor:
    """As `uniform`, float64 with 56 random bits: for choices among very many."""
    high = tf.cast(uniform(key, count), tf.float64)
    low = tf.cast(bits(fold_in(key, 1), count), tf.float64) * 2.0**-32
    return high + low * 2.0**-24


def permute(index: tf.Tensor, size: Number, key: tf.Tensor) -> tf.Tensor:
    """Where each index goes in a pseudo-random permutation of 0..size-1.

    A Feistel network over the next power of four that holds `size`, walked until the value falls
    below `size` again: random access, so that no shuffled list is ever held. TensorFlow's own
    `index_shuffle` does this on a CPU only.

    Args:
        index: int64, any shape, values in [0, size).
        size: Number of things permuted.
        key: Chooses the permutation.

    Returns:
        int64, the shape of `index`, distinct for distinct indices.
    """
    size = tf.cast(size, tf.int64)
    half = _half_bits(size)
    keys = [fold_in(key, round_) for round_ in range(4)]

    def encrypt(value: tf.Tensor) -> tf.Tensor:
        mask = tf.bitwise.left_shift(tf.constant(1, tf.int64), half) - 1
        left, right = tf.bitwise.right_shift(value, half), value & mask
        for round_key in keys:
            scrambled = tf.cast(_mix(_unsigned(right) ^ round_key), tf.int64)
            left, right = right, left ^ (scrambled & mask)
        return tf.bitwise.left_shift(left, half) | right

    return tf.while_loop(
        lambda value: tf.reduce_any(value >= size),
        lambda value: (tf.where(value >= size, encrypt(value), value),),
        (encrypt(tf.cast(index, tf.int64)),),
    )[0]


def _half_bits(size: tf.Tensor) -> tf.Tensor:
    """Half the number of bits that hold every value below `size`."""
    thresholds = tf.constant([4**exponent for exponent in range(1, 31)], tf.int64)
    return 1 + tf.reduce_sum(tf.cast(thresholds < size, tf.int64))


def _unsigned(number: Number) -> tf.Tensor:
    if isinstance(number, int):
        return tf.constant(number & 0xFFFFFFFF, tf.uint32)
    return tf.cast(number, tf.uint32)


# A function, so that its operations are traced once for all the calls of a step.
@tf.function(autograph=False, reduce_retracing=True)
def _mix(value: tf.Tensor) -> tf.Tensor:
    """A 32-bit finaliser with low bias (Wellons' hash prospector, two rounds)."""
    value = value ^ tf.bitwise.right_shift(value, _unsigned(16))
    value = value * _unsigned(0x21F0AAAD)
    value = value ^ tf.bitwise.right_shift(value, _unsigned(15))
    value = value * _unsigned(0xD35A2D97)
    return value ^ tf.bitwise.right_shift(value, _unsigned(15))
