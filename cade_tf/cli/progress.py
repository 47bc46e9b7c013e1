"""A progress line with speed and time left, quiet when nobody watches."""

import shutil
import sys
import time
from types import TracebackType
from typing import Self, TextIO


class Progress:
    """Shows how far long work has come.

    On a terminal one line is redrawn in place; elsewhere a plain line appears every
    `plain_seconds`, and nothing at all for work shorter than that.

    Args:
        title: What is being done.
        total: Units of work; None where unknown.
        unit: Name of a unit.
        plain_seconds: Seconds between lines when the output is not a terminal.
        quiet: Whether to show nothing at all.
        stream: Where to write; standard error by default.

    Example:

    >>> with Progress("embedding", total=2, unit="nodes") as progress:
    ...     progress.advance(2)
    """

    def __init__(
        self,
        title: str,
        total: int | None = None,
        unit: str = "it",
        *,
        plain_seconds: float = 30.0,
        quiet: bool = False,
        stream: TextIO | None = None,
    ) -> None:
        self.title = title
        self.total = total
        self.unit = unit
        self.plain_seconds = plain_seconds
        self.quiet = quiet
        self.stream = stream or sys.stderr
        self.done = 0
        self.note = ""
        self._started = self._shown = time.monotonic()
        self._first = 0
        self._terminal = bool(getattr(self.stream, "isatty", lambda: False)())

    def __enter__(self) -> Self:
        return self

    def start_at(self, done: int) -> None:
        """Counts work done earlier (a resumed run) without letting it flatter the speed."""
        self.done = self._first = done
        self._started = time.monotonic()

    def advance(self, units: int = 1, note: str = "") -> None:
        """Counts finished units; `note` is shown behind the numbers."""
        self.done += units
        self.note = note
        now = time.monotonic()
        if now - self._shown >= (0.1 if self._terminal else self.plain_seconds):
            self._shown = now
            self._draw()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._terminal and not self.quiet:
            self._draw()
            self.stream.write("\n")
            self.stream.flush()

    def _draw(self) -> None:
        if self.quiet:
            return
        text = self.line()
        if self._terminal:
            # A line that wraps could not be redrawn in place.
            text = "\r\x1b[K" + text[: shutil.get_terminal_size().columns - 1]
        else:
            text += "\n"
        self.stream.write(text)
        self.stream.flush()

    def line(self) -> str:
        """The line as shown now."""
        seconds = max(time.monotonic() - self._started, 1e-9)
        speed = (self.done - self._first) / seconds
        parts = [self.title]
        if self.total:
            share = min(self.done / self.total, 1.0)
            filled = round(20 * share)
            parts.append("█" * filled + "░" * (20 - filled))
            parts.append(f"{self.done:,}/{self.total:,} {self.unit}")
        else:
            parts.append(f"{self.done:,} {self.unit}")
        parts.append(f"{speed:,.1f} {self.unit}/s")
        if self.total and speed > 0:
            parts.append(f"{_clock((self.total - self.done) / speed)} left")
        if self.note:
            parts.append(self.note)
        return "  ".join(parts)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
