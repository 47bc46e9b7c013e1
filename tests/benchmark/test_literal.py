"""Trees of their own give the scores of shared ones where both draw alike, and their mean."""

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.benchmark.literal import LiteralSampler, literal_step
from cade_tf.sampling import random
from cade_tf.sampling.batch import PairSampler
from cade_tf.sampling.walks import Pairs
from cade_tf.training import trainer
from tests import engine
from tests.training.small_run import small_config

PAIRS = Pairs(
    tf.constant([0, 1, 2, engine.ISOLATED, 0], tf.int64),
    tf.constant([3, 4, 1, engine.ISOLATED, 5], tf.int64),
    tf.ones([5], tf.bool),
)
NEGATIVES = tf.constant([5, 6, 7, 5], tf.int64)


def shared(model, graph):
    return PairSampler(graph=graph, shape=model.tree_shape)


def literal(model, graph, **options):
    return LiteralSampler(graph=graph, shape=model.tree_shape, **options)


def batch_of(sampler, number=0):
    key = random.make_key(1, random.Stream.NEIGHBOR, number)
    return sampler.assemble(sampler.graph, PAIRS, NEGATIVES, key)


def assert_equal_scores(model, graph):
    fast = model.score_pairs(batch_of(shared(model, graph)))
    slow = model.score_pairs(batch_of(literal(model, graph, own_draws=False)))
    np.testing.assert_allclose(slow.affinities, fast.affinities, atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(slow.dual.attention, fast.dual.attention, atol=1e-5)


@pytest.mark.parametrize("normalize", ["output", "both", "none"])
@pytest.mark.parametrize("name", engine.MODELS)
def test_equal_draws_give_equal_scores(name, normalize):
    assert_equal_scores(engine.small_model(name, normalize=normalize), engine.small_tables())


@pytest.mark.parametrize("aggregator", ["pool", "lstm"])
@pytest.mark.parametrize("name", engine.MODELS)
def test_equal_draws_give_equal_scores_with_any_aggregator(name, aggregator):
    assert_equal_scores(engine.small_model(name, aggregator=aggregator), engine.small_tables())


@pytest.mark.parametrize("graph", [{"sparse": True}, {"weighted": True}, {"known": range(-1, 10)}])
def test_equal_draws_give_equal_scores_on_any_graph(graph):
    model = engine.small_model("cade_ms", fanouts=(3, 2, 2))
    assert_equal_scores(model, engine.small_tables(**graph))


def test_every_root_has_a_tree_of_its_own():
    model, graph = engine.small_model("cade_ms", k=2), engine.small_tables()
    trees = batch_of(literal(model, graph)).trees
    roots = 2 * 2 * len(PAIRS.nodes) + len(NEGATIVES)
    instances = roots * (1 + 3)
    assert [level.shape for level in trees.child_index] == [(roots, 3), (3 * roots, 2)]
    assert trees.self_index.shape == (instances,)
    assert trees.features.shape == (instances + roots * 3 * 2, engine.WIDTH)
    assert len(batch_of(shared(model, graph)).trees.self_index) < instances


def test_every_place_draws_for_itself():
    # The first and the last pair have the same node; the first and last negative are one node.
    model, graph = engine.small_model("graphsage"), engine.small_tables()
    alike = model.score_pairs(batch_of(literal(model, graph, own_draws=False)))
    own = model.score_pairs(batch_of(literal(model, graph)))
    np.testing.assert_array_equal(alike.dual.nodes[0], alike.dual.nodes[4])
    np.testing.assert_array_equal(alike.affinities[:, 1], alike.affinities[:, 4])
    assert np.abs(own.dual.nodes[0] - own.dual.nodes[4]).max() > 1e-3
    assert np.abs(own.affinities[:, 1] - own.affinities[:, 4]).max() > 1e-3


def test_sharing_draws_does_not_change_the_mean_score():
    model, graph = engine.small_model("cade_gb"), engine.small_tables()

    def positive(sampler):
        return tf.function(lambda number: model.score_pairs(batch_of(sampler, number)).affinities)

    compiled = [positive(literal(model, graph)), positive(shared(model, graph))]
    samples = np.array([[one(tf.constant(n))[:, 0] for n in range(200)] for one in compiled])
    error = np.sqrt((samples.var(axis=1) / samples.shape[1]).sum(axis=0))
    own, alike = samples.mean(axis=1)
    assert (np.abs(own - alike) <= 4.5 * error + 1e-6).all()


def test_a_training_step_on_trees_of_their_own_changes_the_weights_alike():
    config = small_config(batch_size=8, pair_order="walk")
    weights = []
    for is_literal in (False, True):
        model = engine.small_model("cade_gb", k=2)
        step, _ = trainer.make_step(model, engine.small_tables(), config)
        if is_literal:
            step = literal_step(step, own_draws=False)
        step.run(tf.constant(3))
        assert step.fault() is None
        weights.append([w.numpy() for w in model.trainable_variables])
    for fast, slow in zip(*weights, strict=True):
        np.testing.assert_allclose(slow, fast, atol=1e-4)
