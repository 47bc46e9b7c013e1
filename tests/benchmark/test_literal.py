"""The literal path gives the fast path's scores where both draw alike, and its distribution."""

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.benchmark.literal import LiteralPath, literal_step
from cade_tf.errors import InputError
from cade_tf.sampling import random
from cade_tf.training.step import TrainingStep
from tests import engine
from tests.training.small_run import small_config

NODES = tf.constant([0, 1, 2, engine.ISOLATED, 0], tf.int64)
PARTNERS = tf.constant([3, 4, 1, engine.ISOLATED, 5], tf.int64)
NEGATIVES = tf.constant([5, 6, 7, 5], tf.int64)


def scores(path, graph, number=0):
    key = random.make_key(1, random.Stream.NEIGHBOR, number)
    return path.score_pairs(graph, NODES, PARTNERS, NEGATIVES, key)


@pytest.mark.parametrize("normalize", ["output", "both", "none"])
@pytest.mark.parametrize("name", engine.MODELS)
def test_equal_draws_give_equal_scores(name, normalize):
    model, graph = engine.small_model(name, normalize=normalize), engine.small_tables()
    fast = scores(model, graph)
    literal = scores(LiteralPath(model, own_draws=False), graph)
    np.testing.assert_allclose(literal.positive, fast.positive, atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(literal.negative, fast.negative, atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(literal.dual.attention, fast.dual.attention, atol=1e-5)


@pytest.mark.parametrize("graph", [{"sparse": True}, {"weighted": True}, {"known": range(-1, 10)}])
def test_equal_draws_give_equal_scores_on_any_graph(graph):
    model, tables = engine.small_model("cade_ms", fanouts=(3, 2, 2)), engine.small_tables(**graph)
    fast = scores(model, tables)
    literal = scores(LiteralPath(model, own_draws=False), tables)
    np.testing.assert_allclose(literal.positive, fast.positive, atol=1e-5, rtol=1e-5)
    np.testing.assert_allclose(literal.negative, fast.negative, atol=1e-5, rtol=1e-5)


def test_every_place_draws_for_itself():
    # The first and the last pair have the same node; the first and last negative are one node.
    model, graph = engine.small_model("graphsage"), engine.small_tables()
    shared = scores(LiteralPath(model, own_draws=False), graph)
    own = scores(LiteralPath(model), graph)
    np.testing.assert_array_equal(shared.dual.nodes[0], shared.dual.nodes[4])
    np.testing.assert_array_equal(shared.negative[:, 0], shared.negative[:, 3])
    assert np.abs(own.dual.nodes[0] - own.dual.nodes[4]).max() > 1e-3
    assert np.abs(own.negative[:, 0] - own.negative[:, 3]).max() > 1e-3


def test_sharing_draws_does_not_change_the_mean_score():
    model, graph = engine.small_model("cade_gb"), engine.small_tables()
    paths = [LiteralPath(model), model]
    compiled = [tf.function(lambda n, path=path: scores(path, graph, n).positive) for path in paths]
    samples = np.array([[one(tf.constant(n)) for n in range(200)] for one in compiled])
    error = np.sqrt((samples.var(axis=1) / samples.shape[1]).sum(axis=0))
    own, shared = samples.mean(axis=1)
    assert (np.abs(own - shared) <= 4.5 * error + 1e-6).all()


def test_a_training_step_of_the_literal_path_changes_the_weights_alike():
    graph, config = engine.small_tables(), small_config(batch_size=8, pair_order="walk")
    weights = []
    for literal in (False, True):
        model = engine.small_model("cade_gb", k=2)
        step = TrainingStep(model, graph, config)
        if literal:
            step = literal_step(step, own_draws=False)
        step.run(tf.constant(3))
        assert step.fault() is None
        weights.append([w.numpy() for w in model.trainable_variables])
    for fast, slow in zip(*weights, strict=True):
        np.testing.assert_allclose(slow, fast, atol=1e-4)


def test_other_aggregators_have_no_literal_path():
    with pytest.raises(InputError, match="aggregator: expected mean, received pool"):
        LiteralPath(engine.small_model("graphsage", aggregator="pool"))
