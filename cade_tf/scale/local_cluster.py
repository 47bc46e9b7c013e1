"""A cluster as processes of this machine, watched over like a cluster manager would."""

import contextlib
import json
import logging
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from cade_tf.files import write_json
from cade_tf.scale.signs_of_life import Watched

CLUSTER_FILE = "cluster.json"
LOG_FOLDER = "logs"
CHIEF, WORKER, SERVER = "chief", "worker", "ps"

_USER_ERROR = 2
_POLL_SECONDS = 0.2
_log = logging.getLogger(__name__)


class LocalCluster:
    """A chief, workers and parameter servers that run one command.

    A process that is silent for too long, frozen or stuck, is ended. A worker or server that ends
    is started again. A chief that fails is started again together with the servers, whose content
    is in the checkpoints; not so where it says that the user is wrong, or where it fails
    repeatedly and gets nowhere.

    Args:
        command: What every process runs, TF_CONFIG in its environment.
        workers: Number of workers.
        servers: Number of parameter servers.
        folder: For logs of workers and servers, and for `cluster.json`, which lists the processes.
        restarts: How often the chief may fail in a row without progress.
        progress: Tells how far the chief has got, such as the newest checkpoint.
        frozen_seconds: Silence after which a process is ended.
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        workers: int,
        servers: int,
        folder: Path,
        restarts: int,
        progress: Callable[[], Any],
        frozen_seconds: float,
    ) -> None:
        self.command = list(command)
        self.folder = folder
        self.restarts = restarts
        self.progress = progress
        self.frozen_seconds = frozen_seconds
        sizes = {CHIEF: 1, WORKER: workers, SERVER: servers}
        ports = iter(_free_ports(sum(sizes.values())))
        self.addresses = {
            role: [f"localhost:{next(ports)}" for _ in range(size)] for role, size in sizes.items()
        }
        self._processes: dict[tuple[str, int], Watched] = {}
        self._asked_to_stop = False

    def run(self) -> int:
        """Runs until the chief has finished; returns its exit code."""
        (self.folder / LOG_FOLDER).mkdir(parents=True, exist_ok=True)
        with self._forwarded_signals():
            try:
                for role in (SERVER, WORKER, CHIEF):
                    self._start_all(role)
                return self._watch()
            finally:
                for watched in self._processes.values():
                    watched.end()
                (self.folder / CLUSTER_FILE).unlink(missing_ok=True)

    def _watch(self) -> int:
        failures, reached = 0, self.progress()
        while True:
            time.sleep(_POLL_SECONDS)
            self._end_frozen()
            code = self._processes[CHIEF, 0].process.poll()
            if code is not None:
                before, reached = reached, self.progress()
                failures = 1 if reached != before else failures + 1
                final = code in (0, _USER_ERROR) or self._asked_to_stop
                if not final and failures > self.restarts:
                    _log.error("The chief has failed %d times in a row; giving up.", failures)
                    final = True
                if final:
                    return code if code >= 0 else 128 - code
                _log.warning("The chief ended with code %d; starting it again.", code)
                self._start_all(SERVER)
                self._start_all(CHIEF)
            for (role, index), watched in list(self._processes.items()):
                if role != CHIEF and watched.process.poll() is not None:
                    _log.warning(
                        "The %s %d ended with code %d; starting it again.",
                        role, index, watched.process.returncode,
                    )  # fmt: skip
                    self._start(role, index)
                    self._write_list()

    def _end_frozen(self) -> None:
        for (role, index), watched in self._processes.items():
            if watched.process.poll() is None and watched.silent_for(self.frozen_seconds):
                _log.warning(
                    "The %s %d gave no sign of life for %g s; ending it.",
                    role, index, self.frozen_seconds,
                )  # fmt: skip
                watched.process.kill()
                watched.process.wait()

    def _start_all(self, role: str) -> None:
        for index in range(len(self.addresses[role])):
            self._start(role, index)
        self._write_list()

    def _start(self, role: str, index: int) -> None:
        """Starts a process, in place of the one before."""
        if (role, index) in self._processes:
            self._processes.pop((role, index)).end()
        task = {"cluster": self.addresses, "task": {"type": role, "index": index}}
        environment = {**os.environ, "TF_CONFIG": json.dumps(task)}
        output: dict[str, Any] = {}
        with contextlib.ExitStack() as stack:
            if role != CHIEF:
                path = self.folder / LOG_FOLDER / f"{role}-{index}.log"
                file = stack.enter_context(open(path, "ab"))
                output = {"stdout": file, "stderr": subprocess.STDOUT}
            # Ctrl-C is for the chief alone, which needs the others to save its state.
            self._processes[role, index] = Watched(
                self.command, environment, start_new_session=True, **output
            )

    def _write_list(self) -> None:
        listed = [
            {"role": role, "index": index, "pid": watched.process.pid}
            for (role, index), watched in self._processes.items()
        ]
        write_json(self.folder / CLUSTER_FILE, listed)

    @contextlib.contextmanager
    def _forwarded_signals(self) -> Iterator[None]:
        """Hands Ctrl-C and SIGTERM on to the chief, which then saves and ends."""

        def forward(number: int, frame: Any) -> None:
            self._asked_to_stop = True
            chief = self._processes.get((CHIEF, 0))
            if chief is not None:
                chief.process.send_signal(number)

        before = {n: signal.signal(n, forward) for n in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)


def _free_ports(count: int) -> list[int]:
    """Ports that nobody uses now."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in sockets:
            one.bind(("localhost", 0))
        return [one.getsockname()[1] for one in sockets]


def train_command(flagfile: Path) -> list[str]:
    """The command of every process: `cade train --cluster` with the flags of a file."""
    return [sys.executable, "-m", "cade_tf", "train", f"--flagfile={flagfile}", "--cluster"]
