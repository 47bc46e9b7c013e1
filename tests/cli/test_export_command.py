"""`cade export`: versions in a folder, with a card."""

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.cli import app
from tests.trained_runs import make_graph, trained_run


def test_versions_with_and_without_the_graph(tmp_path, capsys):
    run_dir = trained_run()
    flags = [f"--run_dir={run_dir}", f"--export_dir={tmp_path}"]
    assert app.main(["export", *flags, "--embed_walks=2"]) == 0
    assert app.main(["export", *flags, "--noexport_graph"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2"]
    assert f"SavedModel: {tmp_path / '2'}" in capsys.readouterr().out

    embed = tf.saved_model.load(str(tmp_path / "1")).signatures["serving_default"]
    ids = tf.constant(make_graph().ids.tolist())
    first = embed(node_ids=ids, seed=tf.constant(1, tf.int64))["embeddings"]
    again = embed(node_ids=ids[::-1], seed=tf.constant(1, tf.int64))["embeddings"]
    assert first.shape == (30, 8)
    np.testing.assert_allclose(first, again[::-1], rtol=1e-5, atol=1e-6)

    small = tf.saved_model.load(str(tmp_path / "2")).signatures
    assert "serving_default" not in small
    assert "encode_tree" in small
    card = (tmp_path / "1" / "model_card.md").read_text()
    for text in ("CADE-MS", "| nodes | 30 |", "--k=3", "tensorflow", "serving_default", "±"):
        assert text in card
    assert "It holds no graph" in (tmp_path / "2" / "model_card.md").read_text()


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--export_dir=x"], "run_dir"),
        (["--run_dir=."], "export_dir"),
        (["--run_dir=nowhere", "--export_dir=x"], "nowhere"),
    ],
)
def test_mistakes_are_named(flags, message, capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert app.main(["export", *flags]) == 2
    assert message in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_a_run_for_the_spread_must_be_finished(tmp_path, capsys):
    flags = [f"--run_dir={trained_run()}", f"--export_dir={tmp_path / 'e'}"]
    assert app.main(["export", *flags, f"--other_runs={tmp_path}"]) == 2
    assert "result.json" in capsys.readouterr().err
    assert not (tmp_path / "e").exists()
