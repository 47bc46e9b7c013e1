"""`cade explain`: the attention between two nodes as a table and a picture."""

import numpy as np
import pytest

from cade_tf.cli import app
from cade_tf.evaluation.explanation import table
from cade_tf.inference.pairs import PairEmbedding
from tests.trained_runs import trained_run


@pytest.mark.parametrize(
    ("model", "candidates"), [("cade_ms", "sampling"), ("cade_ma", "aggregator")]
)
def test_it_shows_weights_and_draws_a_picture(model, candidates, tmp_path, capsys):
    picture = tmp_path / "attention.png"
    flags = [f"--run_dir={trained_run(model)}", "--pair=n3,n7", f"--plot={picture}"]
    assert app.main(["explain", *flags]) == 0
    shown = capsys.readouterr().out
    assert "n3 and n7: cosine" in shown
    assert f"Without preference every {candidates} would weigh 0.333" in shown
    assert shown.count(f"{candidates} of ") == 2
    assert picture.read_bytes().startswith(b"\x89PNG")


def pair_of(attention, drawn):
    vectors = np.array([1.0, 0.0]), np.array([0.6, 0.8])
    return PairEmbedding(("a", "b"), vectors, np.array(attention), drawn)


def test_the_heaviest_sampling_comes_first_with_its_neighbours():
    draws = [np.array(["x", "y", "x"]), np.array(["z", "z", "z"])]
    lines = table(pair_of([[0.1, 0.2], [0.4, 0.3]], (draws, draws)), "sampling").splitlines()
    assert lines[0] == "a and b: cosine 0.6000"
    assert lines[4].split() == ["2", "0.700", "z", "x3"]
    assert lines[5].split() == ["1", "0.300", "x", "x2,", "y"]
    assert [line.split()[:2] for line in lines[8:10]] == [["2", "0.500"], ["1", "0.500"]]


def test_many_neighbours_are_cut_and_aggregators_share_one_draw():
    many = [np.arange(9)] * 2
    assert "and 3 more" in table(pair_of([[0.5, 0.0], [0.0, 0.5]], (many, many)), "sampling")
    shared = [np.array([4, 4, 5])]
    shown = table(pair_of([[0.5, 0.0], [0.0, 0.5]], (shared, shared)), "aggregator")
    assert "a drew: 4 x2, 5" in shown
    assert "neighbours drawn" not in shown


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--pair=n1"], "two ids"),
        ([], "two ids"),
        (["--pair=n1,nobody"], "received nobody"),
    ],
)
def test_mistakes_are_named(flags, message, capsys):
    assert app.main(["explain", f"--run_dir={trained_run()}", *flags]) == 2
    assert message in capsys.readouterr().err


def test_a_model_without_attention_has_nothing_to_explain(capsys):
    assert app.main(["explain", f"--run_dir={trained_run('graphsage')}", "--pair=n1,n2"]) == 2
    assert "a model with attention, received graphsage" in capsys.readouterr().err
