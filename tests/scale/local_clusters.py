"""Starts and watches `cade launch` as a process."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from cade_tf.training import checkpoints
from tests.training.small_run import small_config


def launch(
    graph: Path,
    run_dir: Path,
    *flags_of_launch: str,
    workers: int,
    servers: int,
    **options: Any,
) -> subprocess.Popen[str]:
    """Starts `cade launch` with the options of a small run, and flags of its own."""
    config = small_config(graph=str(graph), run_dir=str(run_dir), checkpoint_every=50, **options)
    run_dir.mkdir(exist_ok=True)
    flags = run_dir / "given.txt"
    flags.write_text(config.to_flagfile())
    command = [sys.executable, "-m", "cade_tf", "launch", f"--flagfile={flags}"]
    return subprocess.Popen(
        [*command, f"--workers={workers}", f"--ps={servers}", *flags_of_launch],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "CUDA_VISIBLE_DEVICES": "-1"},
    )


def wait_for(what: Callable[[], Any], process: subprocess.Popen[str], seconds: float = 300) -> Any:
    """What a function returns once that is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = what()
        if found:
            return found
        if process.poll() is not None:
            raise AssertionError(f"the run ended with {process.returncode}")
        time.sleep(0.1)
    raise AssertionError(f"nothing within {seconds} seconds")


def listed(run_dir: Path) -> dict[str, int]:
    """Processes of a cluster: by role, the id of the first."""
    entries = json.loads((run_dir / "cluster.json").read_text())
    return {entry["role"]: entry["pid"] for entry in reversed(entries)}


def newest(run_dir: Path) -> int:
    """Step of the newest checkpoint; 0 without one."""
    paths = checkpoints.saved(run_dir / "checkpoints")
    return checkpoints.step_of(paths[-1]) if paths else 0
