"""The global bias on parameter servers."""

from typing import Any

import tensorflow as tf

from cade_tf.layers.global_bias import lookup_with_gradient
from cade_tf.optimizers import Adam
from cade_tf.scale.row_adam import ShardedMoments
from cade_tf.scale.sharded_table import ShardedTable


class ShardedBias(tf.Module):
    """Rows of B in a sharded variable.

    Args:
        table: Sharded variable [rows, dim] of parts that are not trainable: no tape may watch
            them besides.
        watched: Any scalar variable; its value does not matter.

    Example:

    >>> values = [[[1.0], [2.0]], [[3.0]]]
    >>> parts = [tf.Variable(part, trainable=False) for part in values]
    >>> bias = ShardedBias(tf.__internal__.distribute.ShardedVariable(parts), tf.Variable(0.0))
    >>> bias.lookup(tf.constant([2, 0])).numpy().tolist()
    [[3.0], [1.0]]
    """

    def __init__(self, table: Any, watched: tf.Variable) -> None:
        super().__init__(name="sharded_bias")
        self.table = table
        self.watched = watched
        self.moments = ShardedMoments(table)

    def lookup(self, rows: tf.Tensor) -> tf.Tensor:
        """Rows by number."""
        return lookup_with_gradient(self, rows, ShardedTable(self.table.variables).fetch)

    def update(
        self, rows: tf.Tensor, gradients: tf.Tensor, optimizer: Adam, number: tf.Tensor
    ) -> None:
        """Updates distinct rows where they are."""
        self.moments.update(rows, gradients, optimizer, number)
