"""Where the global bias is kept when it does not fit into memory: in a file, or on servers.

A model that is saved needs neither: it gets a copy of the rows.
"""

import dataclasses
import logging
from collections.abc import Callable
from typing import Any

import numpy as np
import tensorflow as tf

from cade_tf.layers.global_bias import lookup_with_gradient
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.optimizers import Adam
from cade_tf.scale.distant_tables import ShardedTable, parts_of
from cade_tf.scale.row_file import RowFile

LARGEST_BYTES = 2 << 30
"""A global bias beyond this is left out of a saved model."""

_CHUNK_ROWS = 8192
_log = logging.getLogger(__name__)


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
        make_table: Makes a variable of zeros [rows, dim], divided or whole, that is not trainable:
            no tape may watch it too. It is called for the rows and for each moment.
        watched: Any scalar variable; its value does not matter.

    Example:

    >>> zeros = tf.zeros([3, 1])
    >>> bias = ShardedBias(lambda: tf.Variable(zeros, trainable=False), tf.Variable(0.0))
    >>> bias.update(tf.constant([2]), tf.ones([1, 1]), Adam(0.5), tf.constant(1))
    >>> bias.lookup(tf.constant([2, 0])).numpy().round(3).tolist()
    [[-0.5], [0.0]]
    """

    def __init__(self, make_table: Callable[[], Any], watched: tf.Variable) -> None:
        super().__init__(name="sharded_bias")
        # One after the other: a strategy takes the servers in turn, so that the parts of the same
        # rows come to the same server.
        self.table = make_table()
        self.watched = watched
        # Kept, as updates may be traced outside of its scope.
        self._strategy = tf.distribute.get_strategy()
        self.moments = tf.Module(name="moments")
        self.moments.first = make_table()
        self.moments.second = make_table()

    def lookup(self, rows: tf.Tensor) -> tf.Tensor:
        """Rows by number."""
        return lookup_with_gradient(self, rows, ShardedTable(parts_of(self.table)).fetch)

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
        for table, *moments in zip(*map(parts_of, sharded), strict=True):
            inside = (rows >= begin) & (rows < begin + table.shape[0])
            own = (tf.boolean_mask(rows, inside) - begin, tf.boolean_mask(gradients, inside))
            self._strategy.extended.update(table, change_part, args=(*moments, *own))
            begin += table.shape[0]


def with_own_bias(model: DualEncoder) -> DualEncoder:
    """A copy of a model whose global bias lies in a file, with the bias as a weight.

    Returns:
        The copy, as of `own_copy`. A model whose bias does not lie in a file is returned itself.
    """
    if model.bias is None or not isinstance(model.bias.variable, RowFile):
        return model
    return own_copy(model, RowFile.values)


def own_copy(model: DualEncoder, read_rows: Callable[[Any, int, int], np.ndarray]) -> DualEncoder:
    """A copy of a model with all its weights in this process.

    Args:
        model: The model; its global bias is kept elsewhere.
        read_rows: From the table of that bias, first and last to its rows first..last-1.

    Returns:
        The copy; without any known node where the bias is beyond `LARGEST_BYTES`.
    """
    rows = model.num_known
    fits = 4 * rows * model.dim <= LARGEST_BYTES
    # A table without rows could not be looked up at all; nobody reads this one row.
    copy = type(model).from_config(model.get_config())
    copy.build_for(model.feature_width, rows if fits else 1)
    copy.preparation = model.preparation
    if not fits and model.preparation is not None:
        _log.warning("The global bias is too large for the saved model and is left out of it.")
        copy.preparation = dataclasses.replace(
            model.preparation, known_ids=model.preparation.known_ids[:0], marks=None
        )
    own = [w for w in copy.weights if copy.bias is None or w is not copy.bias.table]
    for weight, source in zip(own, model.weights, strict=True):
        weight.assign(source.numpy())
    if fits and copy.bias is not None and model.bias is not None:
        table = copy.bias.table.value
        for first in range(0, rows, _CHUNK_ROWS):
            last = min(first + _CHUNK_ROWS, rows)
            table[first:last].assign(read_rows(model.bias.variable, first, last))
    return copy
