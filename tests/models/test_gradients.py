"""Gradients of the loss equal differences of the oracle's loss, and stop where they must."""

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.sampling import random
from cade_tf.sampling.graph_tables import make_graph_tables
from tests import engine, oracle

NODES, PARTNERS, NEGATIVES = [0, 3, 7], [1, 5, 2], [4, 0]
VALID = [True, True, True]
SETTINGS = {"weight": 2.0, "temperature": 0.7}


def key():
    return random.make_key(8, random.Stream.NEIGHBOR)


def terms_of(model, tables, nodes=NODES, partners=PARTNERS, negatives=NEGATIVES):
    scores = engine.scores(model, tables, nodes, partners, negatives, key())
    return engine.pair_terms(
        scores, [True] * len(nodes), SETTINGS["weight"], SETTINGS["temperature"]
    )


def gradients(model, tables, weights, term="total", **batch):
    """Gradients of a term of the loss by weights; None where it does not depend on one."""
    sources = [weight.value for weight in weights]
    with tf.GradientTape() as tape:
        value = getattr(terms_of(model, tables, **batch), term)
    return tape.gradient(value, sources)


def encoder_weights(model):
    return [w for w in model.sagb.weights if w is not model.bias.table]


def dense(gradient):
    return tf.convert_to_tensor(gradient).numpy()


@pytest.mark.parametrize(
    ("name", "aggregator"),
    [
        *((name, "mean") for name in engine.MODELS),
        ("cade_ms", "pool"),
        ("cade_ms", "lstm"),
        ("cade_ma", "pool"),
        ("cade_ma", "lstm"),
    ],
)
def test_gradients_equal_finite_differences_of_the_oracle(name, aggregator):
    # A smooth activation, so that differences are gradients.
    model = engine.small_model(name, aggregator=aggregator, activation="tanh", k=2)
    graph, tables = engine.small_graph(), engine.small_tables()
    truth = engine.OracleModel(model, tables, graph, key())

    def loss():
        return truth.loss(NODES, PARTNERS, NEGATIVES, VALID, **SETTINGS)

    for round_ in range(2):
        mine = dense(gradients(model, tables, [model.sagb.rounds[round_].kernel])[0])
        kernel = truth.sets[-1][round_]["kernel"].astype(np.float64)
        rows = np.s_[1, :2]

        def moved(entries, kernel=kernel, rows=rows, round_=round_):
            truth.sets[-1][round_]["kernel"] = kernel.copy()
            truth.sets[-1][round_]["kernel"][rows] = entries
            return loss()

        expected = oracle.numerical_gradient(moved, kernel[rows])
        truth.sets[-1][round_]["kernel"] = kernel
        assert np.abs(expected).max() > 1e-4
        np.testing.assert_allclose(mine[-1][rows], expected, rtol=5e-3, atol=2e-5)


@pytest.mark.parametrize("name", ["cade_ms", "cade_ma", "cade_gb"])
def test_the_gradient_of_the_global_bias_is_sparse_and_equals_finite_differences(name):
    model = engine.small_model(name, activation="tanh", k=2)
    graph, tables = engine.small_graph(), engine.small_tables()
    truth = engine.OracleModel(model, tables, graph, key())
    (mine,) = gradients(model, tables, [model.bias.table])
    assert isinstance(mine, tf.IndexedSlices)

    def moved(row):
        truth.bias[3] = row
        return truth.loss(NODES, PARTNERS, NEGATIVES, VALID, **SETTINGS)

    expected = oracle.numerical_gradient(moved, truth.bias[3].astype(np.float64))
    np.testing.assert_allclose(dense(mine)[3], expected, rtol=5e-3, atol=2e-5)
    # An isolated node that no tree holds is not even touched.
    assert engine.ISOLATED not in mine.indices.numpy()


def test_the_gradient_of_the_vector_a_equals_differences_with_a_star_held_fixed():
    model = engine.small_model("cade_ma", k=2)
    graph, tables = engine.small_graph(), engine.small_tables()
    truth = engine.OracleModel(model, tables, graph, key())
    mine = dense(gradients(model, tables, [model.attention.vector])[0])
    vector = model.attention.vector.numpy()

    def moved(entries):
        truth.score = oracle.vector_score(np.reshape(entries, -1), 1.0)
        return truth.loss(NODES, PARTNERS, NEGATIVES, VALID, **SETTINGS)

    expected = oracle.numerical_gradient(moved, vector)
    assert np.abs(expected).max() > 1e-4
    np.testing.assert_allclose(mine, expected, rtol=5e-3, atol=2e-5)


@pytest.mark.parametrize("score", ["linear", "tanh"])
def test_negatives_train_the_encoder_and_exactly_none_of_the_attention(score):
    model = engine.small_model("cade_ma", attention_score=score)
    tables = engine.small_tables()
    attention = model.attention.weights
    for gradient in gradients(model, tables, attention, "negative"):
        np.testing.assert_array_equal(dense(gradient), 0)
    for gradient in gradients(model, tables, encoder_weights(model), "negative"):
        assert np.abs(dense(gradient)).max() > 0
    for gradient in gradients(model, tables, attention, "positive"):
        assert np.abs(dense(gradient)).max() > 0


def test_the_attention_of_cade_ms_is_trained_through_the_encoder_by_both_terms():
    model, tables = engine.small_model("cade_ms"), engine.small_tables()
    assert not model.attention.weights
    for term in ("positive", "negative"):
        for gradient in gradients(model, tables, encoder_weights(model), term):
            assert np.abs(dense(gradient)).max() > 0


def test_the_last_layer_has_no_bias_to_train():
    # On a path, node 2 is a leaf of node 0's tree: it takes part with its features alone.
    model = engine.small_model("cade_gb", fanouts=(1, 4))
    edges = [[0, 1], [1, 2], [2, 3], [5, 6], [6, 7], [7, 8]]
    graph = engine.Graph.from_edges(
        edges, num_nodes=engine.NODES, features=engine.small_graph().features
    )
    tables = make_graph_tables(graph, graph.features)
    (gradient,) = gradients(
        model, tables, [model.bias.table], nodes=[0], partners=[0], negatives=[5]
    )
    assert set(gradient.indices.numpy()) == {0, 1, 5, 6}
    # With one layer there is no hidden layer, and so no bias at all.
    assert engine.small_model("cade_gb", fanouts=(3,)).bias is None


def test_unseen_nodes_train_no_row_of_the_bias():
    model = engine.small_model("cade_gb", num_known=4)
    known = np.full(engine.NODES, -1)
    (gradient,) = gradients(model, engine.small_tables(known=known), [model.bias.table])
    np.testing.assert_array_equal(dense(gradient), np.zeros((4, engine.DIM)))

    known[3] = 2
    (gradient,) = gradients(model, engine.small_tables(known=known), [model.bias.table])
    touched = np.abs(dense(gradient)).max(axis=1)
    assert touched[2] > 0
    np.testing.assert_array_equal(touched[[0, 1, 3]], 0)


def test_pairs_that_do_not_count_train_nothing():
    model, tables = engine.small_model("cade_ma"), engine.small_tables()
    with tf.GradientTape() as tape:
        scores = engine.scores(model, tables, NODES, PARTNERS, NEGATIVES, key())
        total = engine.pair_terms(scores, [False] * 3, 1.0, 1.0).total
    for gradient in tape.gradient(total, [weight.value for weight in model.weights]):
        np.testing.assert_array_equal(dense(gradient), 0)
