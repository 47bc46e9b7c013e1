"""The programs of cade_tf/examples run as they stand, each in a process of its own."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import cade_tf

FOLDER = Path(cade_tf.__file__).parent / "examples"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("*.py") if path.stem != "__init__")


def run(name):
    done = subprocess.run(
        [sys.executable, str(FOLDER / f"{name}.py")],
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_runs_and_prints_nothing_but_its_own_lines(name):
    done = run(name)
    assert done.stdout
    assert not done.stderr
    if name == "own_graph":
        assert "The same after loading: True" in done.stdout
    if name == "fine_tuning":
        frozen, tuned = map(float, re.findall(r"0\.\d+", done.stdout)[-2:])
        assert tuned > frozen
    if name == "sagb_layer":
        losses = [float(value) for value in re.findall(r"0\.\d+", done.stdout)]
        assert losses[-1] < losses[0] / 10
