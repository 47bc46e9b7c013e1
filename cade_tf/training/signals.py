"""Ctrl-C and SIGTERM as requests that the loop answers between two steps."""

import logging
import signal
import threading
from types import FrameType
from typing import Any, Self

_log = logging.getLogger(__name__)
_SIGNALS = (signal.SIGINT, signal.SIGTERM)


class RunStopped(KeyboardInterrupt):
    """Training ended because somebody asked for it; everything done so far is saved.

    Args:
        message: What was done and how to go on.
        number: The signal that asked.
    """

    def __init__(self, message: str, number: int) -> None:
        super().__init__(message)
        self.exit_code = 128 + number


class StopRequest:
    """While entered, the first signal is noted instead of ending the process.

    The second one acts as always, for those who do not want to wait. Signals reach only the main
    thread of a process; in another one nothing is noted.

    Example:

    >>> with StopRequest() as stop:
    ...     signal.raise_signal(signal.SIGTERM)
    ...     stop.number == signal.SIGTERM
    True
    """

    def __init__(self) -> None:
        self.number: int | None = None
        self._before: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            self._before = {s: signal.signal(s, self._note) for s in _SIGNALS}
        return self

    def __exit__(self, *error: object) -> None:
        self._restore()

    def _note(self, number: int, frame: FrameType | None) -> None:
        self.number = number
        self._restore()
        _log.info("Finishing the step, then saving; once more stops at once.")

    def _restore(self) -> None:
        while self._before:
            number, handler = self._before.popitem()
            signal.signal(number, handler)
