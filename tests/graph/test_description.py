"""The numbers and notes of a graph."""

import numpy as np
import pytest
import scipy.sparse as sp

from cade_tf.graph.description import describe, notes, same_features, warnings
from cade_tf.graph.graph import Graph
from cade_tf.graph.splits import split_nodes


def rows(graph: Graph) -> dict[str, str]:
    return dict(describe(graph, split_nodes(graph, 0.25, 0)))


def star(**fields) -> Graph:
    """A hub with 8 spokes, and 3 nodes without edges."""
    return Graph.from_edges([[0, i] for i in range(1, 9)], num_nodes=12, name="star", **fields)


def test_structure():
    table = rows(star())
    assert table["nodes"] == "12"
    assert table["edges"] == "8"
    assert table["density"] == "12.1 %"
    assert table["degree"] == "mean 1.333, quartiles 0 / 0 / 1 / 1 / 8"
    assert table["degree counts"] == "0: 3, 1: 8, 8-15: 1"
    assert table["components"] == "4 (largest 9 nodes, 75.0 %)"
    assert table["isolated nodes"] == "3"
    assert table["split"] == "8 train / 1 validation / 3 test (random, unseen nodes)"
    assert table["features"].startswith("none")
    assert table["classes"] == "none"
    assert "dropped" not in table


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_features_and_classes(make):
    features = np.zeros((12, 5))
    features[:4, :3] = 1
    labels = np.array([0, 1, 1, -1, 2, 2, 2, 0, 0, 0, 0, 0])
    graph = star(features=make(features), labels=labels)
    table = rows(graph)
    assert table["non-zeros"] == "12 (20.0 %)"
    assert table["class sizes"] == "6 / 2 / 3"
    assert table["without class"] == "1"
    told = "\n".join(notes(graph))
    assert "8 nodes have only zeros as features." in told
    assert "2 features are zero at all nodes." in told
    assert "3 nodes have no edge" in told
    assert "1 nodes have no class " in told


def test_multi_labels_and_weights():
    graph = Graph.from_edges(
        [[0, 1], [1, 2], [2, 2]],
        edge_weights=[0.5, 2.0, 1.0],
        labels=np.array([[1, 1], [0, 1], [0, 0], [0, 0]]),
        graph_ids=[0, 0, 0, 1],
    )
    table = rows(graph)
    assert table["classes"] == "2, 0.75 per node (multi-label)"
    assert table["class sizes"] == "1 / 2"
    assert table["edge weights"] == "0.5 to 2"
    assert table["graphs"] == "2"
    assert table["dropped"] == "1 self-loops and 0 repeated edges"


def test_many_classes_are_cut_short():
    graph = star(labels=np.arange(12))
    assert "more" not in rows(graph)["class sizes"]
    many = Graph.from_edges([[0, 1]], labels=np.arange(50))
    assert rows(many)["class sizes"].endswith("and 38 more")
    assert "50 classes have fewer than 2 nodes." in notes(many)


def test_direction_that_is_dropped_is_told():
    mixed = Graph.from_edges([[0, 1], [1, 0], [1, 2]])
    assert warnings(mixed) == [
        "1 of 2 edges are given in one direction only; the graph is undirected here."
    ]
    once = Graph.from_edges([[0, 1], [1, 2]])
    assert "All 2 edges are given in one" in notes(once)[0]
    assert warnings(once) == []
    assert warnings(Graph.from_edges([[0, 1], [1, 0]])) == []


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
@pytest.mark.parametrize(
    ("features", "expected"),
    [
        (np.zeros((3, 2)), ["All features are zero; only edges can tell nodes apart."]),
        (np.ones((3, 2)), ["All nodes have the same features; only edges can tell nodes apart."]),
        ([[0, 5.0]] * 3, ["All nodes have the same features; only edges can tell nodes apart."]),
        ([[0, 5.0], [0, 5.0], [5.0, 0]], []),
        ([[0, 5.0], [0, 5.0], [0, 4.0]], []),
        ([[0, 0], [0, 5.0], [0, 5.0]], []),
        ([[1.0, 2.0]], []),
    ],
)
def test_features_that_tell_no_nodes_apart(make, features, expected):
    assert same_features(make(np.asarray(features))) == expected


def test_what_the_reader_noted_comes_first():
    graph = Graph.from_edges([[0, 1], [1, 0]], notes=("Look here.",))
    assert notes(graph)[0] == "Look here."


def test_a_huge_width_costs_no_memory():
    wide = sp.csr_array((np.ones(2), ([0, 1], [0, 2**30])), shape=(2, 2**31 - 1))
    told = notes(Graph.from_edges([[0, 1], [1, 0]], features=wide))
    assert f"{2**31 - 3:,} features are zero at all nodes." in told
