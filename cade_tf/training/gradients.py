"""What happens to gradients between the backward pass and the update."""

from collections.abc import Callable
from typing import NamedTuple

import tensorflow as tf

from cade_tf.optimizers.adam import distinct_rows

INITIAL_SCALE = 2.0**15
GROWTH_STEPS = 1000


class Gradients(NamedTuple):
    """Gradients of a step.

    Attributes:
        dense: One for each dense weight.
        rows: [n], rows of the global bias that were read; None without a bias.
        values: [n, dim], their gradients.
    """

    dense: list[tf.Tensor]
    rows: tf.Tensor | None
    values: tf.Tensor | None

    def map(self, change: Callable[[tf.Tensor], tf.Tensor]) -> "Gradients":
        """The same change for every gradient."""
        values = None if self.values is None else change(self.values)
        return Gradients([change(g) for g in self.dense], self.rows, values)

    def tensors(self) -> list[tf.Tensor]:
        """All gradients, the bias last."""
        return [*self.dense, *([] if self.values is None else [self.values])]


def add_up(
    gradients: list[tf.Tensor | tf.IndexedSlices], dense: int, *, distinct: bool
) -> Gradients:
    """Sums over the replicas; rows of the bias are gathered and never made a dense matrix.

    Args:
        gradients: This replica's: dense ones first, then that of the global bias if there is one.
        dense: How many are dense.
        distinct: Whether each row of the bias must stand once; an optimiser of rows sees to that
            itself.
    """
    context = tf.distribute.get_replica_context()
    several = context.num_replicas_in_sync > 1
    summed = gradients[:dense]
    if several:
        summed = context.all_reduce(tf.distribute.ReduceOp.SUM, summed)
    if len(gradients) == dense:
        return Gradients(summed, None, None)
    rows, values = gradients[-1].indices, gradients[-1].values
    if several:
        rows, values = context.all_gather(rows, axis=0), context.all_gather(values, axis=0)
    return Gradients(summed, *(distinct_rows(rows, values) if distinct else (rows, values)))


def squared_lengths(gradients: Gradients) -> tf.Tensor:
    """Squared length of each gradient, float32; not finite where an entry is not."""
    # The square of a large gradient by itself would be a pass over memory more.
    return tf.stack([2.0 * tf.nn.l2_loss(g) for g in gradients.tensors()])


def clip(gradients: Gradients, norm: tf.Tensor, clip_value: float, clip_norm: float) -> Gradients:
    """Clips by joint length, then by value; 0 leaves either out."""
    if clip_norm > 0:
        factor = clip_norm / tf.maximum(norm, clip_norm)
        gradients = gradients.map(lambda g: g * factor)
    if clip_value > 0:
        gradients = gradients.map(lambda g: tf.clip_by_value(g, -clip_value, clip_value))
    return gradients


class LossScale(tf.Module):
    """Keeps float16 gradients from underflowing: the loss is scaled up, gradients down again.

    A step whose gradients overflow is left out and halves the scale; many good steps double it.
    Keras' `LossScaleOptimizer` does the same for one dense gradient per weight; this one also
    serves rows of a table, several replicas, and a loop inside of a compiled function.

    Example:

    >>> scale = LossScale()
    >>> scale.update(tf.constant(False))
    >>> float(scale.value)
    16384.0
    """

    def __init__(self) -> None:
        super().__init__(name="loss_scale")
        self.value = tf.Variable(INITIAL_SCALE, trainable=False, name="value")
        self.good_steps = tf.Variable(0, trainable=False, name="good_steps")

    def update(self, finite: tf.Tensor) -> None:
        """Takes note of a step."""
        good = tf.where(finite, self.good_steps + 1, 0)
        grows = good >= GROWTH_STEPS
        factor = tf.where(finite, tf.where(grows, 2.0, 1.0), 0.5)
        self.value.assign(self.value * factor)
        self.good_steps.assign(tf.where(grows, 0, good))
