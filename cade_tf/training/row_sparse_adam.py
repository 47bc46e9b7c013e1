"""Adam that touches only the rows a step has read."""

import tensorflow as tf

from cade_tf.training.adam import EPSILON


class RowSparseAdam(tf.Module):
    """Adam for a table of which a step reads few rows.

    Rows without a gradient keep their values and moments, so a step costs in proportion to the
    rows it touches, however large the table. Bias correction uses the number of steps of the run.

    Args:
        table: The variable to be updated, [rows, width].
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
        table: tf.Variable,
        *,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = EPSILON,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(name="row_sparse_adam")
        self.table = table
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.weight_decay = weight_decay
        self.first = tf.Variable(tf.zeros_like(table), trainable=False, name="first")
        self.second = tf.Variable(tf.zeros_like(table), trainable=False, name="second")

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
        tf.distribute.get_strategy().extended.update(
            self.table,
            self._update,
            args=(self.first, self.second, rows, gradients, rate, corrected),
        )

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
        first_moment = self.beta_1 * tf.gather(first, rows) + (1 - self.beta_1) * gradients
        second_moment = self.beta_2 * tf.gather(second, rows) + (1 - self.beta_2) * tf.square(
            gradients
        )
        change = corrected * first_moment / (tf.sqrt(second_moment) + self.epsilon)
        if self.weight_decay:
            change += rate * self.weight_decay * tf.gather(table, rows)
        first.scatter_update(tf.IndexedSlices(first_moment, rows))
        second.scatter_update(tf.IndexedSlices(second_moment, rows))
        table.scatter_sub(tf.IndexedSlices(change, rows))


def distinct_rows(rows: tf.Tensor, gradients: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Adds up the gradients of each row; a row then stands once."""
    distinct, position = tf.unique(rows)
    return distinct, tf.math.unsorted_segment_sum(gradients, position, tf.size(distinct))
