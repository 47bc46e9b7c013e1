"""Checkpoints that survive a kill, a full disk and a damaged file."""

import contextlib
import errno
import logging
import os
import re
import shutil
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Protocol

import tensorflow as tf

from cade_tf.errors import InputError

PREFIX = "step"
BEST_FOLDER = "best"
FILE_SUFFIX = ".rows"

_log = logging.getLogger(__name__)
_UNREADABLE = (tf.errors.OpError, ValueError, AssertionError, LookupError, RuntimeError)


class FileState(Protocol):
    """State that is too large for variables and is copied as a file of its own."""

    def save(self, path: Path) -> None:
        """Writes a copy, and sets whatever variable tells that it is the right one."""

    def restore(self, path: Path) -> None:
        """Reads a copy back; ValueError where it is missing, damaged or not the right one."""


class Checkpoints:
    """The newest checkpoints of a run, and that of its best step.

    TensorFlow writes a checkpoint under a temporary name first, so a kill leaves either a complete
    one or none; each tensor carries a checksum, so damage is noticed when it is read.

    Args:
        folder: Where they are kept.
        state: What a run consists of, by name: models, optimisers, variables.
        model: The part of it that the best step is about.
        keep: How many of the newest are kept.
        writes: Whether this process may write; of several workers only the chief may.
        files: State that is not in variables. Its copy is there before the rest of a checkpoint is,
            so that a checkpoint either has it or does not count.

    Example:

    >>> import tempfile
    >>> counter = tf.Variable(7)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     checkpoints = Checkpoints(Path(folder), {"counter": counter}, counter, keep=2)
    ...     checkpoints.save(7)
    ...     _ = counter.assign(0)
    ...     checkpoints.restore(), int(counter.numpy())
    (7, 7)
    """

    def __init__(
        self,
        folder: Path,
        state: Mapping[str, Any],
        model: Any,
        *,
        keep: int,
        writes: bool = True,
        files: FileState | None = None,
    ) -> None:
        self.folder = folder
        self._files = files
        self.writes = writes
        self.keep = keep
        if writes and folder.is_dir():
            _sweep(folder)
        self._checkpoint = tf.train.Checkpoint(**state)
        self._best = tf.train.Checkpoint(model=model)

    def restore(self) -> int | None:
        """Reads the newest checkpoint that is whole.

        Returns:
            Its step; None where there is no checkpoint at all.

        Raises:
            InputError: There are checkpoints, but none can be read.
        """
        paths = saved(self.folder)
        for path in reversed(paths):
            try:
                self._checkpoint.read(str(path)).assert_consumed()
                if self._files is not None:
                    self._files.restore(path.with_suffix(FILE_SUFFIX))
            except tf.errors.UnavailableError:
                # A machine that went away says nothing about the file.
                raise
            except _UNREADABLE as error:
                _log.warning(
                    "The checkpoint %s is damaged (%s); trying the one before it.",
                    path,
                    str(error).strip().splitlines()[0][:200],
                )
                continue
            return step_of(path)
        if not paths:
            return None
        raise InputError(
            str(self.folder),
            "a checkpoint that can be read",
            f"{len(paths)} damaged ones, or of another version of cade_tf",
            "Start afresh, or restore the files.",
        )

    def save(self, step: int) -> None:
        """Writes a checkpoint, then drops the oldest beyond those kept.

        Raises:
            OSError: It cannot be written; the earlier ones are as they were.
        """
        try:
            if self._files is not None and self.writes:
                self._files.save(self.folder / f"{PREFIX}-{step}{FILE_SUFFIX}")
            self._save(self._checkpoint, self.folder, step, self.keep)
        finally:
            if self._files is not None and self.writes:
                # Copies of checkpoints that were dropped, or never became complete.
                _sweep(self.folder)

    def save_best(self, step: int) -> None:
        """Writes the model of the best step, then drops the one before."""
        self._save(self._best, self.folder / BEST_FOLDER, step, keep=1)

    def restore_best(self, step: int) -> None:
        """Reads the model of the best step back.

        Raises:
            InputError: It is missing or damaged.
        """
        path = self.folder / BEST_FOLDER / f"{PREFIX}-{step}"
        try:
            self._best.read(str(path)).assert_consumed()
        except _UNREADABLE as error:
            raise InputError(
                str(path), "the checkpoint of the best step", error, "Start afresh."
            ) from error

    def _save(self, checkpoint: tf.train.Checkpoint, folder: Path, step: int, keep: int) -> None:
        if not self.writes:
            return
        path = folder / f"{PREFIX}-{step}"
        try:
            with writing_to(self.folder):
                folder.mkdir(parents=True, exist_ok=True)
                checkpoint.write(str(path))
                _flush_to_disk(path)
        except OSError:
            _sweep(self.folder)
            raise
        for old in [found for found in saved(folder) if found != path][: -keep + 1 or None]:
            _drop(old)


def saved(folder: Path) -> list[Path]:
    """Checkpoints of a folder, oldest first, by the name that TensorFlow gives them."""
    found = [path.with_suffix("") for path in folder.glob(f"{PREFIX}-*.index")]
    return sorted((path for path in found if _numbered(path)), key=step_of)


def step_of(path: Path) -> int:
    """Step of a checkpoint."""
    return int(path.name.removeprefix(f"{PREFIX}-"))


def _numbered(path: Path) -> bool:
    return re.fullmatch(rf"{PREFIX}-\d+", path.name) is not None


def _sweep(folder: Path) -> None:
    """Removes what writes that were killed or failed have left."""
    incomplete = (
        data
        for data in (*folder.glob("**/*.data-00000-of-00001"), *folder.glob(f"*{FILE_SUFFIX}"))
        if not data.with_suffix(".index").exists()
    )
    temporary = (
        *folder.glob("**/*_temp"),
        *folder.glob("**/*.tempstate*"),
        *folder.glob(f".{PREFIX}-*.part"),
    )
    for leftover in (*temporary, *incomplete):
        if leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)


def _drop(path: Path) -> None:
    """Removes a checkpoint, the index first: without it the rest does not count."""
    path.with_suffix(".index").unlink(missing_ok=True)
    for file in _files(path):
        file.unlink(missing_ok=True)


def _files(path: Path) -> list[Path]:
    # Not by a pattern: Python keeps some hundred compiled ones, and each checkpoint has its own.
    return [file for file in path.parent.iterdir() if file.name.startswith(f"{path.name}.")]


def _flush_to_disk(path: Path) -> None:
    """A machine that loses power then loses no checkpoint that was reported as written."""
    # The folder too: it says that the files are there.
    for file in (*_files(path), path.parent):
        handle = os.open(file, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


@contextlib.contextmanager
def writing_to(folder: Path) -> Iterator[None]:
    """Turns TensorFlow's errors about a disk into the OSError that they are.

    Raises:
        OSError: Something could not be written to the folder.
    """
    try:
        yield
    except (tf.errors.ResourceExhaustedError, tf.errors.OutOfRangeError) as error:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(folder)) from error
    except (
        tf.errors.UnknownError,
        tf.errors.PermissionDeniedError,
        tf.errors.FailedPreconditionError,
        tf.errors.NotFoundError,
    ) as error:
        raise OSError(f"{folder} cannot be written: {error.message}") from error
