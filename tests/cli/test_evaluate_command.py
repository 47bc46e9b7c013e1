"""`cade evaluate`: labels that a run's own graph did not bring."""

import json
import shutil

import numpy as np
import pytest

from cade_tf.cli import app
from cade_tf.config import Config
from cade_tf.experiments.single_run import train_and_evaluate
from cade_tf.graph.graph import Graph
from tests.presets.kinds import generated
from tests.trained_runs import make_graph

NODES = 40


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An edge list without labels, a run on it, and labels in another file."""
    folder = tmp_path_factory.mktemp("unlabelled")
    graph = make_graph(NODES)
    edges = "".join(f"{a},{b}\n" for a, b in graph.ids[graph.edges()])
    (folder / "edges.csv").write_text("source,target\n" + edges)
    labels = "".join(f"{node},{'even' if i % 2 else 'odd'}\n" for i, node in enumerate(graph.ids))
    (folder / "labels.csv").write_text("node,label\n" + labels)
    config = Config(
        k=2, dim=8, fanouts=(3, 2), steps=2, batch_size=16, embed_walks=1, unseen_ratio=0.5,
        graph=str(folder / "edges.csv"),
    )  # fmt: skip
    train_and_evaluate(config, folder / "run", progress=False)
    return folder


@pytest.mark.parametrize("graph", [[], ["--graph=edges.csv"]])
def test_a_run_is_scored_with_labels_that_are_given(graph, folder, monkeypatch, tmp_path, capsys):
    monkeypatch.chdir(folder)
    scores = tmp_path / "scores.json"
    flags = ["--run_dir=run", "--labels=labels.csv", f"--output={scores}"]
    assert app.main(["evaluate", *flags, *graph]) == 0
    found = json.loads(scores.read_text())
    assert found["logreg"]["test_nodes"] == NODES // 2
    assert list(found["comparison"]) == ["degrees and positions", "smoothed PCA", "cade_ms"]
    assert "smoothed PCA" in capsys.readouterr().out


def test_without_labels_they_are_asked_for(folder, capsys):
    assert app.main(["evaluate", f"--run_dir={folder / 'run'}"]) == 2
    assert "labels: expected labels and nodes to score" in capsys.readouterr().err


def test_without_labels_a_run_is_scored_again_by_the_edges_it_hid(tmp_path, capsys):
    graph = generated("binary")
    Graph.from_edges(graph.edges(), features=graph.features).save(tmp_path / "graph.npz")
    config = Config(
        k=2, dim=8, fanouts=(3, 2), steps=2, batch_size=16, embed_walks=1,
        graph=str(tmp_path / "graph.npz"),
    )  # fmt: skip
    result = train_and_evaluate(config, tmp_path / "run", progress=False)
    scores = tmp_path / "scores.json"
    assert app.main(["evaluate", f"--run_dir={tmp_path / 'run'}", f"--output={scores}"]) == 0
    found = json.loads(scores.read_text())["comparison"]
    assert list(found.values()) == [pytest.approx(row) for row in result["comparison"]]
    assert "edges that training did not see" in capsys.readouterr().out
    Graph.from_edges(graph.edges()[1:], features=graph.features).save(tmp_path / "graph.npz")
    assert app.main(["evaluate", f"--run_dir={tmp_path / 'run'}"]) == 2
    assert "the training graph of the run" in capsys.readouterr().err


def test_a_graph_with_other_nodes_is_refused(folder, tmp_path, capsys):
    make_graph(NODES, first=500).save(tmp_path / "other.npz")
    flags = [f"--run_dir={folder / 'run'}", f"--graph={tmp_path / 'other.npz'}"]
    assert app.main(["evaluate", *flags]) == 2
    shown = capsys.readouterr().err
    assert "graph: expected the nodes of" in shown
    assert "cade embed" in shown


def test_a_run_directory_without_embeddings_is_named(folder, tmp_path, capsys):
    shutil.copytree(folder / "run", tmp_path / "run")
    (tmp_path / "run" / "embeddings.npy").unlink()
    flags = [f"--run_dir={tmp_path / 'run'}", f"--labels={folder / 'labels.csv'}"]
    assert app.main(["evaluate", *flags]) == 2
    assert "embeddings.npy" in capsys.readouterr().err


@pytest.mark.parametrize("number", [np.nan, np.inf, -1e20])
def test_embeddings_without_a_length_are_refused(number, folder, tmp_path, capsys):
    embeddings = np.ones((NODES, 4), np.float32)
    embeddings[7, 2] = number
    np.save(tmp_path / "own.npy", embeddings)
    flags = [f"--embeddings={tmp_path / 'own.npy'}", f"--graph={folder / 'edges.csv'}"]
    assert app.main(["evaluate", *flags, f"--labels={folder / 'labels.csv'}"]) == 2
    assert f"received {np.float32(number)} at position 7" in capsys.readouterr().err
