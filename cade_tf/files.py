"""Files that are either complete or not there."""

import contextlib
import json
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from cade_tf.errors import InputError


@contextlib.contextmanager
def atomic_write(path: str | Path) -> Iterator[BinaryIO]:
    """Opens a binary file that takes its name only when everything has been written.

    Folders on the way are made. After an error, or a lost machine, an older file of that name is
    as it was.

    Args:
        path: Where the complete file appears.

    Yields:
        A file to write to.

    Raises:
        InputError: The path is a folder.

    Example:

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with atomic_write(Path(folder) / "example.txt") as file:
    ...         _ = file.write(b"complete")
    """
    path = Path(path)
    if path.is_dir():
        raise InputError(str(path), "a file to write", "a folder", "Add a file name.")
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".part")
    try:
        with os.fdopen(handle, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(name)
        raise


def write_text(path: str | Path, text: str) -> None:
    """Writes text, complete or not at all."""
    with atomic_write(path) as file:
        file.write(text.encode())


def write_json(path: str | Path, value: Any) -> None:
    """Writes JSON that people can read, complete or not at all."""
    write_text(path, json.dumps(value, indent=2) + "\n")


def _umask() -> int:
    """The permissions that the user's files do not get; mkstemp ignores this mask."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
