"""Learning rates as functions of the step, and the number of steps of a run."""

import math

import keras

from cade_tf.config import TrainingOptions


def total_steps(options: TrainingOptions, pairs_per_pass: int) -> int:
    """Steps of a run: as said, or those of whole passes over all walks.

    Args:
        options: `steps`, `epochs` and `batch_size`.
        pairs_per_pass: Pairs in one pass.
    """
    if options.epochs:
        return math.ceil(options.epochs * pairs_per_pass / options.batch_size)
    return options.steps


def learning_rate(
    options: TrainingOptions, last: int
) -> float | keras.optimizers.schedules.LearningRateSchedule:
    """What an optimiser takes as its learning rate: a number, or one of Keras' schedules.

    Args:
        options: `learning_rate`, `schedule` and `warmup_steps`.
        last: Steps of the run.

    Example:

    >>> options = TrainingOptions(learning_rate=1.0, schedule="cosine", warmup_steps=2)
    >>> rate = learning_rate(options, 6)
    >>> [round(float(rate(step)), 3) for step in range(7)]
    [0.5, 0.75, 1.0, 0.854, 0.5, 0.146, 0.0]
    """
    rate, warmup = options.learning_rate, options.warmup_steps
    if options.schedule == "constant" and not warmup:
        return rate
    return keras.optimizers.schedules.CosineDecay(
        # The first step already moves: at a rate of zero it would be lost.
        initial_learning_rate=rate / warmup if warmup else rate,
        warmup_target=rate if warmup else None,
        warmup_steps=warmup,
        decay_steps=max(last - warmup, 1),
        # A decay to the whole of the rate is none.
        alpha=0.0 if options.schedule == "cosine" else 1.0,
    )
