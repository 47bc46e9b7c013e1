"""Matrices in npy files, mapped, with every damage told as an `InputError`."""

import math
from pathlib import Path
from typing import Any

import numpy as np

from cade_tf.errors import InputError
from cade_tf.graph.npy_header import read_header

_ROWS_AT_A_TIME = 8192


def open_npy(path: Path) -> np.ndarray:
    """Maps an npy file.

    Raises:
        InputError: Not an npy, damaged, or of Python objects.
    """
    remedy = "Save it with numpy.save."
    with open(path, "rb") as file:
        try:
            shape, fortran, dtype = read_header(file)
        except ValueError as error:
            empty = path.stat().st_size == 0
            received = "an empty file" if empty else f"damaged or other content ({error})"
            raise InputError(str(path), "an npy file", received, remedy) from error
        offset = file.tell()
    if dtype.hasobject:
        raise InputError(str(path), "an npy file", "an array of Python objects", remedy)
    size, left = math.prod(shape) * dtype.itemsize, path.stat().st_size - offset
    if size > left:
        raise InputError(
            str(path), f"{size:,} bytes of numbers", f"{left:,} (cut off)", "Copy it again."
        )
    if not size:
        return np.empty(shape, dtype)
    order: Any = "F" if fortran else "C"
    return np.asarray(np.memmap(path, dtype, mode="r", offset=offset, shape=shape, order=order))


def rows_of_npy(path: Path, rows: np.ndarray | None = None) -> np.ndarray:
    """Some rows of a matrix in an npy file as float32, never the whole file in memory.

    Args:
        path: The file.
        rows: Row numbers, in the order wanted; all by default.

    Raises:
        InputError: No matrix of numbers, too short or damaged.
    """
    matrix = open_npy(path)
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiub" or (len(matrix) and not matrix.size):
        raise InputError(
            str(path),
            "a matrix of numbers",
            f"{matrix.dtype} of shape {matrix.shape}",
            "Save [nodes, width] of floats.",
        )
    if rows is None:
        rows = np.arange(len(matrix))
    if (len(rows) and rows.max() >= len(matrix)) or len(matrix) < len(rows):
        needed = max(int(rows.max()) + 1, len(rows))
        raise InputError(str(path), f"at least {needed} rows", len(matrix), "Match the nodes.")
    if np.array_equal(rows, np.arange(len(matrix))) and matrix.dtype == np.float32:
        return np.array(matrix)
    result = np.empty((len(rows), matrix.shape[1]), np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, len(rows), _ROWS_AT_A_TIME):
            part = slice(start, start + _ROWS_AT_A_TIME)
            result[part] = matrix[rows[part]]
    return result
