"""A run that is killed at any of its writes ends, started again, as one that is not."""

import json
import multiprocessing
import os
import shutil
import signal
import sys
from pathlib import Path

import numpy as np
import pytest

from cade_tf.training import manifest
from tests.attacks.damage import tries

KILLS = tries(8)
WRITES = ("open", "os.mkdir", "os.remove", "os.rename", "os.truncate", "shutil.rmtree")
"""What Python tells of its system calls; kills within TensorFlow's writes: test_resume.py."""


def train_and_die(folder: str, deadly: int | None) -> None:
    """Does a whole run, killed at the write of that number; else says how many there were."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)
    from cade_tf.experiments.single_run import train_and_evaluate
    from tests.training.small_run import small_config, small_graph

    run_dir = Path(folder) / "run"
    graph = Path(folder) / "graph.npz"
    if not graph.exists():
        small_graph().save(graph)
    count = 0

    def count_writes(event: str, arguments: tuple) -> None:
        nonlocal count
        if event not in WRITES or not str(arguments[0]).startswith(str(run_dir)):
            return
        if event == "open" and not arguments[2] & (os.O_WRONLY | os.O_RDWR):
            return
        count += 1
        if count == deadly:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count_writes)
    config = small_config(graph=str(graph), steps=20, summary_every=10, embed_walks=1)
    train_and_evaluate(config, run_dir, progress=False)
    (Path(folder) / "writes.txt").write_text(str(count))


def run(folder: Path, deadly: int | None = None) -> int:
    """Exit code of a run in a process of its own."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["cade_tf.experiments.single_run", __name__])
    process = context.Process(target=train_and_die, args=(str(folder), deadly))
    process.start()
    process.join()
    return process.exitcode


def outcome(folder: Path) -> tuple[bytes, dict]:
    """What a finished run holds; fails where it holds too little, or what it should not."""
    run_dir = folder / "run"
    leftovers = [p for p in run_dir.rglob("*") if p.name.endswith(".part") or "temp" in p.name]
    assert not leftovers
    assert not list(run_dir.rglob("run.lock"))
    files = json.loads((run_dir / manifest.MANIFEST_FILE).read_text())["files"]
    assert {"embeddings.npy", "result.json", "encoder/model.keras"} <= set(files)
    manifest.check(run_dir, *files)
    result = json.loads((run_dir / "result.json").read_text())
    scores = {probe: found["micro_f1"] for probe, found in result["scores"].items()}
    return (run_dir / "embeddings.npy").read_bytes(), scores


@pytest.fixture(scope="module")
def unbroken(tmp_path_factory):
    folder = tmp_path_factory.mktemp("unbroken")
    assert run(folder) == 0
    return outcome(folder), int((folder / "writes.txt").read_text())


def test_a_run_killed_at_its_writes_ends_as_one_that_is_not(unbroken, tmp_path, record_property):
    record_property("tries", KILLS)
    expected, writes = unbroken
    assert writes > 20
    # From the first write to the last; each start finds what the kills before have left.
    for deadly in np.linspace(1, writes, min(KILLS, writes)).round().astype(int):
        code = run(tmp_path, int(deadly))
        if code == 0:
            # A run that is continued writes less: it was done before its time had come.
            assert outcome(tmp_path) == expected
            shutil.rmtree(tmp_path / "run")
        else:
            assert code == -signal.SIGKILL
    assert run(tmp_path) == 0
    assert outcome(tmp_path) == expected
