"""A cluster that is asked to stop saves its state, which a cluster of another size goes on from."""

import json
import os
import re
import signal
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.graph.splits import split_nodes
from cade_tf.scale.sharding import write_shards
from cade_tf.training.run_folder import load_run_model
from tests.scale.local_clusters import launch, newest, wait_for
from tests.training.small_run import NODES, small_graph

ENDLESS = 10**6
MORE = 5
RATE = 1e-2


class Stopped(NamedTuple):
    """A run on two servers that got SIGTERM."""

    run_dir: Path
    code: int
    output: str
    processes: list[int]


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph")
    graph = small_graph()
    write_shards(graph, split_nodes(graph, 0.2, 0).seen, folder, 2)
    return folder


@pytest.fixture(scope="module")
def stopped(sharded: Path, tmp_path_factory: pytest.TempPathFactory) -> Stopped:
    run_dir = tmp_path_factory.mktemp("runs") / "run"
    process = launch(sharded, run_dir, workers=1, servers=2, steps=ENDLESS, learning_rate=RATE)
    try:
        wait_for(lambda: newest(run_dir), process)
        listed = json.loads((run_dir / "cluster.json").read_text())
        process.send_signal(signal.SIGTERM)
        output, _ = process.communicate(timeout=300)
    finally:
        process.kill()
    return Stopped(run_dir, process.returncode, output, [entry["pid"] for entry in listed])


def test_a_cluster_that_is_asked_to_stop_saves_and_ends_with_all_its_processes(stopped):
    run_dir = stopped.run_dir
    assert stopped.code == 128 + signal.SIGTERM
    told = re.search(r"stopped after step (\d+), saved in", stopped.output)
    assert told, stopped.output
    assert newest(run_dir) == int(told[1])
    assert not (run_dir / "cluster.json").exists()
    assert len(stopped.processes) == 4
    for pid in stopped.processes:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_run_goes_on_with_another_number_of_servers(sharded, stopped):
    run_dir = stopped.run_dir
    first = newest(run_dir)
    saved = tf.train.load_checkpoint(str(run_dir / "checkpoints" / f"step-{first}"))
    before = saved.get_tensor("bias/table/.ATTRIBUTES/VARIABLE_VALUE")
    process = launch(sharded, run_dir, workers=1, servers=1, steps=first + MORE, learning_rate=RATE)
    try:
        output, _ = process.communicate(timeout=300)
    finally:
        process.kill()
    assert process.returncode == 0, output
    assert "damaged" not in output
    result = json.loads((run_dir / "result.json").read_text())
    assert result["steps"] == first + MORE
    assert result["cluster"] == {"workers": 1, "servers": 1}
    # A step of Adam moves a number by little more than the learning rate: every row is where the
    # two servers had left it, but for so few steps.
    after = load_run_model(run_dir).bias.table.numpy()
    assert before.shape == after.shape
    moved = np.abs(after - before).max()
    assert 0 < moved < 2 * MORE * RATE < np.abs(before).max(), (first, moved, np.abs(before).max())
    assert np.load(run_dir / "embeddings.npy").shape == (NODES, 8)
