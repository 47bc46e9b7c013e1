"""Learning rates as functions of the step, and the number of steps of a run."""

import math

import tensorflow as tf

from cade_tf.config import TrainingOptions


def total_steps(options: TrainingOptions, epoch_pairs: int) -> int:
    """Steps of a run: as said, or those of whole passes over all walks.

    Args:
        options: `steps`, `epochs` and `batch_size`.
        epoch_pairs: Pairs in one pass.
    """
    if options.epochs:
        return math.ceil(options.epochs * epoch_pairs / options.batch_size)
    return options.steps


def learning_rate(options: TrainingOptions, step: tf.Tensor, last: int) -> tf.Tensor:
    """Learning rate of a step.

    Args:
        options: `learning_rate`, `schedule` and `warmup_steps`.
        step: Number of the step, from 0.
        last: Steps of the run.

    Returns:
        float32 scalar.

    Example:

    >>> options = TrainingOptions(learning_rate=1.0, schedule="cosine", warmup_steps=2)
    >>> [round(float(learning_rate(options, tf.constant(s), 6)), 3) for s in range(7)]
    [0.5, 1.0, 1.0, 0.854, 0.5, 0.146, 0.0]
    """
    rate = tf.constant(options.learning_rate, tf.float32)
    position = tf.cast(step, tf.float32)
    warmup = options.warmup_steps
    if options.schedule == "cosine":
        done = (position - warmup) / max(last - warmup, 1)
        rate *= 0.5 * (1.0 + tf.cos(math.pi * tf.clip_by_value(done, 0.0, 1.0)))
    if warmup:
        # The first step already moves: at a rate of zero it would be lost.
        rate *= tf.minimum((position + 1.0) / warmup, 1.0)
    return rate
