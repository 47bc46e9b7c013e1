"""npy files: headers read by a strict pattern, matrices mapped, every damage told.

NumPy reads a header with Python's own parser, which a damaged or hostile one can make raise nearly
anything. NumPy writes plain arrays in one form only, and that form is all that is taken here.
"""

import math
import re
from pathlib import Path
from typing import IO, Any

import numpy as np

from cade_tf.errors import InputError

MAGIC = b"\x93NUMPY"

_LONGEST = 1 << 16
_ROWS_AT_A_TIME = 8192
_PATTERN = re.compile(
    r"\{'descr': '([<>|=]?[biufcSUO]\d*)', "
    r"'fortran_order': (False|True), "
    r"'shape': \(((?:\d{1,19}L?(?:, ?|))*)\),? ?\}\s*"
)


def read_header(file: IO[bytes]) -> tuple[tuple[int, ...], bool, np.dtype]:
    """Shape, whether in Fortran's order, and dtype; leaves the file where the content begins.

    Args:
        file: A file at the start of an npy.

    Raises:
        ValueError: It is no npy of plain numbers, text or objects.

    Example:

    >>> import io
    >>> file = io.BytesIO()
    >>> np.save(file, np.zeros((2, 3)))
    >>> _ = file.seek(0)
    >>> read_header(file)
    ((2, 3), False, dtype('float64'))
    """
    start = file.read(8)
    if not start.startswith(MAGIC) or len(start) < 8:
        raise ValueError("no npy")
    size_bytes = 2 if start[6] == 1 else 4
    length = int.from_bytes(file.read(size_bytes), "little")
    if length > _LONGEST:
        raise ValueError(f"a header of {length} bytes")
    header = file.read(length)
    match = _PATTERN.fullmatch(header.decode("latin1"))
    if len(header) != length or match is None:
        raise ValueError("a header that NumPy does not write for plain arrays")
    try:
        dtype = np.dtype(match[1])
    except TypeError as error:
        raise ValueError(str(error)) from error
    shape = tuple(int(size) for size in re.findall(r"\d+", match[3]))
    if math.prod(shape) * dtype.itemsize >= 2**62:
        raise ValueError(f"shape {shape}")
    return shape, match[2] == "True", dtype


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
