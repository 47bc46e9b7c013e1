"""Starts and watches `cade launch` as a process."""

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
    graph: Path, run_dir: Path, *, workers: int, servers: int, **options: Any
) -> subprocess.Popen[str]:
    """Starts `cade launch` with the options of a small run."""
    config = small_config(graph=str(graph), run_dir=str(run_dir), checkpoint_every=50, **options)
    run_dir.mkdir(exist_ok=True)
    flags = run_dir / "given.txt"
    flags.write_text(config.to_flagfile())
    command = [sys.executable, "-m", "cade_tf", "launch", f"--flagfile={flags}"]
    return subprocess.Popen(
        [*command, f"--workers={workers}", f"--ps={servers}"],
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


def newest(run_dir: Path) -> int:
    """Step of the newest checkpoint; 0 without one."""
    paths = checkpoints.saved(run_dir / "checkpoints")
    return checkpoints.step_of(paths[-1]) if paths else 0
