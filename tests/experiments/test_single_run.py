"""A run on one's own graph: what is hidden, how it is scored, what it is compared with."""

import json
import logging

import numpy as np
import pytest

from cade_tf.config import Config
from cade_tf.experiments import side_by_side, single_run, untrained
from cade_tf.graph.graph import Graph
from cade_tf.graph.splits import NodeSplit
from tests.presets.kinds import NODES, generated

SMALL = {"model": "graphsage", "dim": 8, "fanouts": (3, 2), "batch_size": 32, "steps": 3}


def run(folder, graph, caplog, **options):
    """A run as `cade train --graph=...` makes it: its result, and what was said."""
    graph.save(folder / "graph.npz")
    config = Config.from_given(graph=str(folder / "graph.npz"), **SMALL, **options)
    with caplog.at_level(logging.INFO, "cade_tf"):
        (row,) = side_by_side.run_methods(config, folder / "run", progress=False)
    result = json.loads((folder / "run" / "result.json").read_text())
    return result, row, caplog.text


def test_without_a_ratio_all_nodes_are_trained_on_and_labels_are_held_out(tmp_path, caplog):
    result, row, said = run(tmp_path, generated("binary"), caplog)
    assert (result["data"]["seen"], result["data"]["unseen"]) == (NODES, 0)
    assert result["scored_on"] == "held-out labels"
    assert result["scores"]["logreg"]["train_nodes"] == 350
    assert result["scores"]["logreg"]["test_nodes"] == 150
    assert "Training sees all 500 nodes; a probe learns the labels of 350" in said
    assert "(micro-F1 of held-out labels, by probe)" in side_by_side.table([row])


def test_with_a_ratio_unseen_nodes_are_scored(tmp_path, caplog):
    result, _, said = run(tmp_path, generated("binary"), caplog, unseen_ratio=0.2)
    assert (result["data"]["seen"], result["data"]["unseen"]) == (400, 100)
    assert result["scored_on"] == "unseen nodes"
    assert "Training sees 400 of 500 nodes (unseen_ratio=0.2); the 100 unseen" in said


def without_labels():
    graph = generated("binary")
    weights = np.random.default_rng(0).uniform(0.5, 2.0, graph.num_edges)
    return Graph.from_edges(graph.edges(), features=graph.features, edge_weights=weights)


def test_without_labels_no_node_is_hidden_and_some_edges_are_scored(tmp_path, caplog):
    graph = without_labels()
    result, row, said = run(tmp_path, graph, caplog)
    assert (result["data"]["unseen"], result["scores"]) == (0, {})
    assert result["scored_on"] == "hidden edges"
    methods = [scores["method"] for scores in result["comparison"]]
    assert methods == ["raw features", "smoothed PCA", "graphsage", "graphsage, dual score"]
    assert all(scores["auc"] > 0.6 for scores in result["comparison"])
    hidden = round(0.05 * graph.num_edges)
    assert f"and {graph.num_edges - hidden:,} of {graph.num_edges:,} edges" in said
    assert "edges that training did not see" in side_by_side.table([row])


def test_of_many_hidden_edges_a_sample_is_scored(tmp_path, caplog, monkeypatch):
    monkeypatch.setattr(untrained, "MOST_EDGES", 30)
    graph = without_labels()
    result, _, said = run(tmp_path, graph, caplog)
    hidden = round(0.05 * graph.num_edges)
    assert f"scores a sample of 30 of the {hidden} hidden edges" in said
    assert all(scores["auc"] > 0.6 for scores in result["comparison"])


def test_without_labels_no_edge_is_hidden_where_that_is_asked_for(tmp_path, caplog):
    result, row, said = run(tmp_path, without_labels(), caplog, held_out_edges=0.0)
    assert (result["scores"], result["comparison"]) == ({}, [])
    assert "there are no labels to score by (cade links scores hidden edges)" in said
    assert "edges that training" not in side_by_side.table([row])


def test_the_models_scores_come_with_those_of_no_training(tmp_path, caplog):
    result, row, _ = run(tmp_path, generated("binary"), caplog)
    methods = [scores["method"] for scores in result["comparison"]]
    assert methods == ["raw features", "smoothed PCA", "graphsage"]
    for scores in result["comparison"]:
        assert 0 < scores["few_labels"] <= 1
        assert 0 < scores["all_labels"] <= 1
    table = side_by_side.table([row])
    assert "smoothed PCA" in table
    assert "with all labels and with 20 per class" in table


def test_without_features_positions_take_their_place(tmp_path, caplog):
    result, _, _ = run(tmp_path, generated("none"), caplog)
    assert result["comparison"][0]["method"] == "degrees and positions"


def test_a_split_of_the_data_is_kept(tmp_path, caplog):
    graph = generated("binary")
    parts = np.repeat([0, 1, 2], [300, 100, 100])
    fixed = Graph.from_edges(
        graph.edges(), features=graph.features, labels=graph.labels, split=parts
    )
    result, _, said = run(tmp_path, fixed, caplog)
    assert (result["data"]["seen"], result["data"]["unseen"]) == (300, 100)
    assert "(the data's own split)" in said


def compared():
    graph = generated("binary")
    split = NodeSplit(train=np.arange(350), validation=[], test=np.arange(350, NODES))
    vectors = np.random.default_rng(0).normal(size=(NODES, 4)).astype(np.float32)
    return untrained.compare(graph, split.seen, split, vectors, "graphsage")


def test_large_graphs_are_compared_on_a_sample(monkeypatch):
    whole = compared()
    monkeypatch.setattr(untrained, "MOST_NODES", 100)
    sample = compared()
    assert [row.method for row in sample] == [row.method for row in whole]
    assert sample != whole
    assert compared() == sample


def test_features_too_large_to_be_dense_are_not_smoothed(monkeypatch):
    monkeypatch.setattr(untrained, "LARGEST_DENSE", 100)
    assert [row.method for row in compared()] == ["raw features", "graphsage"]


@pytest.mark.parametrize("labels", [np.full(10, -1), np.arange(10) - 9, np.zeros(10, int)])
def test_labels_too_few_or_of_one_class_are_no_scores(labels):
    split = NodeSplit(train=np.arange(10), validation=[], test=[])
    scored = single_run.scored_split(labels, split)
    vectors = np.zeros((10, 2), np.float32)
    assert single_run.score_labels(vectors, labels, scored) == {}
