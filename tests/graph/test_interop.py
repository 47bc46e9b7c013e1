"""Graphs from and to NetworkX, SciPy, NumPy, pandas, PyG and DGL."""

import subprocess
import sys
import types

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cade_tf.errors import InputError
from cade_tf.graph.graph import EdgeReport, Graph
from cade_tf.graph.interop import from_networkx, from_pyg, from_scipy
from cade_tf.graph.naming import class_indices


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array, sp.coo_array, sp.csc_matrix])
def test_matrices_of_every_kind(make):
    graph = from_scipy(make(np.array([[0, 1, 0], [1, 0, 1], [0, 1, 0]])), labels=[0, 1, 0])
    assert graph.edges().tolist() == [[0, 1], [1, 2]]
    assert graph.edge_weights is None
    assert graph.num_classes == 2


@given(hnp.arrays(np.int64, (6, 6), elements=st.integers(0, 3)))
def test_a_matrix_is_symmetrised_by_the_larger_weight(matrix):
    graph = from_scipy(matrix)
    expected = np.maximum(matrix, matrix.T)
    np.fill_diagonal(expected, 0)
    np.testing.assert_array_equal(graph.adjacency().toarray(), expected)
    present = matrix > 0
    one_way = int((present & ~present.T).sum())
    assert graph.report == EdgeReport(int(np.diag(present).sum()), 0, one_way)


def test_repeated_entries_are_one_edge():
    parts = (np.ones(4), np.array([1, 1, 0, 0]), np.array([0, 2, 4]))
    graph = from_scipy(sp.csr_array(parts, shape=(2, 2)))
    assert graph.edges().tolist() == [[0, 1]]
    assert graph.edge_weights is None
    assert graph.report.duplicates == 2


@pytest.mark.parametrize(
    ("matrix", "message"),
    [
        (np.zeros((2, 3)), "a square matrix"),
        (np.array([[0, -1], [-1, 0]]), "finite numbers above 0"),
        (np.array([[0, np.nan], [np.nan, 0]]), "finite numbers above 0"),
        (np.array([[0, 1j], [1j, 0]]), "numbers"),
        ("text", "matrix"),
    ],
)
def test_other_matrices_are_refused(matrix, message):
    with pytest.raises(InputError, match=message):
        from_scipy(matrix)


def test_networkx_with_everything():
    source = nx.DiGraph(name="toy")
    source.add_node("b", x=[1.0, 2.0], y="red")
    source.add_node("a", x=[3.0, 4.0], y="blue")
    source.add_edge("a", "b", w=2.5)
    source.add_edge("b", "b", w=1.0)
    graph = from_networkx(source, features="x", labels="y", weights="w")
    assert graph.node_ids.tolist() == ["b", "a"]
    assert graph.features.tolist() == [[1, 2], [3, 4]]
    assert graph.class_names == ("blue", "red")
    assert graph.labels.tolist() == [1, 0]
    assert graph.edge_weights.tolist() == [2.5, 2.5]
    assert graph.report.self_loops == 1
    assert graph.name == "toy"


def test_networkx_karate_club():
    graph = from_networkx(nx.karate_club_graph(), labels="club")
    assert (graph.num_nodes, graph.num_edges, graph.num_classes) == (34, 78, 2)
    assert graph.node_ids.dtype.kind == "i"


def test_an_empty_networkx_graph():
    assert from_networkx(nx.Graph()).num_nodes == 0


def test_a_missing_attribute_names_the_node():
    source = nx.path_graph(3)
    source.nodes[0]["x"] = [1]
    with pytest.raises(InputError, match="none at 1"):
        from_networkx(source, features="x")


def test_ragged_vectors_are_refused():
    source = nx.path_graph(2)
    nx.set_node_attributes(source, {0: [1.0], 1: [1.0, 2.0]}, "x")
    with pytest.raises(InputError, match="vectors of one length"):
        from_networkx(source, features="x")


class Tensor:
    """What PyG's attributes look like from outside."""

    def __init__(self, values):
        self.values = values

    def detach(self):
        return self

    def cpu(self):
        return self

    def numpy(self):
        return np.asarray(self.values)


def test_pyg_data_by_its_attributes():
    data = types.SimpleNamespace(
        edge_index=Tensor([[0, 1, 1, 2], [1, 0, 2, 1]]),
        x=Tensor([[1.0], [2.0], [3.0], [4.0]]),
        y=Tensor([0, 1, 0, 1]),
        val_mask=Tensor([False, True, False, False]),
        test_mask=Tensor([False, False, True, False]),
        num_nodes=4,
    )
    graph = from_pyg(data)
    assert graph.edges().tolist() == [[0, 1], [1, 2]]
    assert graph.split.tolist() == [0, 1, 2, 0]
    assert graph.labels.tolist() == [0, 1, 0, 1]
    assert graph.num_nodes == 4


def test_pyg_data_with_edges_only():
    assert from_pyg(types.SimpleNamespace(edge_index=np.array([[0], [1]]))).num_edges == 1


@pytest.mark.parametrize("edge_index", [None, np.zeros((3, 2))])
def test_other_data_is_refused(edge_index):
    with pytest.raises(InputError, match="edge_index"):
        from_pyg(types.SimpleNamespace(edge_index=edge_index))


def test_no_other_library_is_imported():
    code = (
        "import sys, cade_tf.graph.interop\n"
        "print({'networkx', 'torch', 'torch_geometric', 'dgl'} & set(sys.modules))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.strip() == "set()"


def test_classes_of_any_name():
    assert class_indices([5, 3, -1, 5])["labels"].tolist() == [1, 0, -1, 1]
    assert class_indices(np.array([2.0, 1.0]))["class_names"] == ("1", "2")
    assert class_indices(["x", "", "y"])["labels"].tolist() == [0, -1, 1]
    with pytest.raises(InputError, match="labels"):
        class_indices([0.5, 1.0])


def test_numpy_edges_need_no_converter():
    assert Graph.from_edges(np.array([[0, 1]], np.uint8)).num_edges == 1


def test_direction_is_counted_where_there_is_one():
    assert Graph.from_networkx(nx.DiGraph([(0, 1), (1, 0), (1, 2)])).report.one_way == 1
    assert Graph.from_networkx(nx.Graph([(0, 1), (1, 2)])).report.one_way == 0
    assert Graph.from_scipy(np.array([[0, 1], [0, 0]])).report.one_way == 1


def test_networkx_and_back():
    graph = Graph.from_edges(
        [["a", "b"], ["b", "c"]],
        node_ids=["a", "b", "c"],
        features=sp.csr_array(np.eye(3)),
        labels=["red", "", "blue"],
        edge_weights=[0.5, 2.0],
        name="toy",
    )
    made = graph.to_networkx()
    assert sorted(made.edges(data="weight")) == [("a", "b", 0.5), ("b", "c", 2.0)]
    assert made.nodes["a"]["label"] == "red"
    assert "label" not in made.nodes["b"]
    made.nodes["b"]["label"] = ""
    back = Graph.from_networkx(made, features="features", labels="label", weights="weight")
    assert back.ids.tolist() == ["a", "b", "c"]
    assert back.labels.tolist() == graph.labels.tolist()
    assert back.features.tolist() == np.eye(3).tolist()
    np.testing.assert_array_equal(back.adjacency().toarray(), graph.adjacency().toarray())
    assert back.name == "toy"


def test_networkx_that_is_not_installed_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "networkx", None)
    with pytest.raises(InputError, match="pip install networkx"):
        Graph.from_edges([[0, 1]]).to_networkx()


def test_scipy_and_back():
    graph = Graph.from_edges([[0, 1], [1, 2]], edge_weights=[2.0, 3.0])
    matrix = graph.to_scipy()
    back = Graph.from_scipy(matrix)
    np.testing.assert_array_equal(back.adjacency().toarray(), graph.adjacency().toarray())
    matrix.data[:] = 7
    assert graph.edge_weights.max() == 3


def tables():
    edges = pd.DataFrame({"paper": ["x", "y"], "cites": ["y", "z"], "weight": [1.0, 2.0]})
    features = pd.DataFrame(
        {"key": ["z", "x", "y"], "h": [1.0, 2.0, 3.0], "topic": ["b", "a", "b"]}
    )
    return edges, features


def test_pandas_tables_are_joined_by_id():
    edges, features = tables()
    graph = Graph.from_pandas(edges, features, ids="key", labels="topic")
    assert graph.ids.tolist() == ["z", "x", "y"]
    assert graph.features.ravel().tolist() == [1, 2, 3]
    assert graph.feature_names == ("h",)
    assert graph.labels.tolist() == [1, 0, 1]
    assert graph.ids[graph.edges()].tolist() == [["z", "y"], ["x", "y"]]
    assert graph.edge_weights.tolist() == [2, 1, 2, 1]
    assert graph.notes == ()


def test_columns_of_edges_by_name():
    edges = pd.DataFrame({"kind": [1, 1], "to": [3, 4], "from": [2, 3], "cost": [5.0, 6.0]})
    graph = Graph.from_pandas(edges, weight="cost")
    assert graph.ids.tolist() == [2, 3, 4]
    assert graph.has_given_ids
    assert graph.edges().tolist() == [[0, 1], [1, 2]]
    assert graph.edge_weights.tolist() == [5, 5, 6, 6]
    assert len(graph.notes) == 1
    assert "'kind' is not read" in graph.notes[0]


def test_pandas_labels_of_their_own():
    edges, features = tables()
    labels = pd.Series([5, 6], index=["y", "x"])
    graph = Graph.from_pandas(edges, features[["key", "h"]].set_index("key"), labels=labels)
    assert graph.labels.tolist() == [-1, 6, 5]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"source": "nothing"}, "source: expected one of the columns paper, cites, weight"),
        ({"ids": "nothing"}, "ids: expected one of the columns key, h, topic"),
        ({"labels": "nothing"}, "labels: expected one of the columns"),
        ({}, "edges: expected the ids of the 3 nodes, received 'x'"),
    ],
)
def test_mistakes_with_tables(options, message):
    edges, features = tables()
    with pytest.raises(InputError, match=message):
        Graph.from_pandas(edges, features, **options)


@pytest.mark.parametrize("make", [np.asarray, list, Tensor])
def test_an_edge_index_of_any_library(make):
    graph = Graph.from_edge_index(
        make([[0, 1], [1, 2]]), features=Tensor(np.eye(3)), labels=Tensor([0, 1, 0])
    )
    assert graph.edges().tolist() == [[0, 1], [1, 2]]
    assert graph.features.shape == (3, 3)
    assert graph.labels.tolist() == [0, 1, 0]


def test_an_edge_index_of_tensorflow():
    tf = pytest.importorskip("tensorflow")
    graph = Graph.from_edge_index(tf.constant([[0, 1], [1, 2]]), features=tf.eye(3))
    assert graph.edges().tolist() == [[0, 1], [1, 2]]


@pytest.mark.parametrize("edge_index", [None, [[0, 1]], np.zeros((3, 2), int)])
def test_another_shape_is_refused(edge_index):
    with pytest.raises(InputError, match=r"edge_index: expected shape \[2, edges\]"):
        Graph.from_edge_index(edge_index)


class DglGraph:
    """What a DGL graph looks like from outside."""

    def __init__(self, nodes, edges):
        self.ndata, self.edata = nodes, edges

    def edges(self):
        return Tensor([0, 1]), Tensor([1, 2])

    def num_nodes(self):
        return 4


def test_a_dgl_graph():
    nodes = {
        "feat": Tensor(np.eye(4)),
        "label": Tensor([0, 1, 0, 1]),
        "val_mask": Tensor([False, True, False, False]),
        "test_mask": Tensor([False, False, True, False]),
    }
    graph = Graph.from_dgl(DglGraph(nodes, {"w": Tensor([[1.0], [2.0]])}), weights="w")
    assert graph.num_nodes == 4
    assert graph.edges().tolist() == [[0, 1], [1, 2]]
    assert graph.edge_weights.tolist() == [1, 1, 2, 2]
    assert graph.split.tolist() == [0, 1, 2, 0]
    assert graph.labels.tolist() == [0, 1, 0, 1]
    bare = Graph.from_dgl(DglGraph({}, {}))
    assert bare.features is None
    assert bare.labels is None
    with pytest.raises(InputError, match="weights: expected one of the columns"):
        Graph.from_dgl(DglGraph({}, {}), weights="w")


def test_float_labels_of_pyg_are_a_matrix_of_classes():
    data = types.SimpleNamespace(
        edge_index=np.array([[0], [1]]), y=Tensor([[1.0, 0.0], [1.0, 1.0]])
    )
    assert Graph.from_pyg(data).labels.tolist() == [[1, 0], [1, 1]]
    data.y = Tensor([[0.5, 0.0], [1.0, 1.0]])
    with pytest.raises(InputError, match="labels: expected integers"):
        Graph.from_pyg(data)
