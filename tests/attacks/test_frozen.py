"""A process of a cluster that is frozen instead of killed: the run goes on, or ends and says so."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cade_tf.graph.splits import split_nodes
from cade_tf.scale.sharding import write_shards
from tests.scale.local_clusters import launch, listed, newest, wait_for
from tests.training import test_distributed
from tests.training.small_run import small_config, small_graph

STEPS = 600
FROZEN_SECONDS = 12


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph")
    graph = small_graph()
    write_shards(graph, split_nodes(graph, 0.2, 0).seen, folder, 2)
    return folder


def test_a_run_goes_on_after_a_worker_and_a_server_froze(sharded, tmp_path, record_property):
    record_property("tries", 2)
    run_dir = tmp_path / "run"
    flags = (f"--frozen_seconds={FROZEN_SECONDS}",)
    process = launch(sharded, run_dir, *flags, workers=1, servers=1, steps=STEPS)
    try:
        for role in ("worker", "ps"):
            before = wait_for(lambda: newest(run_dir), process)
            os.kill(listed(run_dir)[role], signal.SIGSTOP)
            wait_for(lambda low=before: newest(run_dir) > low, process)
        output, _ = process.communicate(timeout=300)
    finally:
        process.terminate()
    assert process.returncode == 0, output
    for role in ("worker", "ps"):
        assert f"The {role} 0 gave no sign of life for {FROZEN_SECONDS} s; ending it." in output
    # As after a death: another worker repeats the step, a lost server sends the chief back.
    assert output.count("The chief ended") == 1
    assert json.loads((run_dir / "result.json").read_text())["steps"] == STEPS


def test_a_chief_whose_cluster_is_silent_ends_and_says_so(sharded, tmp_path):
    """Ports where connections are accepted and nobody answers, as of a machine that is frozen."""
    config = small_config(
        graph=str(sharded), run_dir=str(tmp_path / "run"), cluster=True, silence_seconds=3
    )
    (tmp_path / "given.txt").write_text(config.to_flagfile())
    with socket.socket() as chief, socket.socket() as worker, socket.socket() as server:
        addresses = []
        for one in (chief, worker, server):
            one.bind(("localhost", 0))
            addresses.append([f"localhost:{one.getsockname()[1]}"])
        worker.listen()
        server.listen()
        chief.close()
        roles = dict(zip(("chief", "worker", "ps"), addresses, strict=True))
        task = {"cluster": roles, "task": {"type": "chief", "index": 0}}
        result = subprocess.run(
            [sys.executable, "-m", "cade_tf", "train", f"--flagfile={tmp_path / 'given.txt'}"],
            env={**os.environ, "TF_CONFIG": json.dumps(task)},
            capture_output=True,
            text=True,
            timeout=300,
        )
    assert result.returncode == 1, result.stderr
    assert "cade: No worker or parameter server has answered for 3 s" in result.stderr
    assert "Traceback" not in result.stderr


def impatient_worker(*arguments):
    """A worker that asks every second whether the others live, and not every 30 as TensorFlow."""
    from tensorflow.python.distribute import collective_all_reduce_strategy

    of_all = collective_all_reduce_strategy.CollectiveAllReduceExtended
    of_all._check_health_interval, of_all._check_health_timeout = 1, 4
    test_distributed.worker(*arguments)


def test_a_worker_whose_partner_froze_ends_and_says_so(tmp_path):
    options = {**test_distributed.OPTIONS, "steps": 100_000}
    addresses = test_distributed.free_addresses(2)
    chief, other = (
        test_distributed.run(
            impatient_worker, tmp_path, options, addresses, index, name=f"worker{index}"
        )
        for index in range(2)
    )
    try:
        while chief.is_alive() and not newest(tmp_path / "run"):
            time.sleep(0.1)
        os.kill(other.pid, signal.SIGSTOP)
        chief.join(200)
    finally:
        other.kill()
        chief.kill()
    told = (tmp_path / "worker0.log").read_text()
    assert chief.exitcode == 1, told
    assert "cade: a worker was lost" in told
    assert "Traceback" not in told
