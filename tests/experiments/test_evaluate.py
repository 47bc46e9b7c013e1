import json

import numpy as np
import pytest

from cade_tf.cli import app
from cade_tf.config import Config
from cade_tf.experiments import single_run
from cade_tf.graph import splits
from cade_tf.graph.digits import digits
from cade_tf.inference import outputs
from cade_tf.training import run_folder


@pytest.fixture
def embeddings(tmp_path):
    path = tmp_path / "embeddings.npy"
    np.save(path, digits().features)
    return path


def test_an_embeddings_file_is_scored_and_drawn(embeddings, tmp_path, capsys):
    picture, scores = tmp_path / "picture.png", tmp_path / "scores.json"
    assert (
        app.main(
            ["evaluate", f"--embeddings={embeddings}", f"--plot={picture}", f"--output={scores}"]
        )
        == 0
    )
    shown = capsys.readouterr().out
    for word in ("logreg", "sgd", "kmeans", "nmi"):
        assert word in shown
    assert json.loads(scores.read_text())["logreg"]["micro_f1"] > 0.8
    assert picture.is_file()


def test_a_run_is_scored_on_its_own_split(tmp_path, capsys):
    graph = digits()
    config = Config(dataset="digits", unseen_ratio=0.5)
    run_folder.prepare(tmp_path, config, run_folder.fingerprint_of(graph))
    split = splits.node_split(graph, config)
    split.save(tmp_path / single_run.SPLIT_FILE)
    outputs.write_embeddings(tmp_path, graph.features, graph.ids, "npy")
    output = tmp_path / "scores.json"
    assert app.main(["evaluate", f"--run_dir={tmp_path}", f"--output={output}"]) == 0
    assert json.loads(output.read_text())["sgd"]["test_nodes"] == len(split.test)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        ([], "run_dir and embeddings"),
        (["--embeddings=nowhere.npy"], "received nowhere.npy"),
        (["--run_dir=nowhere"], "the folder of a trained run"),
        (["--embeddings=x.npy", "--run_dir=y"], "one of the two"),
    ],
)
def test_mistakes_are_one_line(arguments, complaint, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert app.main(["evaluate", *arguments]) == 2
    assert complaint in capsys.readouterr().err


@pytest.mark.parametrize(
    "wrong", [np.zeros((3, 2)), np.zeros(1797), np.full((1797, 2), np.nan), np.array(["a"])]
)
def test_wrong_embeddings_are_refused(wrong, tmp_path, capsys):
    path = tmp_path / "wrong.npy"
    np.save(path, wrong)
    assert app.main(["evaluate", f"--embeddings={path}"]) == 2
    assert "wrong.npy: expected" in capsys.readouterr().err
