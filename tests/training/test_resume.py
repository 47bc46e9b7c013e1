"""A run that is killed, at whatever moment, ends as one that is not: to the bit."""

import os
import shutil
import signal
import time

import numpy as np
import pytest

from tests.training import small_run

OPTIONS = {"model": "cade_ma", "steps": 60, "checkpoint_every": 10, "summary_every": 10}
KILLS = 10


def run(target, folder, **options):
    process = small_run.processes().Process(
        target=target,
        args=(str(folder / "run"), str(folder / "output.npz"), {**OPTIONS, **options}),
    )
    process.start()
    return process


def read(folder):
    with np.load(folder / "output.npz") as arrays:
        return {name: arrays[name] for name in arrays.files}


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    """What a run that nothing disturbs writes, and how long it takes."""
    folder = tmp_path_factory.mktemp("unbroken")
    started = time.monotonic()
    process = run(small_run.train_and_write, folder)
    process.join(300)
    assert process.exitcode == 0
    return read(folder), time.monotonic() - started


def saved_steps(folder):
    checkpoints = (folder / "run" / "checkpoints").glob("step-*.index")
    return sorted(int(path.stem.removeprefix("step-")) for path in checkpoints)


def test_a_run_killed_at_ten_random_moments_ends_with_the_same_bits(
    unbroken, tmp_path, record_property
):
    record_property("tries", KILLS)
    expected, seconds = unbroken
    rng = np.random.default_rng()
    killed = 0
    while killed < KILLS:
        process = run(small_run.train_and_write, tmp_path)
        process.join(rng.uniform(0.1, 1.0) * seconds)
        process.kill()
        process.join()
        if process.exitcode == -signal.SIGKILL:
            killed += 1
        else:
            # Done before its time had come: what is left of the ten fall on a run that starts over.
            assert process.exitcode == 0
            small_run.assert_same_bits(read(tmp_path), expected)
            shutil.rmtree(tmp_path / "run")
    process = run(small_run.train_and_write, tmp_path)
    process.join(300)
    assert process.exitcode == 0
    small_run.assert_same_bits(read(tmp_path), expected)


@pytest.mark.parametrize("death", ["die_during_checkpoint", "die_before_flush"])
def test_a_run_killed_while_it_writes_a_checkpoint_ends_with_the_same_bits(
    death, unbroken, tmp_path
):
    process = run(getattr(small_run, death), tmp_path)
    process.join(300)
    assert process.exitcode == -signal.SIGKILL
    process = run(small_run.train_and_write, tmp_path)
    process.join(300)
    assert process.exitcode == 0
    small_run.assert_same_bits(read(tmp_path), unbroken[0])
    leftovers = [p for p in (tmp_path / "run" / "checkpoints").rglob("*") if "temp" in p.name]
    assert not leftovers


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_saves_the_last_step_and_says_how_to_go_on(number, tmp_path):
    # Far more steps than can be done before the signal arrives.
    process = run(small_run.train_and_write, tmp_path, steps=100_000)
    while process.is_alive() and not saved_steps(tmp_path):
        time.sleep(0.02)
    os.kill(process.pid, number)
    process.join(300)
    assert process.exitcode == 128 + number
    told = (tmp_path / "output.log").read_text()
    assert f"stopped after step {saved_steps(tmp_path)[-1]}, saved in" in told
    assert "the same command continues" in told
