"""Rows of a table that stay on disk and change: values and what an optimiser keeps of them."""

import contextlib
import errno
import functools
import os
import tempfile
import weakref
import zlib
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import tensorflow as tf

from cade_tf.files import atomic_write

GROUPS = 3
"""A row's values and the two moments of Adam, one after the other."""

_COPY_BYTES = 1 << 16
# Large look-ups are read in pieces, so that they take little more memory than their result.
_PIECE_ROWS = 1024


class RowFile(tf.Module):
    """Rows of float32 in a file, zero until they are written.

    A row lies next to its moments, so that a step finds all it changes in one place. The file is
    sparse: rows that were never written take no space. It is read and written by system calls and
    not mapped, so that it takes no memory of this process and a full disk is an error, not a
    signal that ends the process.

    The file has no name and ends with the process: nobody ever trusts a file that was killed in
    the middle of a step. What lasts are the copies that `save` writes, of all that is not zero,
    and `restore` reads back; their checksum is a variable, to be kept in the same checkpoint.

    Args:
        rows: Number of rows.
        width: Values of a row.

    Attributes:
        shape: Rows and width, as of a variable.
        dtype: Type of a value.
        checksum: Of the last copy that was saved or is to be restored.

    Example:

    >>> file = RowFile(5, 2)
    >>> file.open_in(None)
    >>> one = tf.ones([1, 2])
    >>> file.write(tf.constant([3]), one, one, one)
    >>> file.lookup(tf.constant([3, 0])).numpy().tolist()
    [[1.0, 1.0], [0.0, 0.0]]
    """

    def __init__(self, rows: int, width: int) -> None:
        super().__init__(name="row_file")
        self.shape = (rows, width)
        self.dtype = tf.float32
        self.checksum = tf.Variable(0, dtype=tf.int64, trainable=False, name="checksum")
        self._row_bytes = GROUPS * width * 4
        self._opened: int | None = None
        self._failure: OSError | None = None

    def open_in(self, folder: Path | None) -> None:
        """Makes the file, all zero, on the disk of a folder; of the system's own for None."""
        if folder is not None:
            folder.mkdir(parents=True, exist_ok=True)
        self._opened, name = tempfile.mkstemp(dir=folder)
        os.unlink(name)
        weakref.finalize(self, os.close, self._opened)
        os.truncate(self._handle, self._bytes)
        if hasattr(os, "posix_fadvise"):
            # Neighbours of a row are not what is asked for next.
            os.posix_fadvise(self._handle, 0, 0, os.POSIX_FADV_RANDOM)

    @property
    def _handle(self) -> int:
        if self._opened is None:
            raise RuntimeError("open_in comes before rows are read or written")
        return self._opened

    @property
    def _bytes(self) -> int:
        return self.shape[0] * self._row_bytes

    # --- within a step -----------------------------------------------------------------------

    def lookup(self, rows: tf.Tensor) -> tf.Tensor:
        """Values of rows, `[n, width]`."""
        return self._columns(rows, self.shape[1])

    def read(self, rows: tf.Tensor) -> list[tf.Tensor]:
        """Values and moments of rows, each `[n, width]`."""
        return tf.split(self._columns(rows, GROUPS * self.shape[1]), GROUPS, axis=1)

    def _columns(self, rows: tf.Tensor, count: int) -> tf.Tensor:
        read = functools.partial(self._read, columns=count)
        found = tf.numpy_function(read, [tf.cast(rows, tf.int64)], self.dtype)
        found.set_shape([None, count])
        return found

    def write(self, rows: tf.Tensor, *groups: tf.Tensor) -> None:
        """Overwrites rows, none of which is repeated.

        Args:
            rows: Integers [n].
            groups: Values and moments, each `[n, width]`.
        """
        values = tf.concat(groups, axis=1)
        # Such functions are stateful: TensorFlow keeps the order of reading and writing.
        tf.numpy_function(self._write, [tf.cast(rows, tf.int64), values], tf.int64)

    @contextlib.contextmanager
    def failures(self) -> Iterator[None]:
        """Around steps: what the disk refused is raised as itself, not as TensorFlow's error.

        Raises:
            OSError: A row could not be read or written.
        """
        try:
            yield
        except tf.errors.OpError as error:
            if self._failure is not None:
                raise self._failure from error
            raise

    def _read(self, rows: np.ndarray, columns: int) -> np.ndarray:
        values = np.empty((len(rows), columns), np.float32)
        with self._noted():
            for places, runs in self._pieces(rows):
                found = b"".join([os.pread(self._handle, size, start) for start, size in runs])
                whole = np.frombuffer(found, np.float32).reshape(len(places), -1)
                values[places] = whole[:, :columns]
        return values

    def _write(self, rows: np.ndarray, values: np.ndarray) -> np.int64:
        with self._noted():
            for places, runs in self._pieces(rows):
                view = memoryview(values[places].reshape(-1).view(np.uint8))
                for start, size in runs:
                    _write_all(self._handle, view[:size], start)
                    view = view[size:]
        return np.int64(len(rows))

    def _pieces(self, rows: np.ndarray) -> Iterator[tuple[np.ndarray, list[tuple[int, int]]]]:
        """Places of some rows in ascending order, and where and how much to read for them."""
        order = np.argsort(rows)
        for begin in range(0, len(rows), _PIECE_ROWS):
            places = order[begin : begin + _PIECE_ROWS]
            ascending = rows[places]
            if not 0 <= ascending[0] <= ascending[-1] < self.shape[0]:
                raise IndexError(f"rows from 0 to {self.shape[0] - 1}, not {ascending[[0, -1]]}")
            # Rows that follow each other are one call to the system.
            first = np.flatnonzero(np.diff(ascending, prepend=-2) != 1)
            counts = np.diff(first, append=len(ascending))
            starts, sizes = ascending[first] * self._row_bytes, counts * self._row_bytes
            yield places, list(zip(starts.tolist(), sizes.tolist(), strict=True))

    @contextlib.contextmanager
    def _noted(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._failure = error
            raise

    # --- between steps -----------------------------------------------------------------------

    def values(self, first: int, last: int) -> np.ndarray:
        """Values of rows first..last-1, without their moments."""
        return self._read(np.arange(first, last), self.shape[1])

    def save(self, path: Path) -> None:
        """Copies all that is not zero into a file, complete or not there; sets `checksum`.

        Raises:
            OSError: It cannot be written.
        """
        with atomic_write(path) as file:
            os.truncate(file.fileno(), self._bytes)
            self.checksum.assign(_copy(self._handle, file.fileno(), self._bytes))

    def restore(self, path: Path) -> None:
        """Reads back what `save` wrote; `checksum` must be that of the copy.

        Raises:
            ValueError: The copy is missing or damaged.
            OSError: There is no room for the rows.
        """
        if not path.is_file():
            raise ValueError(f"{path} is missing")
        if path.stat().st_size != self._bytes:
            raise ValueError(f"{path} has {path.stat().st_size} bytes and not {self._bytes}")
        os.truncate(self._handle, 0)
        os.truncate(self._handle, self._bytes)
        with open(path, "rb") as file:
            found = _copy(file.fileno(), self._handle, self._bytes)
        if found != int(self.checksum.numpy()):
            raise ValueError(f"{path} is not what was written: its checksum differs")


def _copy(source: int, target: int, size: int) -> int:
    """Copies what is not zero into a file of zeros; returns a checksum of it and its places."""
    checksum = offset = 0
    while (offset := _next_data(source, offset, size)) < size:
        chunk = os.pread(source, min(_COPY_BYTES, size - offset), offset)
        if not chunk:
            raise ValueError(f"the file ends at {offset} of {size} bytes")
        if np.frombuffer(chunk, np.uint8).any():
            _write_all(target, memoryview(chunk), offset)
            checksum = zlib.crc32(chunk, zlib.crc32(offset.to_bytes(8, "little"), checksum))
        offset += len(chunk)
    return checksum


def _next_data(source: int, offset: int, size: int) -> int:
    """The next chunk, from an offset on, that is not a hole of a sparse file; `size` at the end."""
    try:
        found = os.lseek(source, offset, os.SEEK_DATA)
    except OSError as error:
        if error.errno != errno.ENXIO:
            raise
        return size
    # Chunks begin at the same places whatever holes a file system has made of zeros.
    return max(offset, found - found % _COPY_BYTES)


def _write_all(target: int, data: memoryview, offset: int) -> None:
    """A disk that is nearly full takes a part first and complains then."""
    while data:
        written = os.pwrite(target, data, offset)
        data, offset = data[written:], offset + written
