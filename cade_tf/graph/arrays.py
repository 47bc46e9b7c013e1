"""Named arrays in one npz: uncompressed, aligned, without pickles, memory-mapped when large.

The file is an ordinary npz that `numpy.load` reads. Each array begins at a multiple of 64 bytes,
so that a mapped array is as fast as one in memory, and the same arrays give the same bytes.
"""

import math
import struct
import zipfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from cade_tf.errors import InputError
from cade_tf.files import atomic_write
from cade_tf.graph.npy import read_header

MAP_BYTES = 1 << 20
"""Smaller arrays are read: a mapping costs an open file and a page fault each."""

_ALIGNMENT = 64
_LOCAL_HEADER = 30
_ZIP64_EXTRA = 20
_PADDING_ID = 0xCADE
_PIECE = 1 << 20


def write_arrays(path: str | Path, arrays: Mapping[str, np.ndarray]) -> None:
    """Writes arrays as an npz that replaces an older one only when complete.

    Args:
        path: The file, with its suffix.
        arrays: Arrays by name; none of objects.
    """
    with atomic_write(path) as file, zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy")
            member.extra = _padding(file.tell(), member.filename)
            with archive.open(member, "w", force_zip64=True) as target:
                npy.write_array(target, np.asanyarray(array), allow_pickle=False)


def _padding(offset: int, name: str) -> bytes:
    """An extra field of the zip entry, as long as it takes to align what follows it."""
    start = offset + _LOCAL_HEADER + len(name.encode()) + _ZIP64_EXTRA + 4
    return struct.pack("<HH", _PADDING_ID, -start % _ALIGNMENT) + bytes(-start % _ALIGNMENT)


def read_arrays(
    path: str | Path, *, memory_map: bool = True, only: Sequence[str] | None = None
) -> dict[str, np.ndarray]:
    """Reads an npz without ever unpickling.

    Args:
        path: The file.
        memory_map: Whether large uncompressed arrays stay on disk until they are touched.
        only: Names of the arrays that are wanted; all by default.

    Returns:
        The arrays by name; mapped ones are read-only.

    Raises:
        InputError: Not an npz, damaged, or with arrays of objects.
    """
    path = Path(path)
    with open_archive(path) as archive, open(path, "rb") as file:
        arrays = {}
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if only is not None and name not in only:
                continue
            array = _mapped(path, file, member) if memory_map else None
            arrays[name] = read_member(archive, path, name) if array is None else array
        return arrays


def member_names(path: str | Path) -> list[str]:
    """Names of the arrays in an npz.

    Raises:
        InputError: Not an npz, or a damaged one.
    """
    with open_archive(Path(path)) as archive:
        return [name.removesuffix(".npy") for name in archive.namelist()]


def read_some(path: str | Path, names: Sequence[str], **options: Any) -> dict[str, np.ndarray]:
    """Reads arrays of an npz that must hold them; options as of `read_arrays`.

    Raises:
        InputError: It is no npz or lacks one of them.
    """
    members = read_arrays(path, only=names, **options)
    missing = next((name for name in names if name not in members), None)
    if missing is not None:
        held = ", ".join(member_names(path)) or "none"
        raise InputError(str(path), f"an array {missing!r}", held, "Copy or write it again.")
    return members


def read_exactly(path: str | Path, names: Sequence[str]) -> dict[str, np.ndarray]:
    """Reads an npz that must hold exactly these arrays, into memory.

    Raises:
        InputError: It is no npz or holds others.
    """
    members = read_arrays(path, memory_map=False)
    if set(members) != set(names):
        raise InputError(
            str(path),
            "the arrays " + ", ".join(names),
            ", ".join(members) or "none",
            "Give a file of this kind.",
        )
    return members


def open_archive(path: Path) -> zipfile.ZipFile:
    """Opens an npz as the zip file it is.

    Raises:
        InputError: Not a zip file, or a damaged one.
    """
    if path.is_file() and path.stat().st_size == 0:
        raise InputError(str(path), "an npz file", "an empty file", "Copy or write it again.")
    try:
        return zipfile.ZipFile(path)
    except (FileNotFoundError, IsADirectoryError, PermissionError, MemoryError):
        raise
    except Exception as error:
        # A damaged directory of the archive can make zipfile raise nearly anything.
        raise InputError(
            str(path), "an npz file", f"damaged or other content ({error})", "Write it again."
        ) from error


def read_member(
    archive: zipfile.ZipFile,
    path: Path,
    name: str,
    unpickle: Callable[[IO[bytes], Path], Any] | None = None,
) -> np.ndarray:
    """Reads one array of an open npz into memory, its checksum checked.

    Args:
        archive: The npz.
        path: Its path, to be named in errors.
        name: Name of the array.
        unpickle: Reads arrays of objects, given the file at the pickle; without it they are
            refused.

    Raises:
        InputError: The array is damaged or holds objects.
    """
    try:
        with archive.open(f"{name}.npy") as source:
            shape, fortran, dtype = read_header(source)
            if dtype.hasobject:
                if unpickle is None:
                    raise InputError(
                        f"{path}, array {name!r}",
                        "a plain array",
                        "an array of Python objects",
                        "Write the file again without objects.",
                    )
                return np.asarray(unpickle(source, path))
            return _content(source, shape, fortran, dtype, archive.getinfo(f"{name}.npy"))
    except InputError:
        raise
    except Exception as error:
        # A damaged file can make the zip reader raise nearly anything.
        raise InputError(
            f"{path}, array {name!r}",
            "a plain array",
            f"damaged content ({error})",
            "Copy or write it again.",
        ) from error


def _content(
    source: IO[bytes],
    shape: tuple[int, ...],
    fortran: bool,
    dtype: np.dtype,
    member: zipfile.ZipInfo,
) -> np.ndarray:
    """The array that follows a header; no more memory is taken than the archive says it has."""
    size = math.prod(shape) * dtype.itemsize
    if source.tell() + size != member.file_size:
        raise ValueError(f"{member.file_size} bytes for shape {shape} of {dtype}")
    content = np.empty(size, np.uint8)
    done = 0
    while piece := source.read(_PIECE):
        content[done : done + len(piece)] = np.frombuffer(piece, np.uint8)
        done += len(piece)
    if done != size:
        raise ValueError(f"{done} bytes where {size} should be")
    return content.view(dtype).reshape(shape, order="F" if fortran else "C")


def _mapped(path: Path, file: IO[bytes], member: zipfile.ZipInfo) -> np.ndarray | None:
    """The array as a mapping of the file; None where it is small, compressed or unaligned."""
    if member.compress_type != zipfile.ZIP_STORED or member.file_size < MAP_BYTES:
        return None
    try:
        return _memory_map(path, file, member)
    except Exception:
        # Whatever a damaged header makes NumPy raise: `read_member` tells what is wrong.
        return None


def _memory_map(path: Path, file: IO[bytes], member: zipfile.ZipInfo) -> np.ndarray | None:
    file.seek(member.header_offset)
    header = file.read(_LOCAL_HEADER)
    name_length, extra_length = struct.unpack("<HH", header[26:30])
    start = member.header_offset + _LOCAL_HEADER + name_length + extra_length
    file.seek(start)
    shape, fortran, dtype = read_header(file)
    offset = file.tell()
    size = math.prod(shape) * dtype.itemsize
    complete = offset - start + size == member.file_size
    if dtype.hasobject or offset % max(dtype.alignment, 1) or not complete or not size:
        return None
    order: Any = "F" if fortran else "C"
    mapped = np.memmap(path, dtype, mode="r", offset=offset, shape=shape, order=order)
    return np.asarray(mapped)
