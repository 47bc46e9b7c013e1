"""Where the global bias is kept when it does not fit into memory: in a file, or on servers."""

import functools
from typing import Any

import tensorflow as tf

from cade_tf.layers.global_bias import lookup_with_gradient
from cade_tf.optimizers import Adam
from cade_tf.scale.distant_tables import ShardedTable
from cade_tf.scale.row_file import RowFile

# What a partitioned variable is made of; TensorFlow has no public name for the class.
ShardedVariable = tf.__internal__.distribute.ShardedVariable


class FileBias(tf.Module):
    """Rows of B in a file.

    Args:
        table: The file, of as many rows as there are nodes.

    Example:

    >>> bias = FileBias(RowFile(4, 2))
    >>> bias.table.open_in(None)
    >>> bias.lookup(tf.constant([2, 0])).numpy().tolist()
    [[0.0, 0.0], [0.0, 0.0]]
    """

    def __init__(self, table: RowFile) -> None:
        super().__init__(name="file_bias")
        self.table = table
        self.watched = tf.Variable(0.0, trainable=False, name="watched")

    def lookup(self, rows: tf.Tensor) -> tf.Tensor:
        """Rows by number."""
        return lookup_with_gradient(self, rows, self.table.lookup)

    def update(
        self, rows: tf.Tensor, gradients: tf.Tensor, optimizer: Adam, number: tf.Tensor
    ) -> None:
        """Reads distinct rows with their moments, and writes them back as Adam changes them."""
        rate, number = (tf.cast(v, tf.float32) for v in (optimizer.learning_rate, number))
        values, first, second = self.table.read(rows)
        change, first, second = optimizer.row_change(values, first, second, gradients, rate, number)
        self.table.write(rows, values - change, first, second)


class ShardedBias(tf.Module):
    """Rows of B in a sharded variable, with Adam's moments part for part where the rows are.

    Args:
        table: Sharded variable [rows, dim] of parts that are not trainable: no tape may watch
            them besides.
        watched: Any scalar variable; its value does not matter.

    Example:

    >>> values = [[[1.0], [2.0]], [[3.0]]]
    >>> parts = [tf.Variable(part, trainable=False) for part in values]
    >>> bias = ShardedBias(ShardedVariable(parts), tf.Variable(0.0))
    >>> bias.update(tf.constant([2]), tf.ones([1, 1]), Adam(0.5), tf.constant(1))
    >>> bias.lookup(tf.constant([2, 0])).numpy().tolist()
    [[2.5], [1.0]]
    """

    def __init__(self, table: Any, watched: tf.Variable) -> None:
        super().__init__(name="sharded_bias")
        self.table = table
        self.watched = watched
        # Kept, as updates may be traced outside of its scope.
        self._strategy = tf.distribute.get_strategy()
        self.moments = tf.Module(name="moments")
        self.moments.first = _zeros_like(table, "first")
        self.moments.second = _zeros_like(table, "second")

    def lookup(self, rows: tf.Tensor) -> tf.Tensor:
        """Rows by number."""
        return lookup_with_gradient(self, rows, ShardedTable(self.table.variables).fetch)

    def update(
        self, rows: tf.Tensor, gradients: tf.Tensor, optimizer: Adam, number: tf.Tensor
    ) -> None:
        """Updates distinct rows where they are."""
        rate, number = (tf.cast(v, tf.float32) for v in (optimizer.learning_rate, number))

        def change_part(
            table: tf.Variable,
            first: tf.Variable,
            second: tf.Variable,
            own: tf.Tensor,
            values: tf.Tensor,
        ) -> None:
            row, one, two = (tf.gather(part, own) for part in (table, first, second))
            change, new_first, new_second = optimizer.row_change(
                row, one, two, values, rate, number
            )
            first.scatter_update(tf.IndexedSlices(new_first, own))
            second.scatter_update(tf.IndexedSlices(new_second, own))
            table.scatter_sub(tf.IndexedSlices(change, own))

        begin = 0
        sharded = (self.table, self.moments.first, self.moments.second)
        for table, *moments in zip(*(part.variables for part in sharded), strict=True):
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
