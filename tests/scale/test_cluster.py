"""Clusters of real processes: they train, embed, and survive whoever is killed."""

import json
import os
import signal
from pathlib import Path

import numpy as np
import pytest

from cade_tf.cli import app
from cade_tf.errors import InputError
from cade_tf.graph.splits import split_nodes
from cade_tf.scale import cluster
from cade_tf.scale.sharding import write_shards
from cade_tf.training.run_folder import load_run_model
from tests.scale.local_clusters import launch, listed, newest, wait_for
from tests.training.small_run import NODES, small_graph

STEPS = 1500
DIM = 8


def kill(run_dir: Path, role: str) -> int:
    """Kills a process of the cluster as a machine that fails would; returns its id."""
    pid = listed(run_dir)[role]
    os.kill(pid, signal.SIGKILL)
    return pid


@pytest.fixture(scope="module")
def sharded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("graph")
    graph = small_graph()
    write_shards(graph, split_nodes(graph, 0.2, 0).seen, folder, 3)
    return folder


def test_a_run_survives_the_loss_of_a_worker_a_server_and_the_chief(
    sharded, tmp_path, record_property
):
    record_property("tries", 3)
    run_dir = tmp_path / "run"
    process = launch(sharded, run_dir, workers=2, servers=2, steps=STEPS)
    try:
        for role in ("worker", "ps", "chief"):
            before = wait_for(lambda: newest(run_dir), process)
            kill(run_dir, role)
            after = wait_for(lambda low=before: newest(run_dir) > low and newest(run_dir), process)
            assert after > before, role
        output, _ = process.communicate(timeout=300)
    finally:
        process.terminate()
    assert process.returncode == 0, output
    # The worker is replaced without the chief's doing; the other two start the chief again.
    assert output.count("The worker 0 ended with code -9") == 1
    assert output.count("The chief ended") == 2
    # Nobody reads the output until the end: TensorFlow's complaints would have filled the pipe.
    assert "ERROR:tensorflow" not in output
    assert len(output) < 10_000, output
    assert "UnavailableError" in (run_dir / "logs" / "chief.log").read_text()
    result = json.loads((run_dir / "result.json").read_text())
    assert result["steps"] == STEPS
    assert result["cluster"] == {"workers": 2, "servers": 2}
    assert 0 < result["traffic_per_step"]["rows"] < result["traffic_per_step"]["asked"]
    assert result["metrics"]["mrr"] > 0.5
    check_what_a_run_leaves(run_dir)


def check_what_a_run_leaves(run_dir: Path) -> None:
    parts = sorted((run_dir / "embeddings").iterdir())
    assert [p.name for p in parts] == [f"part-0000{i}-of-00003.npz" for i in range(3)]
    assert app.main(["embed", f"--run_dir={run_dir}", "--merge", f"--output={run_dir / 'm'}"]) == 0
    merged = np.load(run_dir / "m" / "embeddings.npy")
    assert merged.shape == (NODES, DIM)
    assert (run_dir / "m" / "node_ids.txt").read_text().split() == [str(i) for i in range(NODES)]
    # What the workers added up is what one process computes with the same weights.
    model = load_run_model(run_dir)
    alone = model.embed(small_graph(), walks=2, seed=0, progress=False)
    assert np.abs(merged - alone).mean() < 0.15
    assert np.abs(model.bias.table.numpy()).max() > 0
    exported = run_dir / "exported"
    flags = [f"--run_dir={run_dir}", f"--export_dir={exported}", "--noexport_graph"]
    assert app.main(["export", *flags]) == 0
    assert (exported / "1" / "saved_model.pb").is_file()


@pytest.mark.parametrize(
    "text",
    [
        "",
        "{}",
        '{"cluster": {"chief": ["a:1"], "worker": [], "ps": ["a:2"]}, '
        '"task": {"type": "ps", "index": 0}}',
        '{"cluster": {"chief": ["a:1"], "worker": ["a:3"], "ps": ["a:2"]}, '
        '"task": {"type": "ps", "index": 1}}',
    ],
)
def test_a_wrong_description_of_the_cluster_is_refused(monkeypatch, text):
    monkeypatch.setenv("TF_CONFIG", text)
    with pytest.raises(InputError, match="TF_CONFIG"):
        cluster.make_resolver()
