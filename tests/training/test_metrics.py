"""Measures equal the oracle's, and tell a collapsed run from a healthy one."""

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.config import Config
from cade_tf.graph.graph import Graph
from cade_tf.layers.bi_attention import DualPair
from cade_tf.models.dual_encoder import PairScores
from cade_tf.training.metrics import (
    STEP_METRICS,
    collapse_warning,
    equal_embeddings,
    rank_me,
    step_metrics,
)
from cade_tf.training.trainer import train
from tests import engine, oracle


def measured(positive, negative, nodes, valid=None):
    positive, negative = np.float32(positive), np.float32(negative)
    scores = PairScores(
        tf.constant(np.hstack([positive[:, None], negative])),
        DualPair(tf.constant(np.float32(nodes)), None, None),
    )
    valid = tf.fill([len(positive)], True) if valid is None else tf.constant(valid)
    terms = engine.pair_terms(scores, valid, 1.0, 1.0)
    values = step_metrics(scores, terms, valid).numpy()
    return dict(zip(STEP_METRICS, map(float, values), strict=True))


def random_scores(pairs=7, negatives=5):
    rng = np.random.default_rng(0)
    return rng.normal(size=pairs), rng.normal(size=(pairs, negatives)), rng.normal(size=(pairs, 4))


def test_metrics_equal_the_oracle():
    positive, negative, nodes = random_scores()
    got = measured(positive, negative, nodes)
    assert got["mrr"] == pytest.approx(oracle.mrr(positive, negative), rel=1e-5)
    assert got["mean_cosine"] == pytest.approx(oracle.mean_cosine(nodes), abs=1e-5)
    assert got["positive_affinity"] == pytest.approx(positive.mean(), rel=1e-5)
    assert got["negative_affinity"] == pytest.approx(negative.mean(), rel=1e-5)
    assert got["loss"] == pytest.approx(got["positive_loss"] + got["negative_loss"], rel=1e-5)


def test_pairs_that_do_not_count_change_no_affinity_and_no_rank():
    positive, negative, nodes = random_scores()
    valid = np.arange(7) < 4
    got = measured(positive, negative, nodes, valid)
    few = measured(positive[:4], negative[:4], nodes[:4])
    for name in ("loss", "positive_affinity", "negative_affinity", "mrr"):
        assert got[name] == pytest.approx(few[name], rel=1e-5)


def test_a_tie_counts_against_the_positive():
    # Else a model that gives everything the same score would look perfect.
    got = measured([0.5], [[0.5, 0.5, 0.5]], [[1.0, 0.0]])
    assert got["mrr"] == pytest.approx(1 / 4)
    assert got["mrr"] == pytest.approx(oracle.mrr([0.5], [[0.5, 0.5, 0.5]]))


def test_rank_me_equals_the_oracle_and_counts_dimensions():
    embeddings = np.random.default_rng(0).normal(size=(30, 6))
    assert rank_me(embeddings) == pytest.approx(oracle.rank_me(embeddings))
    assert rank_me(np.eye(5)) == pytest.approx(5.0)
    assert rank_me(np.outer(np.arange(1, 9), np.ones(4))) == pytest.approx(1.0)
    assert rank_me(np.zeros((3, 2))) == 0.0


def healthy(**changes):
    return {"mean_cosine": 0.1, "positive_affinity": 0.6, "negative_affinity": -0.1, **changes}


def test_a_healthy_run_gives_no_warning():
    assert collapse_warning(healthy()) is None


def test_a_run_whose_embeddings_all_point_one_way_is_called_collapsed():
    assert "point one way (mean cosine 0.990)" in collapse_warning(healthy(mean_cosine=0.99))


def test_a_run_whose_partners_are_all_opposite_is_called_collapsed():
    warning = collapse_warning(healthy(positive_affinity=-0.95, negative_affinity=-0.95))
    assert "-0.95 and -0.95" in warning
    assert "lower the weight of negatives" in warning


def test_embeddings_that_are_all_equal_are_told(caplog):
    rows = np.tile(np.array([[0.6, -0.8]], np.float32), (5, 1))
    assert "all embeddings are equal" in equal_embeddings(rows)
    assert "collapsed" in caplog.text
    rows[3, 0] += 0.01
    assert equal_embeddings(rows) is None


def test_training_warns_of_features_that_tell_no_nodes_apart(caplog):
    config = Config(model="graphsage", dim=4, fanouts=(2,), steps=0)
    edges = [[0, 1], [1, 2], [2, 3]]
    train(Graph.from_edges(edges, features=np.ones((4, 2))), config, progress=False)
    assert "All nodes have the same features" in caplog.text
    by_row = config.replace(feature_scaling="row")
    lengths = np.array([[1.0], [2.0], [4.0], [8.0]])
    train(Graph.from_edges(edges, features=lengths), by_row, progress=False)
    assert "The scaling row makes the features of all nodes equal" in caplog.text
