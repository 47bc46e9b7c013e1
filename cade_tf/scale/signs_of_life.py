"""Nobody waits for ever for a process that is frozen: it counts as dead after some silence.

A wait inside TensorFlow cannot be ended from outside. So the chief ends itself when its cluster is
silent (`AnswerWatch`), and `cade launch` ends a process that sends no sign of life (`send`).
"""

import atexit
import contextlib
import logging
import os
import subprocess
import threading
import time
from collections.abc import Mapping, Sequence
from typing import Any, Self

PIPE_VARIABLE = "CADE_SIGNS_OF_LIFE"
QUIET_SECONDS = 120.0
"""A process that starts or ends may be silent for so long at least: TensorFlow takes its time."""

_SEND_SECONDS = 1.0
_TELL_SECONDS = 5.0
_CHECKS = 20
_log = logging.getLogger(__name__)


class AnswerWatch:
    """Ends this process when, while entered, nothing is heard for some time.

    Args:
        seconds: Longest silence.
    """

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._silent_checks = 0
        self._left = threading.Event()

    def heard(self) -> None:
        """Somebody has answered."""
        self._silent_checks = 0

    def __enter__(self) -> Self:
        threading.Thread(target=self._watch, daemon=True).start()
        return self

    def __exit__(self, *error: object) -> None:
        self._left.set()

    def _watch(self) -> None:
        # Counted and not read from a clock: time in which this process was frozen is not silence.
        while not self._left.wait(self.seconds / _CHECKS):
            self._silent_checks += 1
            if self._silent_checks >= _CHECKS:
                # On a thread: a full pipe that nobody reads would keep this one for ever.
                teller = threading.Thread(target=self._tell, daemon=True)
                teller.start()
                teller.join(_TELL_SECONDS)
                os._exit(1)

    def _tell(self) -> None:
        _log.error(
            "No worker or parameter server has answered for %g s; one may be frozen, or its "
            "machine cannot be reached. The same command continues from the last checkpoint; "
            "silence_seconds sets how long to wait.",
            self.seconds,
        )


def send() -> None:
    """Sends signs of life from now on, where a `Watched` waits for them, and ends with it."""
    handle = os.environ.pop(PIPE_VARIABLE, None)
    if handle is not None:
        ending = threading.Event()
        sender = threading.Thread(target=_send, args=(int(handle), ending), daemon=True)
        sender.start()
        # Called in reverse: the thread ends before the interpreter does, which may take long.
        atexit.register(sender.join, _SEND_SECONDS)
        atexit.register(ending.set)


def _send(handle: int, ending: threading.Event) -> None:
    while not ending.is_set():
        try:
            os.write(handle, b".")
        except BrokenPipeError:
            # Without the one who watches, nobody would ever end this process.
            os._exit(1)
        ending.wait(_SEND_SECONDS)
    os.close(handle)


class Watched:
    """A process, and when it was last heard of.

    Args:
        command: What it runs; it calls `send`.
        environment: Its environment.
        **options: Of `subprocess.Popen`.
    """

    def __init__(
        self, command: Sequence[str], environment: Mapping[str, str], **options: Any
    ) -> None:
        self._reader, writer = os.pipe()
        os.set_blocking(self._reader, False)
        self.process = subprocess.Popen(
            command,
            env={**environment, PIPE_VARIABLE: str(writer)},
            pass_fds=(writer,),
            **options,
        )
        os.close(writer)
        self._last = time.monotonic()
        self._sends = False

    def silent_for(self, seconds: float) -> bool:
        """Whether the process has not been heard of for so long."""
        with contextlib.suppress(BlockingIOError):
            while os.read(self._reader, 4096):
                self._last, self._sends = time.monotonic(), True
            # The other end is closed: the process has done its work and is about to end.
            self._sends = False
        longest = seconds if self._sends else max(seconds, QUIET_SECONDS)
        return time.monotonic() - self._last > longest

    def end(self) -> None:
        """Ends the process and waits until it is gone."""
        self.process.kill()
        self.process.wait()
        os.close(self._reader)
