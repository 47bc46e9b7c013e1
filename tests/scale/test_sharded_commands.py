"""`cade data convert --shards`, and training on what it wrote."""

import json

import numpy as np
import pytest

from cade_tf.cli import app
from cade_tf.errors import InputError
from cade_tf.graph.readers.shards import ShardedGraph
from cade_tf.scale import sharded_training
from cade_tf.training.run_folder import load_run_model
from cade_tf.training.run_options import read_config
from tests.training.small_run import NODES, small_config, small_graph


@pytest.fixture
def graph(tmp_path):
    small_graph().save(tmp_path / "graph.npz")
    flags = [f"--graph={tmp_path / 'graph.npz'}", f"--output={tmp_path / 'shards'}", "--shards=3"]
    assert app.main(["data", "convert", *flags, "--unseen_ratio=0.25"]) == 0
    return tmp_path / "shards"


def train(graph, run_dir, *more: str) -> int:
    flags = run_dir.with_suffix(".txt")
    flags.write_text(small_config(graph=str(graph), run_dir=str(run_dir), steps=60).to_flagfile())
    return app.main(["train", f"--flagfile={flags}", *more])


def test_a_converted_graph_has_the_split_of_the_flags(graph):
    sharded = ShardedGraph.open(graph)
    assert (sharded.num_shards, sharded.num_nodes, sharded.num_seen) == (3, NODES, 45)


def test_a_graph_that_stays_on_disk_trains_and_resumes_as_any_other(graph, tmp_path):
    run_dir = tmp_path / "run"
    assert train(graph, run_dir, "--memory_map", "--steps=20") == 0
    assert train(graph, run_dir, "--memory_map") == 0
    result = json.loads((run_dir / "result.json").read_text())
    assert result["steps"] == 60
    assert result["scores"]["logreg"]["micro_f1"] > 0.6
    assert np.load(run_dir / "embeddings.npy").shape == (NODES, 8)
    # Rows of nodes that training did not see were never touched.
    bias = load_run_model(run_dir).bias.table.numpy()
    seen = np.concatenate(ShardedGraph.open(graph).parts("split")) == 0
    assert np.abs(bias[seen]).max() > 0
    assert (bias[~seen] == 0).all()


def test_on_shards_the_default_is_plain_and_says_so(graph, tmp_path, capsys):
    run_dir = tmp_path / "run"
    flags = ["--memory_map", "--k=2", "--dim=8", "--fanouts=3,2", "--steps=5", "--batch_size=32"]
    assert app.main(["train", f"--graph={graph}", f"--run_dir={run_dir}", *flags]) == 0
    assert "options that are not given have their plain defaults" in capsys.readouterr().err
    config = read_config(run_dir)
    assert (config.preset, config.initialization, config.stop_on) == (None, "glorot", "none")
    assert config.steps == 5


def test_a_run_stays_where_its_bias_is_kept(graph, tmp_path, capsys):
    run_dir = tmp_path / "run"
    assert train(graph, run_dir, "--memory_map", "--steps=10") == 0
    assert train(graph, run_dir) == 2
    assert "memory_map=False (there: True)" in capsys.readouterr().err


def test_other_commands_read_shards_as_any_graph(graph, capsys):
    assert app.main(["data", "describe", f"--graph={graph}"]) == 0
    assert f"{NODES}" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("flags", "complaint"),
    [
        (["--memory_map", "--validate_every=10"], "validate_every"),
        (["--memory_map", "--feature_svd=2"], "feature_svd"),
        (["--memory_map", "--cluster"], "one of them"),
        (["--cluster"], "TF_CONFIG"),
    ],
)
def test_what_does_not_go_together_is_said(graph, tmp_path, capsys, monkeypatch, flags, complaint):
    monkeypatch.delenv("TF_CONFIG", raising=False)
    assert train(graph, tmp_path / "run", *flags) == 2
    assert complaint in capsys.readouterr().err


def test_a_chief_that_is_restarted_must_not_start_afresh(graph, tmp_path):
    config = small_config(graph=str(graph), cluster=True, fresh=True)
    with pytest.raises(InputError, match="fresh"):
        sharded_training.open_graph(config)


def test_a_graph_without_shards_is_refused(tmp_path, capsys):
    assert app.main(["train", "--memory_map", f"--run_dir={tmp_path}"]) == 2
    assert "cade data convert --shards" in capsys.readouterr().err


def test_merging_needs_the_shards_of_a_cluster(tmp_path, capsys):
    assert app.main(["embed", "--merge", f"--run_dir={tmp_path}"]) == 2
    assert "shards of embeddings" in capsys.readouterr().err


def test_shards_need_a_folder(capsys):
    assert app.main(["data", "convert", "--dataset=digits", "--shards=2"]) == 2
    assert "--output=FOLDER" in capsys.readouterr().err
