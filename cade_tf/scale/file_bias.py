"""The global bias on disk."""

import tensorflow as tf

from cade_tf.layers.global_bias import lookup_with_gradient
from cade_tf.optimizers import Adam
from cade_tf.scale.row_file import RowFile


class FileBias(tf.Module):
    """Rows of B in a file, for graphs whose bias does not fit into memory.

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
