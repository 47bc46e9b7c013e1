"""The header of an npy array, read by a strict pattern.

NumPy reads it with Python's own parser, which a damaged or hostile header can make raise nearly
anything. NumPy writes plain arrays in one form only, and that form is all that is taken here.
"""

import math
import re
from typing import IO

import numpy as np

MAGIC = b"\x93NUMPY"

_LONGEST = 1 << 16
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
