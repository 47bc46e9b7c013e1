"""How a graph's features are laid out for a step."""

import numpy as np
import pytest
import scipy.sparse as sp
import tensorflow as tf

from cade_tf.graph.graph import Graph
from cade_tf.sampling import graph_tables
from cade_tf.sampling.graph_tables import make_graph_tables

NODES, WIDTH = 40, 50
SHARE = graph_tables.DENSE_SHARE  # before the suite raises it
LIMIT = round(SHARE * NODES * WIDTH)


@pytest.fixture(autouse=True)
def share_as_it_is(monkeypatch):
    monkeypatch.setattr(graph_tables, "DENSE_SHARE", SHARE)


def read_back(entries):
    """Rows that a step reads of sparse features with so many entries, and the features."""
    features = sp.random_array(
        (NODES, WIDTH), density=entries / (NODES * WIDTH), format="csr", dtype=np.float32, rng=0
    )
    edges = np.stack([np.arange(NODES - 1), np.arange(1, NODES)], axis=1)
    graph = Graph.from_edges(edges, num_nodes=NODES, features=features)
    return make_graph_tables(graph, graph.features).features.lookup(tf.range(NODES)), features


def test_features_of_few_entries_stay_sparse():
    rows, features = read_back(LIMIT - 10)
    assert isinstance(rows, tf.SparseTensor)
    np.testing.assert_array_equal(tf.sparse.to_dense(rows), features.toarray())


def test_fuller_features_lie_dense_with_the_same_numbers():
    rows, features = read_back(LIMIT + 10)
    assert isinstance(rows, tf.Tensor)
    np.testing.assert_array_equal(rows, features.toarray())


def test_a_large_table_stays_sparse_however_full(monkeypatch):
    monkeypatch.setattr(graph_tables, "DENSE_BYTES", 4 * NODES * WIDTH - 1)
    rows, _ = read_back(1000)
    assert isinstance(rows, tf.SparseTensor)
