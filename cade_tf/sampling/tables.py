"""The one way by which anything reads a graph-sized array: rows by id.

A step never sees where the rows are kept. `lookup` returns rows; `compact` returns some matrix
that holds them and their positions in it, which costs nothing where the whole table is at hand
and one look-up of distinct ids where it is not.
"""

from collections.abc import Callable, Sequence
from typing import Protocol, Self, TypeAlias

import numpy as np
import scipy.sparse as sp
import tensorflow as tf

Rows: TypeAlias = tf.Tensor | tf.SparseTensor


def index_dtype() -> tf.DType:
    """The integers of positions: on a GPU int64, as TensorFlow leaves int32 there to the host."""
    return tf.int64 if tf.config.list_logical_devices("GPU") else tf.int32


def distinct(ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Distinct ids of any shape in the order of first appearance, and each id's place there."""
    once, position = tf.unique(tf.reshape(ids, [-1]), out_idx=index_dtype())
    return once, tf.reshape(position, tf.shape(ids))


def slices(index: tf.Tensor, sizes: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Parts of an index one after the other; `tf.split` of integers has no kernel for a GPU."""
    parts, first = [], tf.constant(0)
    for size in sizes:
        parts.append(index[first : first + size])
        first += size
    return parts


class RowSource(Protocol):
    """Rows of a graph-sized array, dense or sparse, read by id."""

    @property
    def num_rows(self) -> int:
        """Number of rows."""

    def lookup(self, ids: tf.Tensor) -> Rows:
        """Rows of the given ids, in their order."""

    def compact(self, ids: tf.Tensor) -> tuple[Rows, tf.Tensor]:
        """A matrix that holds the rows of `ids`, and where in it they stand.

        Returns:
            The matrix, and positions of the shape of `ids`.
        """


class Table(RowSource, Protocol):
    """Dense rows of a graph-sized array, read by id."""

    def search(self, values: tf.Tensor) -> tf.Tensor:
        """For a table of ascending numbers: the first row above each value, int64."""


class TensorTable:
    """A table that lies in this process as one tensor or variable.

    Args:
        values: Array, tensor or variable; rows along the first axis.

    Example:

    >>> TensorTable(np.array([5, 6, 7])).lookup(tf.constant([2, 0])).numpy().tolist()
    [7, 5]
    """

    def __init__(self, values: np.ndarray | tf.Tensor | tf.Variable) -> None:
        self.values = values if tf.is_tensor(values) else tf.constant(values)

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return self.values.shape[0]

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        """Rows of the given ids."""
        return tf.gather(self.values, ids)

    def compact(self, ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The whole table and the ids themselves."""
        return tf.convert_to_tensor(self.values), ids

    def search(self, values: tf.Tensor) -> tf.Tensor:
        """First row above each value."""
        flat = tf.reshape(values, [-1])
        found = tf.searchsorted(self.values, flat, side="right", out_type=tf.int64)
        return tf.reshape(found, tf.shape(values))


class SparseTable:
    """A table of sparse rows, as CSR arrays that are tables themselves.

    Args:
        matrix: SciPy CSR matrix of features.
        make_table: Keeps an array as a table; in this process by default.
    """

    def __init__(
        self,
        matrix: sp.csr_array,
        make_table: Callable[[np.ndarray], Table] = TensorTable,
    ) -> None:
        starts = matrix.indptr[:-1].astype(np.int64)
        lengths = np.diff(matrix.indptr).astype(np.int64)
        self._set(
            make_table(np.stack([starts, lengths], axis=1)),
            make_table(matrix.indices.astype(np.int64)),
            make_table(matrix.data),
            matrix.shape[1],
        )

    @classmethod
    def of_tables(cls, spans: Table, columns: Table, entries: Table, width: int) -> Self:
        """Sparse rows that lie in tables already.

        Args:
            spans: [rows, 2], start of a row's entries and their number.
            columns: int64 [entries], column of each entry.
            entries: [entries], their values.
            width: Number of columns.
        """
        table = cls.__new__(cls)
        table._set(spans, columns, entries, width)
        return table

    def _set(self, spans: Table, columns: Table, entries: Table, width: int) -> None:
        self.spans, self.columns, self.entries, self.width = spans, columns, entries, width

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return self.spans.num_rows

    def lookup(self, ids: tf.Tensor) -> tf.SparseTensor:
        """Rows of the given ids as one sparse matrix."""
        spans = self.spans.lookup(ids)
        starts, lengths = spans[:, 0], spans[:, 1]
        rows = tf.repeat(tf.range(tf.size(lengths, tf.int64)), lengths)
        within = tf.range(tf.size(rows, tf.int64)) - tf.repeat(
            tf.cumsum(lengths, exclusive=True), lengths
        )
        position = tf.repeat(starts, lengths) + within
        indices = tf.stack([rows, self.columns.lookup(position)], axis=1)
        shape = tf.stack([tf.size(lengths, tf.int64), tf.constant(self.width, tf.int64)])
        matrix = tf.SparseTensor(indices, self.entries.lookup(position), shape)
        matrix.indices.set_shape([None, 2])
        return matrix

    def compact(self, ids: tf.Tensor) -> tuple[tf.SparseTensor, tf.Tensor]:
        """The distinct rows, in the order in which their ids first appear."""
        once, position = distinct(ids)
        return self.lookup(once), position
