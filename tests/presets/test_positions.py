"""Positions are joined to features where hidden edges ask for them, and nowhere else."""

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.graph.graph import Graph
from cade_tf.graph.smoothing_start import SmoothingStart
from cade_tf.presets import hidden_edges
from cade_tf.presets.hidden_edges import HiddenEdges, near_each_other
from cade_tf.presets.positions import WEIGHTS, auc_by_weight, position_weight
from cade_tf.presets.recommended import recommend
from cade_tf.training.trainer import train

NODES, BLOCKS = 300, 6


def blocks(features: str = "noise") -> Graph:
    """Edges within blocks; features that tell the block, or nothing."""
    generator = np.random.default_rng(0)
    block = np.arange(NODES) % BLOCKS
    ends = generator.integers(0, NODES // BLOCKS, (6 * NODES, 2)) * BLOCKS
    edges = ends + generator.integers(0, BLOCKS, len(ends))[:, None]
    values = generator.standard_normal((NODES, BLOCKS))
    if features == "telling":
        values += 8 * np.eye(BLOCKS)[block]
    return Graph.from_edges(edges, features=values.astype(np.float32), num_nodes=NODES)


def start(**changes) -> Config:
    common = {"dim": 16, "self_weights": (0.5,), "own_weight": 0.5, "feature_scaling": "standard"}
    return Config(**common | changes)


def test_features_that_say_nothing_about_edges_call_for_positions():
    found = recommend(blocks(), Config())
    assert found.changes["position_weight"] > 0
    assert "positions at" in found.reasons[1]


def test_features_that_say_all_about_edges_stay_alone():
    found = recommend(blocks("telling"), Config())
    assert found.changes["position_weight"] == 0
    assert "positions" not in found.reasons[1]


def test_edges_that_follow_nothing_call_for_nothing():
    generator = np.random.default_rng(1)
    for seed in range(4):
        edges = generator.integers(0, NODES, (1200, 2))
        noise = generator.standard_normal((NODES, 8))
        graph = Graph.from_edges(edges, features=noise, num_nodes=NODES)
        assert position_weight(HiddenEdges.of(graph, seed=seed), start()) == 0


def test_a_graph_too_small_to_hide_edges_in_has_none():
    pair = Graph.from_edges([[0, 1]], features=np.eye(2))
    small = blocks().subgraph(np.arange(NODES // 2))
    for graph in (pair, small):
        assert HiddenEdges.of(graph, seed=0) is None
        assert "position_weight" not in recommend(graph, Config()).changes


def test_of_a_large_graph_nodes_near_each_other_are_looked_at(monkeypatch):
    graph = blocks()
    nodes = near_each_other(graph, 120, seed=3)
    assert len(nodes) == len(np.unique(nodes)) == 120
    # There are no edges between blocks of 50: the first is found whole before another begins.
    sizes = np.unique(nodes % BLOCKS, return_counts=True)[1]
    assert max(sizes) == 50
    assert len(sizes) < BLOCKS
    monkeypatch.setattr(hidden_edges, "MOST_NODES", 250)
    assert HiddenEdges.of(graph, seed=0).visible.num_nodes == 250


def test_components_that_are_small_do_not_keep_a_sample_small():
    pairs = Graph.from_edges(np.arange(2000).reshape(-1, 2))
    assert len(near_each_other(pairs, 999, seed=0)) == 999


@pytest.mark.parametrize("options", [
    {"model": "graphsage"}, {"global_bias": False}, {"fanouts": (5,)},
])  # fmt: skip
def test_a_model_without_a_global_bias_has_no_place_for_positions(options):
    assert "position_weight" not in recommend(blocks(), Config(**options), given=[*options]).changes
    with pytest.raises(InputError, match="position_weight: expected 0"):
        Config(position_weight=0.5, **options)


def test_scores_are_those_of_the_joined_vectors():
    graph, config = blocks(), start()
    hidden = HiddenEdges.of(graph, seed=1)
    auc = auc_by_weight(hidden, config)
    features = graph.features - graph.features.mean(0)
    features /= features.std(0)
    pairs = np.concatenate([hidden.edges, hidden.non_edges])
    linked = np.arange(len(pairs)) < len(hidden.edges)
    for weight in (0.0, *WEIGHTS):
        # Where the weight is 0 the columns of positions stay, so that nothing else differs.
        parts = SmoothingStart.of(
            hidden.visible, features, 16, self_weights=np.array([0.5]), own_weight=0.5,
            position_weight=weight or 1e-9,
        )  # fmt: skip
        rows = np.concatenate([parts.by_features(), parts.by_positions()], axis=1)
        rows /= np.linalg.norm(rows, axis=1, keepdims=True)
        expected = roc_auc_score(linked, (rows[pairs[:, 0]] * rows[pairs[:, 1]]).sum(1))
        assert auc[weight] == pytest.approx(expected, abs=1e-3)


def test_positions_tell_hidden_edges_that_features_do_not():
    hidden = HiddenEdges.of(blocks(), seed=1)
    visible = hidden.visible
    pairs = np.concatenate([hidden.edges, hidden.non_edges])
    linked = np.arange(len(pairs)) < len(hidden.edges)
    scores = []
    for weight in (0.0, 1.0):
        trained = train(visible, dim=16, steps=0, position_weight=weight, progress=False)
        rows = trained.embed(visible, progress=False)
        scores.append(roc_auc_score(linked, (rows[pairs[:, 0]] * rows[pairs[:, 1]]).sum(1)))
    assert scores[0] < 0.6
    assert scores[1] > 0.7
