"""A step of training does not see some features and some biases; nothing else changes."""

import numpy as np
import pytest
import scipy.sparse as sp
import tensorflow as tf

from cade_tf.graph.graph import Graph
from cade_tf.sampling.dropout import with_dropout
from cade_tf.sampling.graph_tables import make_graph_tables

NODES, WIDTH = 400, 30


def tables(sparse=False):
    features = np.arange(1, 1 + NODES * WIDTH, dtype=np.float32).reshape(NODES, WIDTH)
    graph = Graph.from_edges([[0, 1]], num_nodes=NODES, features=features)
    return make_graph_tables(graph, sp.csr_array(features) if sparse else features), features


def dropped(step=0, sparse=False, **rates):
    graph, features = tables(sparse)
    rates = {"feature_dropout": 0.0, "bias_dropout": 0.0, **rates}
    return with_dropout(graph, **rates, seed=0, step=tf.constant(step)), features


def dense(rows):
    return (tf.sparse.to_dense(rows) if isinstance(rows, tf.SparseTensor) else rows).numpy()


def test_without_a_rate_the_graph_is_the_graph():
    graph, _ = tables()
    assert with_dropout(graph, 0.0, 0.0, 0, tf.constant(0)) is graph


@pytest.mark.parametrize("sparse", [False, True])
def test_a_share_of_the_features_is_zero_and_the_rest_make_up_for_it(sparse):
    graph, features = dropped(feature_dropout=0.25, sparse=sparse)
    seen = dense(graph.features.lookup(tf.range(NODES, dtype=tf.int64)))
    kept = seen != 0
    assert abs(kept.mean() - 0.75) < 0.02
    np.testing.assert_allclose(seen[kept], features[kept] / 0.75, rtol=1e-6)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_node_misses_the_same_features_wherever_it_stands_in_a_step(sparse):
    graph, _ = dropped(feature_dropout=0.5, sparse=sparse)
    once = dense(graph.features.lookup(tf.constant([7, 3], tf.int64)))
    rows, position = graph.features.compact(tf.constant([[3, 9], [7, 3]], tf.int64))
    np.testing.assert_array_equal(dense(rows)[position[1, 0]], once[0])
    np.testing.assert_array_equal(dense(rows)[position[0, 0]], once[1])
    assert position[0, 0] == position[1, 1]


def test_every_step_misses_others():
    nodes = tf.range(NODES, dtype=tf.int64)
    first, second = (
        dropped(step, feature_dropout=0.5)[0].features.lookup(nodes) for step in (0, 1)
    )
    assert 0.4 < np.mean((first.numpy() != 0) == (second.numpy() != 0)) < 0.6


def test_a_share_of_the_nodes_has_no_bias_and_the_others_their_own():
    graph, _ = dropped(bias_dropout=0.3)
    rows = graph.bias_rows.lookup(tf.range(NODES, dtype=tf.int64)).numpy()
    missing = rows == -1
    assert abs(missing.mean() - 0.3) < 0.08
    np.testing.assert_array_equal(rows[~missing], np.flatnonzero(~missing))


def test_a_bias_that_is_always_dropped_is_never_trained():
    from tests.training.test_devices import make_step

    step = make_step(bias_dropout=1.0, feature_dropout=0.2)
    step.run(tf.constant(2))
    assert step.fault() is None
    assert not step.model.bias.table.numpy().any()
