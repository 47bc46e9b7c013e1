"""Several graphs as one."""

import numpy as np
import pytest
import scipy.sparse as sp

from cade_tf.errors import InputError
from cade_tf.graph import readers
from cade_tf.graph.graph import Graph
from cade_tf.graph.joining import join_graphs


def graph(name, **fields):
    return Graph.from_edges([[0, 1], [1, 2]], num_nodes=3, name=name, **fields)


def test_edges_stay_within_their_graph():
    joined = join_graphs([graph("a"), graph("b")])
    assert joined.edges().tolist() == [[0, 1], [1, 2], [3, 4], [4, 5]]
    assert joined.graph_ids.tolist() == [0, 0, 0, 1, 1, 1]
    assert joined.ids.tolist() == ["a/0", "a/1", "a/2", "b/0", "b/1", "b/2"]
    assert joined.report.one_way == 4


def test_ids_are_given_only_where_all_were():
    named = graph("a", node_ids=["x", "y", "z"])
    assert join_graphs([named, graph("b", node_ids=[1, 2, 3])]).has_given_ids
    assert not join_graphs([named, graph("b")]).has_given_ids


def test_classes_are_matched_by_name():
    first = graph("a", labels=["red", "blue", ""])
    second = graph("b", labels=["green", "red", "green"])
    joined = join_graphs([first, second])
    assert joined.class_names == ("blue", "green", "red")
    assert joined.labels.tolist() == [2, 0, -1, 1, 2, 1]


def test_numbers_of_classes_stay_and_a_graph_without_labels_has_none():
    joined = join_graphs([graph("a", labels=[0, 3, -1]), graph("b")])
    assert joined.labels.tolist() == [0, 3, -1, -1, -1, -1]


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_features_weights_and_splits(make):
    first = graph("a", features=make(np.eye(3)), split=[0, 1, 2])
    second = graph("b", features=make(2 * np.eye(3)), edge_weights=[2.0, 3.0])
    joined = join_graphs([first, second])
    assert joined.features[[0, 3]].sum() == 3
    assert joined.split.tolist() == [0, 1, 2, 0, 0, 0]
    assert joined.edge_weights.tolist() == [1, 1, 1, 1, 2, 2, 3, 3]


@pytest.mark.parametrize(
    ("graphs", "message"),
    [
        ([], "at least one graph"),
        ([graph("a"), graph("a")], "2 distinct names, received a, a"),
        ([graph("a", features=np.eye(3)), graph("b")], "3 in a, 0 in b"),
        (
            [graph("a", labels=np.eye(3, dtype=int)), graph("b", labels=[0, 1, 2])],
            "a 0/1 matrix of one width",
        ),
    ],
)
def test_graphs_that_do_not_fit(graphs, message):
    with pytest.raises(InputError, match=message):
        join_graphs(graphs)


def test_files_of_one_name_are_called_by_their_folders_too(tmp_path):
    for name in ("x", "y"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "edges.csv").write_text("a,b\nb,c\n")
    joined = readers.read_several([tmp_path / "x" / "edges.csv", tmp_path / "y" / "edges.csv"])
    assert joined.ids.tolist()[::3] == ["x/edges/a", "y/edges/a"]
    (tmp_path / "other.csv").write_text("a,b\n")
    joined = readers.read_several([tmp_path / "x" / "edges.csv", tmp_path / "other.csv"])
    assert joined.ids.tolist()[-1] == "other/b"
