"""MATLAB files of version 5 to 7, read with every length checked before it is used.

The format is a row of elements, each with a type, a length and padding to 8 bytes; a matrix is an
element that holds others. Compressed elements are zlib streams. Matrices of numbers, dense and
sparse, are read; what else a file holds is only named. `scipy.io.loadmat` ends the whole process
on some damaged files, by a segmentation fault that nobody can catch.

Reference: MAT-File Format, The MathWorks.
"""

import dataclasses
import math
import struct
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from cade_tf.errors import InputError
from cade_tf.graph.validation import sparse_matrix

HDF5 = b"\x89HDF"
HEADER = 128
_MATRIX, _COMPRESSED = 14, 15
_TYPES = {
    1: "i1",
    2: "u1",
    3: "i2",
    4: "u2",
    5: "i4",
    6: "u4",
    7: "f4",
    9: "f8",
    12: "i8",
    13: "u8",
    16: "u1",
}
"""Types of elements that hold numbers or characters."""

_NUMERIC = range(6, 16)
_SPARSE = 5
_OTHERS = {1: "a cell array", 2: "a struct", 3: "an object", 4: "text", 16: "a function"}
_COMPLEX = 0x0800


class _Damaged(ValueError):
    """A file that contradicts itself."""


@dataclasses.dataclass(frozen=True)
class Other:
    """A variable that holds no matrix of numbers.

    Args:
        kind: What it holds.
    """

    kind: str


def read_variables(path: Path) -> dict[str, Any]:
    """Reads all variables of a file.

    Returns:
        By name: a dense array, a CSC array, or `Other`.

    Raises:
        InputError: The file is damaged, or of version 7.3.
    """
    content = path.read_bytes()
    mark = content[126:128]
    order = "<" if mark == b"IM" else ">"
    newer = content.startswith(HDF5)
    if not newer:
        if len(content) < HEADER or mark not in (b"IM", b"MI"):
            raise InputError(str(path), "a MATLAB file", "no header of one", "Copy it again.")
        newer = struct.unpack(f"{order}H", content[124:126])[0] != 0x0100
    if newer:
        raise InputError(
            str(path),
            "a MATLAB file up to version 7",
            "version 7.3 (HDF5)",
            "Save it in MATLAB with -v7.",
        )
    try:
        return dict(_variables(memoryview(content)[HEADER:], order))
    except (_Damaged, zlib.error, UnicodeDecodeError) as error:
        raise InputError(
            str(path), "a MATLAB file", f"damaged content ({error})", "Copy it again."
        ) from error


def _variables(content: memoryview, order: str) -> Iterator[tuple[str, Any]]:
    position = 0
    while position < len(content):
        kind, body, position = _element(content, position, order)
        if kind == _COMPRESSED:
            kind, body = _decompressed(body, order)
        if kind == _MATRIX:
            yield _variable(body, order)


def _element(content: memoryview, position: int, order: str) -> tuple[int, memoryview, int]:
    """Type and content of the element at a position, and where the next one begins."""
    if position + 8 > len(content):
        raise _Damaged("an element is cut off")
    kind, size = struct.unpack_from(f"{order}II", content, position)
    if kind >> 16:
        # A small element has its length and up to 4 bytes in the tag itself.
        kind, size = kind & 0xFFFF, kind >> 16
        if size > 4:
            raise _Damaged(f"a small element of {size} bytes")
        return kind, content[position + 4 : position + 4 + size], position + 8
    end = position + 8 + size
    if end > len(content):
        raise _Damaged(f"an element of {size} bytes where {len(content) - position - 8} are left")
    padding = 0 if kind == _COMPRESSED else -size % 8
    return kind, content[position + 8 : end], end + padding


def _decompressed(body: memoryview, order: str) -> tuple[int, memoryview]:
    """The one element in a zlib stream; no more is unpacked than its tag says."""
    stream = zlib.decompressobj()
    tag = stream.decompress(body, 8)
    if len(tag) < 8:
        raise _Damaged("a compressed element is cut off")
    kind, size = struct.unpack(f"{order}II", tag)
    content = stream.decompress(stream.unconsumed_tail, size) if size else b""
    if len(content) != size:
        raise _Damaged(f"a compressed element of {size} bytes holds {len(content)}")
    # The end of the stream has a checksum, which is compared when it is reached.
    stream.decompress(stream.unconsumed_tail, 8)
    if not stream.eof:
        raise _Damaged("a compressed element is cut off, or holds more than its matrix")
    return kind, memoryview(content)


def _variable(body: memoryview, order: str) -> tuple[str, Any]:
    flags, position = _numbers(body, 0, order)
    if len(flags) != 2:
        raise _Damaged("a matrix without flags")
    shape, position = _numbers(body, position, order)
    kind = int(flags[0]) & 0xFF
    if kind == 17:
        # An object of a class of MATLAB's own has no name here.
        return "", Other("an object")
    encoded, position = _numbers(body, position, order)
    name = encoded.astype(np.uint8).tobytes().decode("ascii")
    dimensions = tuple(int(size) for size in shape)
    if len(dimensions) < 2 or min(dimensions) < 0:
        raise _Damaged(f"{name or 'a matrix'} of shape {dimensions}")
    if int(flags[0]) & _COMPLEX:
        return name, Other("complex numbers")
    if kind == _SPARSE:
        return name, _sparse(name, body, position, order, dimensions)
    if kind in _NUMERIC:
        return name, _dense(name, body, position, order, dimensions)
    return name, Other(_OTHERS.get(kind, "content of an unknown kind"))


def _numbers(body: memoryview, position: int, order: str) -> tuple[np.ndarray, int]:
    """The numbers of an element, and where the next one begins."""
    kind, content, position = _element(body, position, order)
    if kind not in _TYPES:
        raise _Damaged(f"an element of type {kind} where numbers should be")
    dtype = np.dtype(_TYPES[kind]).newbyteorder("<" if order == "<" else ">")
    if len(content) % dtype.itemsize:
        raise _Damaged(f"{len(content)} bytes of numbers of {dtype.itemsize} bytes")
    values = np.frombuffer(content, dtype)
    return values.astype(dtype.newbyteorder("=")), position


def _dense(
    name: str, body: memoryview, position: int, order: str, shape: tuple[int, ...]
) -> np.ndarray:
    values, _ = _numbers(body, position, order)
    if len(values) != math.prod(shape):
        raise _Damaged(f"{name} of shape {shape} with {len(values)} numbers")
    return values.reshape(shape, order="F")


def _sparse(
    name: str, body: memoryview, position: int, order: str, shape: tuple[int, ...]
) -> sp.csc_array:
    rows, position = _numbers(body, position, order)
    starts, position = _numbers(body, position, order)
    values, _ = _numbers(body, position, order)
    if (
        len(shape) != 2
        or len(starts) != shape[1] + 1
        or {rows.dtype.kind, starts.dtype.kind} - {*"iu"}
    ):
        raise _Damaged(f"{name} of shape {shape} with {len(starts)} starts of columns")
    entries = int(starts[-1])
    if not 0 <= entries <= min(len(rows), len(values)):
        raise _Damaged(f"{name} of {entries} entries with {len(rows)} rows, {len(values)} values")
    parts = (values[:entries], rows[:entries], starts)
    try:
        return sparse_matrix(name, parts, shape, sp.csc_array)
    except InputError as error:
        raise _Damaged(str(error)) from error
