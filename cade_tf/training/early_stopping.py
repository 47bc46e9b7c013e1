"""Stops a run that no longer gets better."""

import math

import tensorflow as tf

from cade_tf.training.uncached import uncached


class EarlyStopping(tf.Module):
    """Remembers the best validation score and how long ago it was.

    Its variables belong into a run's checkpoint, so that a resumed run stops where an unbroken
    one does.

    Args:
        patience: Validations without a better score before the run should stop.
        smallest_gain: A score is better only where it exceeds the best by more than this
            share of it.

    Example:

    >>> stopping = EarlyStopping(patience=2)
    >>> [stopping.better(step, score) for step, score in enumerate([0.3, 0.5, 0.5, 0.4])]
    [True, True, False, False]
    >>> stopping.exhausted, stopping.best_step
    (True, 1)
    """

    def __init__(self, patience: int, smallest_gain: float = 0.0) -> None:
        super().__init__(name="early_stopping")
        self.patience = patience
        self.smallest_gain = smallest_gain
        self._best = tf.Variable(-float("inf"), dtype=tf.float64, trainable=False, name="best")
        self._best_step = tf.Variable(-1, dtype=tf.int64, trainable=False, name="best_step")
        self._waited = tf.Variable(0, trainable=False, name="waited")

    def better(self, step: int, score: float) -> bool:
        """Takes note of a score; returns whether it is the best so far."""
        best = float(self._best.numpy())
        # The first best is minus infinity, of which there is no share.
        wanted = best + self.smallest_gain * abs(best) if math.isfinite(best) else best
        if score > wanted:
            self._best.assign(uncached(score))
            self._best_step.assign(uncached(step))
            self._waited.assign(0)
            return True
        self._waited.assign_add(1)
        return False

    @property
    def exhausted(self) -> bool:
        """Whether the run should stop."""
        return int(self._waited.numpy()) >= self.patience

    @property
    def best_step(self) -> int | None:
        """Step of the best score; None before the first one."""
        step = int(self._best_step.numpy())
        return None if step < 0 else step
