"""Graphs of NetworkX, SciPy, NumPy and PyG's Data."""

import subprocess
import sys
import types

import networkx as nx
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cade_tf.errors import InputError
from cade_tf.graph.converters import class_indices, from_networkx, from_pyg, from_scipy
from cade_tf.graph.graph import EdgeReport, Graph


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
    assert graph.report == EdgeReport(int((np.diag(matrix) > 0).sum()), 0)


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
        "import sys, cade_tf.graph.converters\n"
        "print({'networkx', 'torch', 'torch_geometric', 'tensorflow'} & set(sys.modules))"
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
