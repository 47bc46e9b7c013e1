"""Adam that touches only the rows a step has read."""

import functools
from typing import Any

import tensorflow as tf

from cade_tf.sampling.row_file import RowFile
from cade_tf.training.adam import EPSILON

ShardedVariable = tf.__internal__.distribute.ShardedVariable


class RowSparseAdam(tf.Module):
    """Adam for a table of which a step reads few rows.

    Rows without a gradient keep their values and moments, so a step costs in proportion to the
    rows it touches, however large the table. Bias correction uses the number of steps of the run.

    Args:
        table: The variable to be updated, [rows, width], a sharded one, or a file; moments lie
            beside it.
        beta_1: Decay of the first moment.
        beta_2: Decay of the second moment.
        epsilon: Added to the root of the second moment.
        weight_decay: Share of a row, times the learning rate, that a step that reads it takes
            away.

    Example:

    >>> table = tf.Variable(tf.zeros([3, 2]))
    >>> adam = RowSparseAdam(table)
    >>> adam.apply(tf.constant([1]), tf.ones([1, 2]), learning_rate=0.1, step=1)
    >>> table.numpy()[:2].round(3)
    array([[ 0. ,  0. ],
           [-0.1, -0.1]], dtype=float32)
    """

    def __init__(
        self,
        table: Any,
        *,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = EPSILON,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(name="row_sparse_adam")
        self.table = table
        # Kept, as updates may be traced outside of its scope.
        self._strategy = tf.distribute.get_strategy()
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.weight_decay = weight_decay
        if not isinstance(table, RowFile):
            self.first = _zeros_like(table, "first")
            self.second = _zeros_like(table, "second")

    def apply(
        self,
        rows: tf.Tensor,
        gradients: tf.Tensor,
        *,
        learning_rate: tf.Tensor | float,
        step: tf.Tensor | int,
        clip_value: float = 0.0,
    ) -> None:
        """Updates some rows.

        Args:
            rows: Integers [n]; gradients of a repeated row are added up.
            gradients: [n, width].
            learning_rate: Learning rate of this step.
            step: Number of this step, from 1.
            clip_value: Gradients of a row are clipped to plus or minus this; 0 does not clip.
        """
        rows, gradients = distinct_rows(rows, gradients)
        if clip_value > 0:
            gradients = tf.clip_by_value(gradients, -clip_value, clip_value)
        self.apply_distinct(rows, gradients, learning_rate=learning_rate, step=step)

    def apply_distinct(
        self,
        rows: tf.Tensor,
        gradients: tf.Tensor,
        *,
        learning_rate: tf.Tensor | float,
        step: tf.Tensor | int,
    ) -> None:
        """As `apply`, for rows none of which is repeated."""
        step = tf.cast(step, tf.float32)
        rate = tf.cast(learning_rate, tf.float32)
        corrected = rate * tf.sqrt(1.0 - self.beta_2**step) / (1.0 - self.beta_1**step)
        if isinstance(self.table, RowFile):
            values, first, second = self.table.read(rows)
            change, first, second = self._change(first, second, gradients, corrected)
            if self.weight_decay:
                change += rate * self.weight_decay * values
            self.table.write(rows, values - change, first, second)
            return
        extended = self._strategy.extended
        parts = _parts(self.table)
        begin = 0
        for table, *moments in zip(parts, _parts(self.first), _parts(self.second), strict=True):
            own = (rows, gradients)
            if len(parts) > 1:
                inside = (rows >= begin) & (rows < begin + table.shape[0])
                own = (tf.boolean_mask(rows, inside) - begin, tf.boolean_mask(gradients, inside))
            extended.update(table, self._update, args=(*moments, *own, rate, corrected))
            begin += table.shape[0]

    def _update(
        self,
        table: tf.Variable,
        first: tf.Variable,
        second: tf.Variable,
        rows: tf.Tensor,
        gradients: tf.Tensor,
        rate: tf.Tensor,
        corrected: tf.Tensor,
    ) -> None:
        change, first_moment, second_moment = self._change(
            tf.gather(first, rows), tf.gather(second, rows), gradients, corrected
        )
        if self.weight_decay:
            change += rate * self.weight_decay * tf.gather(table, rows)
        first.scatter_update(tf.IndexedSlices(first_moment, rows))
        second.scatter_update(tf.IndexedSlices(second_moment, rows))
        table.scatter_sub(tf.IndexedSlices(change, rows))

    def _change(
        self, first: tf.Tensor, second: tf.Tensor, gradients: tf.Tensor, corrected: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """What is taken off the values, and the new moments."""
        first = self.beta_1 * first + (1 - self.beta_1) * gradients
        second = self.beta_2 * second + (1 - self.beta_2) * tf.square(gradients)
        return corrected * first / (tf.sqrt(second) + self.epsilon), first, second


def _parts(table: Any) -> list[tf.Variable]:
    """The variables that a sharded variable consists of; a plain one is its only part."""
    return list(table.variables) if isinstance(table, ShardedVariable) else [table]


def _zeros_like(table: Any, name: str) -> Any:
    """Variables of zeros, part for part where the table's are."""
    extended = tf.distribute.get_strategy().extended
    made = []
    for part in _parts(table):
        zeros = functools.partial(tf.zeros, part.shape, part.dtype)
        with extended.colocate_vars_with(part):
            made.append(tf.Variable(zeros, trainable=False, name=name))
    return ShardedVariable(made, name=name) if isinstance(table, ShardedVariable) else made[0]


def distinct_rows(rows: tf.Tensor, gradients: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Adds up the gradients of each row; a row then stands once."""
    distinct, position = tf.unique(rows)
    return distinct, tf.math.unsorted_segment_sum(gradients, position, tf.size(distinct))
