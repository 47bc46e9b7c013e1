"""Ids, classes and pandas tables in Python mean what they mean in files."""

import numpy as np
import pandas as pd
import pytest

from cade_tf.errors import InputError
from cade_tf.graph.graph import Graph
from cade_tf.graph.naming import class_indices


def test_string_edges_are_names():
    graph = Graph.from_edges([["bob", "ann"], ["ann", "cy"]])
    assert graph.ids.tolist() == ["ann", "bob", "cy"]
    assert graph.edges().tolist() == [[0, 1], [0, 2]]
    assert graph.has_given_ids


def test_names_are_those_of_node_ids_in_their_order():
    graph = Graph.from_edges([["a", "c"]], node_ids=["c", "b", "a"], features=np.eye(3))
    assert graph.edges().tolist() == [[0, 2]]


def test_integer_edges_are_positions_where_node_ids_are_given():
    graph = Graph.from_edges([[0, 1]], node_ids=[20, 10])
    assert graph.ids[graph.edges()].tolist() == [[20, 10]]


@pytest.mark.parametrize("field", [{"features": np.eye(2)}, {"labels": [0, 1]}])
def test_rows_without_names_do_not_fit_edges_with_names(field):
    with pytest.raises(InputError, match="node_ids: expected the names of the nodes in the order"):
        Graph.from_edges([["b", "a"]], **field)


def test_an_unknown_name_is_an_error():
    with pytest.raises(InputError, match="edges: expected the ids of the 2 nodes, received 'z'"):
        Graph.from_edges([["a", "z"]], node_ids=["a", "b"])


@pytest.mark.parametrize("ids", [[2, 0, 1], [30, 10, 20], ["c", "a", "b"]])
def test_rows_of_a_frame_belong_to_the_ids_of_its_index(ids):
    features = pd.DataFrame({"x": [3.0, 1.0, 2.0]}, index=ids)
    edges = [[ids[1], ids[2]], [ids[2], ids[0]]]
    graph = Graph.from_edges(edges, features=features)
    row = {node: graph.features[i, 0] for i, node in enumerate(graph.ids.tolist())}
    assert row == dict(zip(ids, [3, 1, 2], strict=True))
    ends = {frozenset(pair) for pair in graph.ids[graph.edges()].tolist()}
    assert ends == {frozenset(pair) for pair in edges}
    assert graph.feature_names == ("x",)


def test_an_index_that_counts_the_rows_gives_no_ids():
    graph = Graph.from_edges([[0, 1]], features=pd.DataFrame(np.eye(2)))
    assert graph.node_ids is None
    assert graph.feature_names is None
    assert not graph.has_given_ids


def test_a_shuffled_frame_follows_node_ids():
    features = pd.DataFrame({"x": [1.0, 2.0]}, index=["b", "a"])
    graph = Graph.from_edges([[0, 1]], node_ids=["a", "b"], features=features)
    assert graph.features.ravel().tolist() == [2, 1]


def test_labels_are_joined_by_id_and_may_leave_nodes_out():
    features = pd.DataFrame({"x": [1.0, 2.0, 3.0]}, index=["a", "b", "c"])
    labels = pd.Series(["red", "blue"], index=["c", "a"])
    graph = Graph.from_edges([["a", "b"], ["b", "c"]], features=features, labels=labels)
    assert graph.class_names == ("blue", "red")
    assert graph.labels.tolist() == [0, -1, 1]


def test_labels_alone_name_the_nodes():
    graph = Graph.from_edges([[5, 7]], labels=pd.Series([1, 0], index=[9, 5]))
    assert graph.ids.tolist() == [5, 7, 9]
    assert graph.labels.tolist() == [0, -1, 1]


@pytest.mark.parametrize(
    ("index", "message"),
    [
        (["a", "b", "z"], "features.index: expected the ids of the 3 nodes, received 'z'"),
        (["a", "b", "b"], "features.index: expected each id once"),
        (["a", "b"], "features.index: expected a row for every node"),
    ],
)
def test_a_frame_of_other_ids_is_refused(index, message):
    features = pd.DataFrame({"x": np.ones(len(index))}, index=index)
    with pytest.raises(InputError, match=message):
        Graph.from_edges([[0, 1]], node_ids=["a", "b", "c"], features=features)


def test_an_edge_to_a_node_without_a_row_is_refused():
    with pytest.raises(InputError, match="edges: expected the ids of the 2 nodes, received 9"):
        Graph.from_edges([[0, 9]], features=pd.DataFrame(np.eye(2)))


def test_a_column_of_text_is_named():
    features = pd.DataFrame({"x": [1.0, 2.0], "color": ["red", "blue"]})
    with pytest.raises(InputError, match="text in the columns color"):
        Graph.from_edges([[0, 1]], features=features)


def test_string_labels_in_python():
    graph = Graph.from_edges([[0, 1], [1, 2]], labels=["red", None, "blue"])
    assert graph.labels.tolist() == [1, -1, 0]
    assert graph.class_names == ("blue", "red")


def test_integer_labels_are_kept_as_they_are():
    assert Graph.from_edges([[0, 1]], labels=[5, 3]).labels.tolist() == [5, 3]
    assert Graph.from_edges([[0, 1]], labels=[1.0, np.nan]).labels.tolist() == [1, -1]


def test_given_names_of_classes_order_string_labels():
    graph = Graph.from_edges([[0, 1]], labels=["a", "b"], class_names=("b", "a"))
    assert graph.labels.tolist() == [1, 0]
    with pytest.raises(InputError, match="labels: expected class_names, received 'z'"):
        Graph.from_edges([[0, 1]], labels=["a", "z"], class_names=("b", "a"))


@pytest.mark.parametrize(
    "values",
    [
        ["2", "-1", "10"],
        ["2", "", "10"],
        ["2.0", "nan", "10.0"],
        [2, -1, 10],
        [2.0, np.nan, 10.0],
        ["2", None, "10"],
    ],
)
def test_no_class_is_written_in_many_ways(values):
    found = class_indices(values)
    assert found["labels"].tolist() == [0, -1, 1]
    assert found["class_names"] == ("2", "10")


def test_edges_in_two_rows_get_advice():
    with pytest.raises(InputError, match="from_edge_index"):
        Graph.from_edges(np.zeros((2, 5), int))
