"""One writer per run directory: a lock that the system releases when its holder dies."""

import contextlib
import datetime
import errno
import fcntl
import json
import logging
import os
import re
import shutil
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

from cade_tf.errors import InputError

LOCK_FILE = "run.lock"

_LEFTOVER = re.compile(r"\..+\.[a-z0-9_]{8}\.part|\.saving-[a-z0-9_]{8}")
_OWN_FOLDERS = (".", "encoder", "checkpoints", "embeddings", "train")
_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.ENOTSUP, errno.EOPNOTSUPP, errno.EINVAL)

_held: dict[Path, int] = {}
"""Run directories that this process holds, and the thread that does."""

_log = logging.getLogger(__name__)


@contextlib.contextmanager
def hold(run_dir: str | Path, *, needed: bool = True) -> Iterator[None]:
    """Holds a run directory against all others that would write into it.

    The lock lies in the folder and carries process, machine and time of its holder. It ends with
    the block, or with the process, however that ends. Inside the block the same thread may hold
    the folder again. What writers that were killed have left is removed first.

    Args:
        run_dir: The folder; it is made where it does not exist.
        needed: Whether this process writes there at all; if not, nothing happens.

    Raises:
        InputError: Another process, which the message names, or another thread holds it.

    Example:

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder, hold(folder):
    ...     sorted(os.listdir(folder))
    ['run.lock']
    """
    folder = Path(run_dir).resolve()
    if not needed or _held.get(folder) == threading.get_ident():
        yield
        return
    if folder in _held:
        raise _refusal(run_dir, f"another thread of this process ({os.getpid()})")
    folder.mkdir(parents=True, exist_ok=True)
    handle = _acquire(folder, run_dir)
    _held[folder] = threading.get_ident()
    try:
        if handle is not None:
            remove_leftovers(folder)
        yield
    finally:
        del _held[folder]
        if handle is not None:
            # Unlinked before the lock ends: `_acquire` notices a file that is no longer there.
            with contextlib.suppress(FileNotFoundError):
                os.unlink(folder / LOCK_FILE)
            os.close(handle)


def remove_leftovers(folder: Path) -> None:
    """Removes what killed writers of a run left in its folder; only for the holder of the lock."""
    for place in _OWN_FOLDERS:
        for path in (folder / place).glob(".*"):
            if not _LEFTOVER.fullmatch(path.name):
                continue
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
            _log.info("Removed %s, which a killed process left.", path)


def _lock(handle: int) -> bool:
    """Whether an open file could be locked; False where somebody else holds it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            return False
        raise
    return True


def _acquire(folder: Path, shown: str | Path) -> int | None:
    """An open, locked file with our name in it; None on a file system without locks."""
    path = folder / LOCK_FILE
    while True:
        handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        try:
            if not _lock(handle):
                raise _refusal(shown, _holder(handle))
        except OSError as error:
            os.close(handle)
            if error.errno not in _NO_LOCKS:
                raise
            path.unlink(missing_ok=True)
            _log.warning(
                "The file system of %s has no locks (%s): make sure that no other process "
                "writes there.",
                shown,
                error.strerror,
            )
            return None
        except InputError:
            os.close(handle)
            raise
        if _is_at(handle, path):
            break
        # The holder before us ended, and deleted the file that we had opened.
        os.close(handle)
    os.ftruncate(handle, 0)
    now = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    holder = {"pid": os.getpid(), "host": socket.gethostname(), "since": now}
    os.pwrite(handle, json.dumps(holder).encode(), 0)
    return handle


def _is_at(handle: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), os.stat(path))
    except FileNotFoundError:
        return False


def _holder(handle: int) -> str:
    """Who wrote the lock file; its holder may not have come to write it yet."""
    try:
        found = json.loads(os.pread(handle, 4096, 0))
        return f"process {found['pid']} on {found['host']} since {found['since']}"
    except (ValueError, KeyError, TypeError):
        return "another process"


def _refusal(run_dir: str | Path, holder: str) -> InputError:
    return InputError(
        "run_dir",
        "a folder that nobody else writes to",
        f"{run_dir}, held by {holder}",
        "Wait until that has ended, or choose another run_dir.",
    )
