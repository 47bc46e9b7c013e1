"""How far long work has come: a bar with speed and time left, quiet when nobody watches."""

import html
import os
import sys
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol, Self, TextIO, TypeAlias

SHORT_SECONDS = 0.5
"""Work that takes no longer leaves nothing on the screen."""


class Bar(Protocol):
    """What shows the progress of some work: a context manager that counts units."""

    def __enter__(self) -> Self:
        """Begins to show."""

    def __exit__(self, *error: object) -> None:
        """Ends."""

    def start_at(self, done: int) -> None:
        """Counts work done earlier (a resumed run)."""

    def advance(self, units: int = 1, note: str = "") -> None:
        """Counts finished units; `note` is shown after the numbers."""


class Progress:
    """Shows how far long work has come.

    A terminal gets a bar (by rich), a notebook a bar in the cell's output, anything else a plain
    line every `plain_seconds`. Nothing remains of short work.

    Args:
        title: What is being done.
        total: Units of work; None where unknown.
        unit: Name of a unit.
        plain_seconds: Seconds between lines where there is neither terminal nor notebook.
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
        self.done = 0
        self.note = ""
        self._first = 0
        self._started = time.monotonic()
        self._view = _view(self, plain_seconds, quiet, stream)

    def __enter__(self) -> Self:
        self._entered = time.monotonic()
        self._view.begin()
        return self

    def start_at(self, done: int) -> None:
        """Counts work done earlier (a resumed run) without letting it flatter the speed."""
        self.done = self._first = done
        self._started = time.monotonic()

    def advance(self, units: int = 1, note: str = "") -> None:
        """Counts finished units; `note` is shown after the numbers."""
        self.done += units
        self.note = note
        self._view.update()

    def __exit__(self, *error: object) -> None:
        self._view.end(remains=time.monotonic() - self._entered > SHORT_SECONDS)

    def share(self) -> float | None:
        """Done of the total, from 0 to 1; None without a total."""
        return min(self.done / self.total, 1.0) if self.total else None

    def numbers(self) -> str:
        """Units done, speed, time left and the note, as shown now."""
        seconds = max(time.monotonic() - self._started, 1e-9)
        speed = (self.done - self._first) / seconds
        of_total = f"/{self.total:,}" if self.total else ""
        parts = [f"{self.done:,}{of_total} {self.unit}", f"{speed:,.1f} {self.unit}/s"]
        if self.total and self.done >= self.total:
            parts.append(f"in {_clock(seconds)}")
        elif self.total and speed > 0:
            parts.append(f"{_clock((self.total - self.done) / speed)} left")
        if self.note:
            parts.append(self.note)
        return "  ".join(parts)


class _View:
    """Where a `Progress` is shown; this one shows nothing."""

    def __init__(self, progress: Progress) -> None:
        self.progress = progress

    def begin(self) -> None:
        """Work begins."""

    def update(self) -> None:
        """Some work was done."""

    def end(self, *, remains: bool) -> None:
        """Work has ended, and was worth a line that remains or not."""


class _Plain(_View):
    """A line now and then, for files and logs."""

    def __init__(self, progress: Progress, stream: TextIO, seconds: float) -> None:
        super().__init__(progress)
        self.stream = stream
        self.seconds = seconds
        self._shown = time.monotonic()

    def update(self) -> None:
        now = time.monotonic()
        if now - self._shown < self.seconds:
            return
        self._shown = now
        share = self.progress.share()
        parts = [self.progress.title]
        if share is not None:
            parts.append(f"{share:4.0%}")
        self.stream.write("  ".join([*parts, self.progress.numbers()]) + "\n")
        self.stream.flush()


class _Terminal(_View):
    """A bar that a thread of rich redraws in place; lines of others appear above it."""

    def __init__(self, progress: Progress, stream: TextIO) -> None:
        super().__init__(progress)
        self.stream = stream

    def begin(self) -> None:
        from rich.console import Console
        from rich.live import Live

        console = Console(file=self.stream, force_terminal=True, force_jupyter=False)
        self._live = Live(get_renderable=self._render, console=console, refresh_per_second=5)
        self._live.start(refresh=True)

    def end(self, *, remains: bool) -> None:
        self._live.transient = not remains
        self._live.stop()

    def _render(self) -> Any:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        line = Table.grid(padding=(0, 2))
        for _ in range(3):
            # A line that wraps could not be redrawn in place.
            line.add_column(no_wrap=True)
        total = self.progress.total
        bar = ProgressBar(total=total, completed=self.progress.done, width=20)
        line.add_row(Text(self.progress.title), bar, Text(self.progress.numbers()))
        return line


class _Notebook(_View):
    """A bar in the output of a notebook's cell.

    rich needs ipywidgets there, and leaves an empty output in a notebook that is saved; what
    IPython itself can display and replace needs nothing and stays.
    """

    SECONDS = 0.2

    def begin(self) -> None:
        self._shown = time.monotonic()
        self._handle: Any = None
        self._lock = threading.Lock()
        # The first unit of work may take long, so that its end cannot be waited for.
        self._timer = threading.Timer(SHORT_SECONDS, self._show)
        self._timer.daemon = True
        self._timer.start()

    def update(self) -> None:
        now = time.monotonic()
        if self._handle is not None and now - self._shown >= self.SECONDS:
            self._shown = now
            self._show()

    def end(self, *, remains: bool) -> None:
        self._timer.cancel()
        if remains:
            self._show()

    def _show(self) -> None:
        from IPython.display import display

        share = self.progress.share()
        value = "" if share is None else f' value="{share:.4f}"'
        text = f"{self.progress.title}  {self.progress.numbers()}"
        bundle = {
            "text/plain": text,
            "text/html": f"{html.escape(self.progress.title)} <progress{value}></progress> "
            f"<code>{html.escape(self.progress.numbers())}</code>",
        }
        with self._lock:
            if self._handle is None:
                self._handle = display(bundle, raw=True, display_id=True)
            else:
                self._handle.update(bundle, raw=True)


def _view(progress: Progress, plain_seconds: float, quiet: bool, stream: TextIO | None) -> _View:
    if quiet:
        return _View(progress)
    if stream is None and _in_notebook():
        return _Notebook(progress)
    stream = stream or sys.stderr
    if stream is None:
        # A process without a console, as pythonw starts one.
        return _View(progress)
    terminal = bool(getattr(stream, "isatty", lambda: False)())
    if terminal and os.environ.get("TERM") != "dumb":
        return _Terminal(progress, stream)
    return _Plain(progress, stream, plain_seconds)


def _in_notebook() -> bool:
    """Whether this is a kernel of Jupyter, Colab or the like, and not IPython on a terminal."""
    ipython = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    return shell is not None and hasattr(shell, "kernel")


MakeBar: TypeAlias = Callable[[str, int | None, str], Bar]
"""From title, total and unit to a bar."""

Shown: TypeAlias = bool | MakeBar
"""What `progress` arguments take: whether to show a bar, or something that makes one."""


def make_bar(
    shown: Shown, title: str, total: int | None, unit: str, plain_seconds: float = 30.0
) -> Bar:
    """The bar of some long work.

    Args:
        shown: As the caller's `progress` argument.
        title: What is being done.
        total: Units of work; None where unknown.
        unit: Name of a unit.
        plain_seconds: Seconds between lines when the output is not a terminal.

    Example:

    >>> with make_bar(False, "embedding", 2, "nodes") as bar:
    ...     bar.advance(2)
    """
    if callable(shown):
        return shown(title, total, unit)
    return Progress(title, total, unit, plain_seconds=plain_seconds, quiet=not shown)


def _clock(seconds: float) -> str:
    minutes, rest = divmod(int(max(seconds, 0)), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
