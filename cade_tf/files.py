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


def read_json(path: str | Path, remedy: str = "Restore the file.") -> dict[str, Any]:
    """Reads a JSON object.

    Raises:
        InputError: The file is damaged, or holds JSON of another kind.
        OSError: It cannot be read.
    """
    try:
        value = json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError) as error:
        raise InputError(
            str(path), "complete JSON", f"damaged content ({error})", remedy
        ) from error
    if not isinstance(value, dict):
        raise InputError(str(path), "a JSON object", type(value).__name__, remedy)
    return value


def _umask() -> int:
    """The permissions that the user's files do not get; mkstemp ignores this mask."""
    mask = os.umask(0)
    os.umask(mask)
    return mask
