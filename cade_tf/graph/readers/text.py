"""Text files in UTF-8, also gzipped, with errors that name the line."""

import contextlib
import csv
import gzip
import io
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

from cade_tf.errors import InputError

GZIP = b"\x1f\x8b"
_DAMAGED = (gzip.BadGzipFile, EOFError, zlib.error)


class _Watched(io.FileIO):
    """A file that tells how much of it has been read."""

    def __init__(self, path: Path, progress: Callable[[int], None]) -> None:
        super().__init__(path)
        self._progress = progress

    def readinto(self, buffer: Any) -> int | None:
        count = super().readinto(buffer)
        self._progress(count or 0)
        return count


@contextlib.contextmanager
def open_text(path: Path, progress: Callable[[int], None] = lambda _: None) -> Iterator[TextIO]:
    """Opens a text file; a mistake met while reading it is told as an `InputError`.

    Args:
        path: The file, plain or gzipped.
        progress: Called with the number of bytes read since the last call.

    Yields:
        The file, to be read line by line.

    Raises:
        InputError: Empty, not UTF-8, or a damaged gzip.
    """
    with open(path, "rb") as start:
        first = start.read(2)
    if not first:
        raise InputError(str(path), "text", "an empty file", "Check the path.")
    try:
        with io.BufferedReader(_Watched(path, progress), 1 << 16) as plain:
            content: Any = gzip.GzipFile(fileobj=plain) if first == GZIP else plain
            with io.TextIOWrapper(content, "utf-8-sig") as text:
                yield text
    except UnicodeDecodeError as error:
        raise _not_utf8(path, first == GZIP) from error
    except _DAMAGED as error:
        raise InputError(
            str(path), "a gzip file", f"a damaged one ({error})", "Copy it again."
        ) from error


def _not_utf8(path: Path, zipped: bool) -> InputError:
    opener: Any = gzip.open if zipped else open
    with opener(path, "rb") as lines, contextlib.suppress(*_DAMAGED):
        for number, line in enumerate(lines, start=1):
            try:
                line.decode()
            except UnicodeDecodeError as error:
                return InputError(
                    f"{path}, line {number}",
                    "text in UTF-8",
                    f"byte 0x{line[error.start]:02x}",
                    "Convert it; from Latin-1 by iconv -f latin1 -t utf8.",
                )
    return InputError(str(path), "text in UTF-8", "another encoding", "Convert it.")


def delimiter_of(line: str) -> str | None:
    """Tab, comma or semicolon, whichever a line has; None for other white space."""
    return next((mark for mark in "\t,;" if mark in line), None)


def fields_of(line: str, mark: str | None) -> list[str]:
    """The fields of one line without quotes."""
    fields = line.split(mark)
    if mark is not None:
        fields = [field.strip() for field in fields]
    return [field.strip('"') for field in fields] if '"' in line else fields


def quoted_fields(line: str, mark: str | None, place: str) -> list[str]:
    """The fields of one line, which quotes may hold together.

    A quote that is not closed would take the lines that follow into its field.

    Raises:
        InputError: Quotes that are not closed in the same line.
    """
    if mark is None or '"' not in line:
        return fields_of(line, mark)
    try:
        fields = next(csv.reader([line.rstrip("\r\n")], delimiter=mark, strict=True))
    except csv.Error as error:
        raise InputError(place, "quotes closed in their line", str(error), "Correct it.") from error
    return [field.strip() for field in fields]


def is_number(field: str) -> bool:
    """Whether a field is a number, NaN and infinity included."""
    try:
        float(field)
    except ValueError:
        return False
    return True
