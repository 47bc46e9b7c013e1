"""`cade neighbors`: the nodes nearest to some nodes."""

import numpy as np
import pytest

from cade_tf.cli import app
from cade_tf.inference.outputs import write_embeddings

VECTORS = np.array([[1.0, 0.0], [0.8, 0.6], [0.0, 1.0], [-1.0, 0.0]])
IDS = np.array(["a", "b", "c", "far away"])


@pytest.fixture
def folder(tmp_path):
    write_embeddings(tmp_path, VECTORS, IDS)
    return tmp_path


def lines(capsys):
    return [line.rsplit(maxsplit=1) for line in capsys.readouterr().out.splitlines()]


def test_the_nearest_come_first(folder, capsys):
    assert app.main(["neighbors", f"--run_dir={folder}", "--node=a", "--top=2"]) == 0
    assert lines(capsys) == [["a", "cosine"], ["b", "0.8000"], ["c", "0.0000"]]


def test_several_nodes_and_an_npz(folder, capsys):
    (path,) = write_embeddings(folder, VECTORS, np.array([10, 20, 30, 40]), "npz")
    assert app.main(["neighbors", f"--embeddings={path}", "--node=30,40", "--top=1"]) == 0
    assert lines(capsys) == [["30", "cosine"], ["20", "0.6000"], ["40", "cosine"], ["30", "0.0000"]]


def test_faiss(folder, capsys):
    pytest.importorskip("faiss")
    flags = ["--node=far away", "--top=1", "--method=faiss"]
    assert app.main(["neighbors", f"--run_dir={folder}", *flags]) == 0
    assert lines(capsys)[1] == ["c", "0.0000"]


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--run_dir=nowhere", "--node=a"], "nowhere"),
        (["--node=a"], "run_dir"),
        (["--run_dir=."], "--node"),
        (["--run_dir=.", "--node=a,nobody"], "received nobody"),
    ],
)
def test_mistakes_are_named(folder, flags, message, capsys, monkeypatch):
    monkeypatch.chdir(folder)
    assert app.main(["neighbors", *flags]) == 2
    assert message in capsys.readouterr().err
