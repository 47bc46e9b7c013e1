"""The recommended preset: what it decides, that it can be overruled, and that it pays."""

import dataclasses

import numpy as np
import pytest

from cade_tf.config import Config
from cade_tf.evaluation.comparison import compare_nodes
from cade_tf.graph.digits import digits
from cade_tf.graph.graph import Graph
from cade_tf.graph.splits import split_nodes
from cade_tf.presets.recommended import (
    LEAST_OWN,
    LEAST_SELF,
    MOST_OWN,
    MOST_SELF,
    MS_FANOUTS,
    SCALINGS,
    learning_rate,
    own_weight,
    recommend,
    self_weights,
)
from cade_tf.presets.statistics import GraphStatistics
from cade_tf.training.trainer import train
from tests.presets.kinds import GENERATED, generated

TYPICAL = GraphStatistics(
    nodes=1000,
    mean_degree=40.0,
    kind="binary",
    width=400,
    density=0.05,
    zero_rows=0.0,
    autocorrelation=0.2,
)


def weight(**changes):
    (found,) = self_weights(dataclasses.replace(TYPICAL, **changes))
    return found


@pytest.mark.parametrize("kind", GENERATED)
def test_features_are_scaled_by_their_kind(kind):
    assert recommend(generated(kind), Config()).changes["feature_scaling"] == SCALINGS[kind]


def test_neighbours_that_are_alike_have_most_of_a_node():
    assert weight() == LEAST_SELF
    assert own_weight(TYPICAL) == LEAST_OWN


def test_the_less_neighbours_have_in_common_the_more_a_node_is_itself():
    cases = [dataclasses.replace(TYPICAL, autocorrelation=r) for r in (-0.1, 0.0, 0.01, 0.1)]
    for weights, most in (
        ([self_weights(case)[0] for case in cases], MOST_SELF),
        ([own_weight(case) for case in cases], MOST_OWN),
    ):
        assert weights == sorted(weights, reverse=True)
        assert weights[0] == weights[1] == most


def test_what_all_nodes_share_is_removed_where_it_is_large():
    rng = np.random.default_rng(0)
    edges = rng.integers(0, 200, (800, 2))
    for density, width, removed in ((0.6, 300, True), (0.05, 300, False), (0.6, 20, False)):
        words = (rng.random((200, width)) < density).astype(np.float32)
        found = recommend(Graph.from_edges(edges, features=words, num_nodes=200), Config())
        assert found.changes["remove_mean"] is removed
        assert ("what all nodes share" in found.reasons[1]) is removed


def test_nodes_without_features_rely_on_their_neighbours():
    assert weight(zero_rows=0.4) < weight()


def test_positions_come_from_neighbours_and_are_smoothed_like_what_they_share():
    assert weight(kind="none", width=0, autocorrelation=0.0) == LEAST_SELF


def test_the_aggregators_of_cade_ma_get_a_range_around_the_weight():
    graph = generated("binary")
    (single,) = recommend(graph, Config(model="cade_ms")).changes["self_weights"]
    low, high = recommend(graph, Config(model="cade_ma")).changes["self_weights"]
    assert low < single < high <= 1


def test_only_the_k_samplings_of_cade_ms_are_smaller():
    graph = generated("binary")
    assert recommend(graph, Config(model="cade_ms")).applied(Config()).fanouts == MS_FANOUTS
    for model in ("cade_ma", "cade_gb", "graphsage"):
        assert "fanouts" not in recommend(graph, Config(model=model)).changes


def test_the_learning_rate_shrinks_with_the_width():
    wide = dataclasses.replace(TYPICAL, width=4 * TYPICAL.width)
    assert learning_rate(wide) == pytest.approx(learning_rate(TYPICAL) / 2, rel=0.05)


@pytest.mark.parametrize("name", list(recommend(generated("binary"), Config()).changes))
def test_every_decision_gives_way_to_an_option_that_was_given(name):
    found = recommend(generated("binary"), Config(), given=[name])
    assert name not in found.changes


@pytest.mark.parametrize("given", [
    {"aggregator": "pool"}, {"activation": "relu"}, {"initialization": "glorot"},
    {"last_activation": "tanh"},
])  # fmt: skip
def test_what_the_smoothing_start_cannot_do_leaves_a_random_start(given):
    config = Config(**given)
    found = recommend(generated("binary"), config, given=list(given))
    chosen = found.applied(config)
    assert chosen.initialization == "glorot"
    assert chosen.learning_rate == config.learning_rate
    assert "random weights" in found.reasons[1]


def test_epochs_that_were_given_are_not_cut_short_by_steps():
    found = recommend(generated("binary"), Config(epochs=2), given=["epochs"])
    assert "steps" not in found.changes
    assert "2 epochs" in found.reasons[1]
    assert "steps" in recommend(generated("binary"), Config(), given=["epochs"]).changes


def test_several_machines_train_to_the_last_step():
    config = Config(strategy="multi_worker")
    assert recommend(generated("binary"), config).applied(config).stop_on == "none"


def test_the_reasons_tell_what_was_read_and_decided():
    read, decided = recommend(digits(), Config()).reasons
    assert "1,797 nodes, mean degree 10.9, 32 dense features" in read
    assert "standard_row scaling" in decided
    assert "self weight 0.35 and own features at 0.4 of its length" in decided
    assert "no features" in recommend(generated("none"), Config()).reasons[0]


def test_features_that_neighbours_do_not_share_are_pointed_out():
    rng = np.random.default_rng(0)
    edges, noise = rng.integers(0, 200, (2000, 2)), rng.normal(size=(200, 20))
    read, _ = recommend(Graph.from_edges(edges, features=noise, num_nodes=200), Config()).reasons
    assert "(little)" in read
    assert "little" not in recommend(digits(), Config()).reasons[0]


def test_labels_and_order_of_nodes_do_not_matter():
    graph = generated("counts")
    bare = Graph.from_edges(graph.edges(), features=graph.features)
    shuffled = graph.subgraph(np.random.default_rng(0).permutation(graph.num_nodes))
    expected = recommend(graph, Config()).changes
    assert recommend(bare, Config()).changes == expected
    assert recommend(shuffled, Config()).changes == expected


def embedded(graph, seen, **given):
    """Embeddings by the recommendation: untrained, trained."""
    training = graph.subgraph(seen)
    config = Config(model="graphsage", dim=32, summary_every=0, detail_every=0, **given)
    config = recommend(training, config, given=["dim", *given]).applied(config)
    untrained = train(training, config.replace(steps=0), progress=False)
    trained = train(training, config, progress=False)
    return untrained.embed(graph, progress=False), trained.embed(graph, progress=False)


@pytest.mark.parametrize(
    ("kind", "shape"),
    [
        *((kind, {}) for kind in GENERATED if kind != "dense"),
        ("dense", {"weighted": True}),
        ("weights", {"hubs": True}),
        ("counts", {"width": 6}),
    ],
)
def test_training_costs_nothing_on_graphs_of_any_kind(kind, shape):
    graph = generated(kind, **shape)
    split = split_nodes(graph, 0.3, seed=100)
    untrained, trained = embedded(graph, split.seen, steps=60)
    before, after = compare_nodes(
        {"untrained": untrained, "trained": trained}, graph.labels, split.seen, split.test, draws=2
    )
    assert after.all_labels >= before.all_labels - 0.05
    assert after.few_labels >= before.few_labels - 0.05
    assert after.all_labels > 0.8


def test_on_digits_it_beats_raw_features_with_few_labels_and_in_clusters():
    graph = digits()
    split = split_nodes(graph, 0.3, seed=100)
    _, trained = embedded(graph, split.seen)
    raw, model = compare_nodes(
        {"raw": graph.features, "model": trained}, graph.labels, split.seen, split.test, draws=2
    )
    assert model.all_labels > raw.all_labels + 0.05
    assert model.few_labels > raw.few_labels + 0.05
    assert model.nmi > raw.nmi + 0.05
