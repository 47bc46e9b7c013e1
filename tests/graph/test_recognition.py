"""Which nodes of a graph count as those of training."""

import dataclasses
import logging

import numpy as np
import pytest
import scipy.sparse as sp

from cade_tf.config import FeatureOptions
from cade_tf.errors import InputError
from cade_tf.graph.graph import Graph
from cade_tf.graph.preparation import Preparation
from cade_tf.graph.recognition import row_hashes

NODES = 30


def graph_of(nodes=NODES, seed=0, features=True, **fields):
    """A graph whose first nodes are the same whatever their number, features and edges."""
    rng = np.random.default_rng(seed)
    matrix = rng.normal(size=(100, 4)).astype(np.float32)
    edges = rng.integers(100, size=(900, 2))
    edges = edges[(edges < nodes).all(axis=1)]
    if features:
        fields["features"] = matrix[:nodes]
    return Graph.from_edges(edges, num_nodes=nodes, **fields)


def prepared(graph):
    """As a saved model would have it."""
    preparation = Preparation.fit(graph, FeatureOptions(), seed=0)
    return Preparation.from_arrays(preparation.to_arrays())


@pytest.mark.parametrize("features", [True, False])
@pytest.mark.parametrize("nodes", [NODES, 20, 45])
def test_the_same_graph_a_part_and_a_grown_one_keep_their_nodes(features, nodes, caplog):
    rows = prepared(graph_of(features=features)).bias_rows(graph_of(nodes, features=features))
    want = np.where(np.arange(nodes) < NODES, np.arange(nodes), -1)
    np.testing.assert_array_equal(rows, want)
    assert not caplog.records


@pytest.mark.parametrize("features", [True, False])
def test_a_part_that_was_trained_on_is_found_in_its_whole(features):
    whole = graph_of(features=features)
    part = np.arange(0, NODES, 2)
    rows = prepared(whole.subgraph(part)).bias_rows(whole)
    np.testing.assert_array_equal(rows[part], np.arange(len(part)))
    assert (rows[1::2] == -1).all()


@pytest.mark.parametrize("features", [True, False])
def test_all_nodes_of_another_graph_are_new_and_it_is_said(features, caplog):
    preparation = prepared(graph_of(features=features))
    with caplog.at_level(logging.WARNING):
        rows = preparation.bias_rows(graph_of(seed=1, features=features))
    assert (rows == -1).all()
    (record,) = caplog.records
    assert "all nodes are taken for new" in record.message
    assert "Give node_ids" in record.message


def test_ids_that_were_given_to_one_of_the_graphs_only_are_not_enough():
    named = graph_of(node_ids=np.arange(NODES))
    assert (prepared(named).bias_rows(graph_of(seed=1)) == -1).all()
    other = graph_of(seed=1, node_ids=np.arange(NODES))
    assert (prepared(graph_of()).bias_rows(other) == -1).all()


def test_given_ids_decide_whatever_the_features_are(caplog):
    trained = graph_of(node_ids=np.arange(NODES))
    other = graph_of(seed=1, node_ids=np.arange(NODES)[::-1] + 1)
    rows = prepared(trained).bias_rows(other)
    np.testing.assert_array_equal(rows, [-1, *range(NODES - 1, 0, -1)])
    assert not caplog.records


def test_features_that_are_all_the_same_leave_it_to_the_edges():
    same = {"features": False}
    trained = dataclasses.replace(graph_of(**same), features=np.ones((NODES, 2)))
    other = dataclasses.replace(graph_of(seed=1, **same), features=np.ones((NODES, 2)))
    assert (prepared(trained).bias_rows(trained) >= 0).all()
    assert (prepared(trained).bias_rows(other) == -1).all()


def test_hashes_see_every_value_and_place_and_no_kind_of_matrix():
    matrix = np.random.default_rng(0).integers(0, 2, size=(50, 8)).astype(np.float32)
    dense = row_hashes(matrix)
    np.testing.assert_array_equal(row_hashes(sp.csr_array(matrix)), dense)
    assert len(np.unique(dense)) == len(np.unique(matrix, axis=0))
    np.testing.assert_array_equal(row_hashes(np.array([[-0.0]], np.float32)), [0])
    assert row_hashes(np.array([[1.0, 2.0]])) != row_hashes(np.array([[2.0, 1.0]]))


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("marks.row_hashes", lambda a: a[:-1]),
        ("marks.row_hashes", lambda a: a.astype(np.int64)),
        ("marks.edges", lambda a: np.array([[0, NODES]])),
        ("marks.edges", lambda a: np.arange(3)),
    ],
)
def test_damaged_marks_are_refused(name, damage):
    members = Preparation.fit(graph_of(), FeatureOptions(), seed=0).to_arrays()
    members[name] = damage(members.get(name))
    with pytest.raises(InputError, match="preparation"):
        Preparation.from_arrays(members)
