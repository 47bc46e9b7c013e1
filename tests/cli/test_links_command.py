"""`cade links`: edges are hidden, found and ranked."""

import json

import numpy as np
import pytest

from cade_tf.cli import app
from cade_tf.graph.link_splits import LinkSplit
from cade_tf.training.run_options import read_config
from tests.trained_runs import make_graph, trained_run

TINY = ("--k=2", "--dim=8", "--fanouts=3,2", "--steps=4", "--batch_size=16", "--embed_walks=2")


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A run on a graph of which a fifth of the edges is hidden."""
    folder = tmp_path_factory.mktemp("links")
    make_graph().save(folder / "ring.npz")
    flags = [f"--graph={folder / 'ring.npz'}", f"--run_dir={folder / 'run'}", "--hidden_ratio=0.2"]
    assert app.main(["links", *flags, *TINY]) == 0
    return folder / "run"


def test_hidden_edges_are_scored_by_dot_product_and_by_dual_score(trained):
    result = json.loads((trained / "result.json").read_text())
    assert set(result["links"]) == {"dot", "dual"}
    for scores in result["links"].values():
        assert 0 <= scores["auc"] <= 1
        assert 0 <= scores["ap"] <= 1
    graph = make_graph()
    assert result["hidden_edges"] == round(0.2 * graph.num_edges)
    split = LinkSplit.load(trained / "links.npz")
    assert len(split.test_edges) == result["hidden_edges"]
    assert not len(split.unseen)


def test_the_scores_are_printed(tmp_path, capsys):
    make_graph().save(tmp_path / "ring.npz")
    flags = [f"--graph={tmp_path / 'ring.npz'}", f"--run_dir={tmp_path / 'run'}", "--steps=1"]
    assert app.main(["links", *TINY[:3], *flags, "--batch_size=16"]) == 0
    shown = capsys.readouterr().out
    assert "AUC" in shown
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert f"{result['links']['dual']['auc']:.4f}" in shown
    assert f"cade links --run_dir={tmp_path / 'run'} --node=n0" in shown


def test_the_run_remembers_its_options(trained):
    config = read_config(trained)
    assert (config.k, config.unseen_ratio) == (2, 0.0)


@pytest.mark.parametrize("by", ["dual", "dot"])
def test_links_that_a_node_lacks_are_ranked(by, trained, capsys):
    assert app.main(["links", f"--run_dir={trained}", "--node=n3", "--top=5", f"--by={by}"]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    assert lines[0] == ["n3", by]
    found, scores = zip(*lines[1:], strict=True)
    assert len(found) == 5
    assert list(map(float, scores)) == sorted(map(float, scores), reverse=True)
    graph = make_graph()
    linked = graph.ids[graph.indices[graph.indptr[3] : graph.indptr[4]]]
    assert not {"n3", *linked} & set(found)


def test_any_trained_run_ranks_links_and_several_nodes_can_be_asked_for(capsys):
    assert app.main(["links", f"--run_dir={trained_run()}", "--node=n1,n2", "--top=1"]) == 0
    assert [line.split()[0] for line in capsys.readouterr().out.splitlines()][::2] == ["n1", "n2"]


def test_another_graph_is_embedded_first(tmp_path, capsys):
    make_graph(12, first=1000).save(tmp_path / "new.npz")
    flags = [f"--run_dir={trained_run()}", f"--graph={tmp_path / 'new.npz'}", "--node=n1003"]
    assert app.main(["links", *flags, "--top=3"]) == 0
    assert len(capsys.readouterr().out.splitlines()) == 4


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--node=nobody"], "received nobody"),
        (["--node=n1", "--top=0"], "top: expected at least 1"),
        (["--node=n1", "--by=cosine"], "by: expected one of dual, dot"),
    ],
)
def test_mistakes_of_a_ranking_are_named(flags, message, capsys):
    assert app.main(["links", f"--run_dir={trained_run()}", *flags]) == 2
    assert message in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flag", "message"),
    [
        ("--validate_every=5", "validate_every: expected none for links"),
        ("--compare=graphsage", "compare: expected none for links"),
        ("--memory_map", "memory_map: expected none for links"),
        ("--hidden_ratio=0.9", "hidden_ratio: expected at most"),
    ],
)
def test_options_that_do_not_go_with_links_are_refused(flag, message, tmp_path, capsys):
    make_graph().save(tmp_path / "ring.npz")
    flags = [f"--graph={tmp_path / 'ring.npz'}", f"--run_dir={tmp_path / 'run'}"]
    assert app.main(["links", *flags, *TINY, flag]) == 2
    assert message in capsys.readouterr().err


def test_two_runs_with_one_seed_hide_and_score_alike(trained, tmp_path):
    flags = [f"--flagfile={trained / 'flags.txt'}", f"--run_dir={tmp_path}", "--hidden_ratio=0.2"]
    assert app.main(["links", *flags]) == 0
    first, second = (
        json.loads((folder / "result.json").read_text())["links"] for folder in (trained, tmp_path)
    )
    for name in first:
        np.testing.assert_allclose(
            list(first[name].values()), list(second[name].values()), atol=1e-6
        )
