"""Adam's moments of tables that lie in parts, on parameter servers."""

import functools
from typing import Any

import tensorflow as tf

from cade_tf.optimizers import Adam

# What a partitioned variable is made of; TensorFlow has no public name for the class.
ShardedVariable = tf.__internal__.distribute.ShardedVariable


class ShardedMoments(tf.Module):
    """Moments of a sharded variable, part for part where its rows are.

    Args:
        table: The sharded variable, [rows, width].

    Example:

    >>> parts = [tf.Variable(tf.zeros([2, 1])), tf.Variable(tf.zeros([1, 1]))]
    >>> table = ShardedVariable(parts)
    >>> rows, gradients = tf.constant([2]), tf.ones([1, 1])
    >>> ShardedMoments(table).update(rows, gradients, Adam(0.1), tf.constant(1))
    >>> table.variables[1].numpy().round(3).tolist()
    [[-0.10000000149011612]]
    """

    def __init__(self, table: Any) -> None:
        super().__init__(name="sharded_moments")
        self.table = table
        # Kept, as updates may be traced outside of its scope.
        self._strategy = tf.distribute.get_strategy()
        self.first = _zeros_like(table, "first")
        self.second = _zeros_like(table, "second")

    def update(
        self, rows: tf.Tensor, gradients: tf.Tensor, optimizer: Adam, number: tf.Tensor
    ) -> None:
        """Updates some rows, none of which is repeated.

        Args:
            rows: Integers [n].
            gradients: [n, width].
            optimizer: Whose settings hold.
            number: Number of the step, from 1.
        """
        rate = tf.cast(optimizer.learning_rate, tf.float32)
        number = tf.cast(number, tf.float32)

        def change_part(
            table: tf.Variable,
            first: tf.Variable,
            second: tf.Variable,
            own: tf.Tensor,
            values: tf.Tensor,
        ) -> None:
            rows_and_moments = [tf.gather(part, own) for part in (table, first, second)]
            change, new_first, new_second = optimizer.row_change(
                rows_and_moments[0], rows_and_moments[1], rows_and_moments[2], values, rate, number
            )
            first.scatter_update(tf.IndexedSlices(new_first, own))
            second.scatter_update(tf.IndexedSlices(new_second, own))
            table.scatter_sub(tf.IndexedSlices(change, own))

        begin = 0
        for table, *moments in zip(
            self.table.variables, self.first.variables, self.second.variables, strict=True
        ):
            inside = (rows >= begin) & (rows < begin + table.shape[0])
            own = (tf.boolean_mask(rows, inside) - begin, tf.boolean_mask(gradients, inside))
            self._strategy.extended.update(table, change_part, args=(*moments, *own))
            begin += table.shape[0]


def _zeros_like(table: Any, name: str) -> Any:
    """Variables of zeros, part for part where the table's are."""
    extended = tf.distribute.get_strategy().extended
    made = []
    for part in table.variables:
        zeros = functools.partial(tf.zeros, part.shape, part.dtype)
        with extended.colocate_vars_with(part):
            made.append(tf.Variable(zeros, trainable=False, name=name))
    return ShardedVariable(made, name=name)
