"""Tables that lie elsewhere, of which only asked rows are read: in files, or on servers."""

import abc
import mmap
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from cade_tf.sampling.tables import distinct

DEFAULT_RESIDENT_BYTES = 64 << 20

_STATM = Path("/proc/self/statm")
# The system maps up to 64 KiB around every row that is touched: 32 MiB for so many.
_READ_ROWS = 512


class Residency:
    """Bounds how much of the mapped files counts as memory of this process.

    The pages that random reads touch stay mapped until somebody unmaps them, so that after a few
    steps a process would seem to hold the whole graph. Beyond the bound all of them are given
    back; the system keeps what it has room for in its cache, and reads of it stay cheap.

    Args:
        limit: Bytes of mapped pages that may stay.
    """

    def __init__(self, limit: int = DEFAULT_RESIDENT_BYTES) -> None:
        self.limit = limit
        self._maps: list[mmap.mmap] = []
        self._before = _mapped_bytes()

    def watch(self, array: np.ndarray) -> None:
        """Adds the mapping that an array is read from, if it has one."""
        base: object = array
        while isinstance(base, np.ndarray):
            base = base.base
        if isinstance(base, mmap.mmap):
            self._maps.append(base)
            # Neighbours of a row are not what is asked for next.
            base.madvise(mmap.MADV_RANDOM)

    def check(self) -> None:
        """Gives all pages back where they are more than the limit."""
        if self._maps and _mapped_bytes() - self._before > self.limit:
            for mapping in self._maps:
                mapping.madvise(mmap.MADV_DONTNEED)


def _mapped_bytes() -> int:
    """Resident bytes of this process that belong to files; 0 where the system does not tell."""
    try:
        return int(_STATM.read_text().split()[2]) * mmap.PAGESIZE
    except (OSError, ValueError, IndexError):
        return 0


class _DistantTable(abc.ABC):
    """Ids are made distinct before rows are fetched: each row comes once."""

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        """Rows of the given ids."""
        rows, position = self.compact(ids)
        return tf.gather(rows, position)

    def compact(self, ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The distinct rows, in the order in which their ids first appear."""
        once, position = distinct(ids)
        return self.fetch(once), position

    @abc.abstractmethod
    def fetch(self, ids: tf.Tensor) -> tf.Tensor:
        """Rows of ids that are known to be distinct."""


class MappedTable(_DistantTable):
    """A table of one or several arrays, one after the other, of which only asked rows are read.

    Args:
        parts: Arrays with the same width, memory-mapped or not.
        change: What is done to rows that were read, as the scaling of features.
        residency: Shared by all tables of a graph; None lets the pages stay.

    Example:

    >>> table = MappedTable([np.array([5, 6]), np.array([7])])
    >>> table.lookup(tf.constant([2, 0, 2])).numpy().tolist()
    [7, 5, 7]
    """

    def __init__(
        self,
        parts: Sequence[np.ndarray],
        change: Callable[[np.ndarray], np.ndarray] | None = None,
        residency: Residency | None = None,
    ) -> None:
        self.parts = list(parts)
        self.change = change
        self.residency = residency
        self._ends = np.cumsum([len(part) for part in self.parts])
        sample = self._read(np.zeros(1 if self._ends[-1] else 0, np.int64))
        self._dtype = tf.as_dtype(sample.dtype)
        self._row_shape = sample.shape[1:]
        if residency is not None:
            for part in self.parts:
                residency.watch(part)

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return int(self._ends[-1])

    def fetch(self, ids: tf.Tensor) -> tf.Tensor:
        """Rows of ids that are known to be distinct."""
        rows = tf.numpy_function(self._read, [tf.cast(ids, tf.int64)], self._dtype)
        rows.set_shape([None, *self._row_shape])
        return rows

    def search(self, values: tf.Tensor) -> tf.Tensor:
        """First row above each value."""
        found = tf.numpy_function(self._search, [values], tf.int64)
        found.set_shape(values.shape)
        return found

    def _read(self, ids: np.ndarray) -> np.ndarray:
        # Ascending ids read a file from its beginning to its end.
        order = np.argsort(ids)
        ascending = ids[order]
        if len(ids) and not 0 <= ascending[0] <= ascending[-1] < self._ends[-1]:
            raise IndexError(f"rows from 0 to {self._ends[-1] - 1}, not {ascending[[0, -1]]}")
        cuts = np.searchsorted(ascending, self._ends)
        rows = np.empty((len(ids), *self.parts[0].shape[1:]), self.parts[0].dtype)
        first, start = 0, 0
        for part, cut, end in zip(self.parts, cuts, self._ends, strict=True):
            for begin in range(first, cut, _READ_ROWS):
                piece = slice(begin, min(begin + _READ_ROWS, cut))
                rows[order[piece]] = part[ascending[piece] - start]
                if self.residency is not None:
                    self.residency.check()
            first, start = cut, end
        return rows if self.change is None else np.ascontiguousarray(self.change(rows))

    def _search(self, values: np.ndarray) -> np.ndarray:
        return sum(
            (np.searchsorted(part, values, side="right").astype(np.int64) for part in self.parts),
            np.zeros(values.shape, np.int64),
        )


def parts_of(variable: Any) -> list[tf.Variable]:
    """The variables that a strategy has divided a variable into; a whole one is its only part."""
    return list(getattr(variable, "variables", (variable,)))


class ShardedTable(_DistantTable):
    """A table whose rows are spread over variables, each wherever TensorFlow has put it.

    Every server is asked once for its rows.

    Args:
        parts: Variables one after the other, of equal length but for one row, as TensorFlow
            divides them.

    Example:

    >>> table = ShardedTable([tf.Variable([5, 6]), tf.Variable([7])])
    >>> table.lookup(tf.constant([2, 0, 2])).numpy().tolist()
    [7, 5, 7]
    """

    def __init__(self, parts: Sequence[tf.Variable]) -> None:
        self.parts = list(parts)

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return sum(part.shape[0] for part in self.parts)

    def fetch(self, ids: tf.Tensor) -> tf.Tensor:
        """Rows of ids that are known to be distinct."""
        return tf.nn.embedding_lookup(self.parts, ids)

    def search(self, values: tf.Tensor) -> tf.Tensor:
        """First row above each value: every server counts its rows up to it."""
        flat = tf.reshape(values, [-1])
        counts = []
        for part in self.parts:
            # The numbers travel to the table, which is the larger of the two.
            with tf.device(part.device):
                counts.append(tf.searchsorted(part, flat, side="right", out_type=tf.int64))
        return tf.reshape(tf.add_n(counts), tf.shape(values))
