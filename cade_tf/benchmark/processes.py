"""Jobs in processes of their own, so that memory and start-up are theirs alone.

`python -m cade_tf.benchmark.processes` reads a job as JSON from standard input and writes its
measurements to standard output, a line of JSON each.
"""

import dataclasses
import importlib
import json
import os
import subprocess
import sys
import time
from typing import Any

from cade_tf.benchmark.measure import Measurement
from cade_tf.benchmark.options import BenchOptions

ERROR_LINES = 3


class JobFailed(RuntimeError):
    """A process ended without having measured what it should."""


@dataclasses.dataclass(frozen=True)
class Job:
    """A function that yields measurements, to be called in a process of its own.

    Args:
        task: `module.function` of this package; it takes the options and `arguments`.
        arguments: Keyword arguments, such that JSON can hold them.
        timed_as: Name under which the time from the start of the process to the end of its work
            is measured; None for none.
    """

    task: str
    arguments: dict[str, Any] = dataclasses.field(default_factory=dict)
    timed_as: str | None = None


def run_job(job: Job, options: BenchOptions) -> list[Measurement]:
    """Runs a job in a new process.

    Raises:
        JobFailed: The process failed; the message has the end of what it said.
    """
    order = {"task": job.task, "arguments": job.arguments, "options": options.to_json()}
    started = time.time()
    lines = output_lines(
        [sys.executable, "-m", "cade_tf.benchmark.processes"],
        standard_input=json.dumps(order),
        environment={"CUDA_VISIBLE_DEVICES": "-1"} if options.device == "cpu" else {},
    )
    *records, done = map(json.loads, lines)
    found = [Measurement.from_record(record) for record in records]
    if job.timed_as is not None:
        found.append(Measurement(job.timed_as, "s", (done["finished"] - started,)))
    return found


def output_lines(
    command: list[str],
    *,
    standard_input: str = "",
    environment: dict[str, str] | None = None,
) -> list[str]:
    """What a command prints, line by line.

    Args:
        command: Program and arguments.
        standard_input: What it reads.
        environment: Variables in addition to those of this process.

    Raises:
        JobFailed: The command cannot be run, failed, or printed nothing.
    """
    try:
        finished = subprocess.run(
            command,
            input=standard_input,
            env={**os.environ, **(environment or {})},
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError as error:
        raise JobFailed(str(error)) from error
    lines = finished.stdout.splitlines()
    if finished.returncode or not lines:
        said = " / ".join(finished.stderr.strip().splitlines()[-ERROR_LINES:])
        raise JobFailed(f"exit code {finished.returncode}: {said or 'nothing was printed'}")
    return lines


def main() -> None:
    """Does the job that standard input describes."""
    order = json.load(sys.stdin)
    module, function = order["task"].rsplit(".", 1)
    task = getattr(importlib.import_module(f"cade_tf.benchmark.{module}"), function)
    for one in task(BenchOptions.from_json(order["options"]), **order["arguments"]):
        print(json.dumps(one.record()), flush=True)
    print(json.dumps({"finished": time.time()}), flush=True)


if __name__ == "__main__":
    main()
