"""npz files of Graph2Gauss and gnn-benchmark, and Reddit of DGL and PyG."""

import numpy as np
import pytest
import scipy.sparse as sp

from cade_tf.errors import InputError
from cade_tf.graph import readers
from tests.graph.readers.test_planetoid import Hostile

ADJACENCY = sp.csr_matrix(np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], np.float32))
ATTRIBUTES = sp.csr_matrix(np.array([[1, 0], [0, 1], [1, 1]], np.float32))


def parts(prefix, matrix):
    names = ("data", "indices", "indptr", "shape")
    return {prefix + name: np.asarray(getattr(matrix, name)) for name in names}


def benchmark(**changes):
    members = parts("adj_", ADJACENCY) | parts("attr_", ATTRIBUTES)
    return {k: v for k, v in (members | {"labels": [2, 0, 2]} | changes).items() if v is not None}


def write(path, members):
    np.savez(path, **members)
    return path


@pytest.mark.parametrize("separator", ["_", "_matrix.", "_matrix_"])
def test_graph2gauss_and_its_successors(tmp_path, separator):
    members = parts(f"adj{separator}", ADJACENCY) | parts(f"attr{separator}", ATTRIBUTES)
    graph = readers.read(write(tmp_path / "toy.npz", members | {"labels": np.array([2, 0, 2])}))
    assert graph.edges().tolist() == [[0, 1], [1, 2]]
    assert graph.features.toarray().tolist() == [[1, 0], [0, 1], [1, 1]]
    assert graph.labels.tolist() == [1, 0, 1]
    assert graph.name == "toy"


def held(value):
    array = np.empty((), object)
    array[()] = value
    return array


@pytest.mark.parametrize("make", [sp.csr_matrix, sp.csc_matrix, sp.csr_array])
def test_matrices_that_are_pickled_whole(tmp_path, make):
    members = {
        "adj_matrix": held(make(ADJACENCY)),
        "node_attr": held(make(ATTRIBUTES)),
        "node_label": np.array([2, 0, 2]),
        "metadata": held(Hostile()),
    }
    graph = readers.read(write(tmp_path / "toy.npz", members))
    assert graph.edges().tolist() == [[0, 1], [1, 2]]
    assert graph.features.toarray().tolist() == [[1, 0], [0, 1], [1, 1]]
    assert graph.labels.tolist() == [1, 0, 1]
    assert graph.report.one_way == 2


def test_a_hostile_matrix_does_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="Nothing of it was run"):
        readers.read(write(tmp_path / "a.npz", {"adj_matrix": held(Hostile())}))
    assert not (tmp_path / "RAN").exists()


def test_an_unknown_npz_lists_what_it_holds(tmp_path):
    path = write(tmp_path / "a.npz", {"first": [1], "second": [2]})
    with pytest.raises(InputError, match=r"a\.npz: .*received an npz of first, second"):
        readers.read(path)


def test_dense_attributes(tmp_path):
    members = parts("adj_", ADJACENCY) | {"attr_matrix": np.eye(3)}
    assert isinstance(readers.read(write(tmp_path / "a.npz", members)).features, np.ndarray)


def test_sparse_multi_labels(tmp_path):
    members = parts("adj_", ADJACENCY) | parts("labels.", ATTRIBUTES)
    graph = readers.read(write(tmp_path / "a.npz", members))
    assert graph.labels.tolist() == [[1, 0], [0, 1], [1, 1]]


def test_pickled_names_are_read_without_running_them(tmp_path):
    names = np.array(["a", "b", "ü"], dtype=object)
    graph = readers.read(write(tmp_path / "a.npz", benchmark(node_names=names)))
    assert graph.node_ids.tolist() == ["a", "b", "ü"]


def test_names_lose_the_line_ends_of_the_file_they_came_from(tmp_path):
    names = np.array(["1\n", "2\n", "3"], dtype=object)
    graph = readers.read(write(tmp_path / "a.npz", benchmark(node_names=names)))
    assert graph.node_ids.tolist() == ["1", "2", "3"]


def test_a_hostile_object_does_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    hostile = np.array([Hostile(), 1, 2], dtype=object)
    path = write(tmp_path / "a.npz", benchmark(node_names=hostile))
    with pytest.raises(InputError, match="Nothing of it was run"):
        readers.read(path)
    assert not (tmp_path / "RAN").exists()


def test_arrays_that_are_not_needed_are_not_opened(tmp_path):
    hostile = np.array([Hostile()], dtype=object)
    path = write(tmp_path / "a.npz", benchmark(idx_to_node=hostile))
    assert readers.read(path).num_nodes == 3


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"adj_data": None}, "adj_data, adj_indices"),
        ({"adj_shape": [3, 4]}, "a square matrix"),
        ({"adj_shape": [2, 2]}, r"adj_\*: expected a sparse matrix"),
        ({"adj_indices": [1, 99]}, r"adj_\*: expected a sparse matrix"),
        ({"adj_indptr": [0, 1]}, r"adj_\*: expected a sparse matrix"),
        ({"attr_shape": [3, 2, 1]}, r"attr_\*: expected two sizes as its shape"),
        ({"attr_data": np.array([1, np.nan, 1, 1])}, "1 NaN"),
        ({"labels": [1, 2]}, r"labels: expected \[3\]"),
        ({"labels": np.full((3, 2), 4)}, "a 0/1 column per class"),
        ({"node_names": np.array(["a", "a", "b"])}, "a more than once"),
    ],
)
def test_every_mistake_is_named(tmp_path, changes, message):
    path = write(tmp_path / "toy.npz", benchmark(**changes))
    with pytest.raises(InputError, match=message) as caught:
        readers.read(path)
    assert "toy.npz" in str(caught.value)


def write_reddit(folder, data=None, graph=None):
    matrix = sp.coo_matrix(ADJACENCY + ADJACENCY.T)
    nodes = {
        "feature": np.eye(3, dtype=np.float32),
        "label": np.array([0, 1, 1]),
        "node_types": np.array([1, 2, 3]),
        "node_ids": np.arange(3),
    }
    np.savez(folder / "reddit_data.npz", **(nodes | (data or {})))
    if graph is None:
        sp.save_npz(folder / "reddit_graph.npz", matrix)
    else:
        np.savez(folder / "reddit_graph.npz", **graph)
    return folder


@pytest.mark.parametrize("name", [".", "reddit_data.npz", "reddit_graph.npz"])
def test_reddit_of_dgl(tmp_path, name):
    graph = readers.read(write_reddit(tmp_path) / name)
    assert graph.edges().tolist() == [[0, 1], [1, 2]]
    assert graph.split.tolist() == [0, 1, 2]
    assert graph.labels.tolist() == [0, 1, 1]
    assert graph.name == "reddit"


@pytest.mark.parametrize(
    ("data", "graph", "message"),
    [
        ({"node_types": np.array([0, 1, 2])}, None, "1, 2 or 3 per node"),
        ({"node_types": np.array([1, 2])}, None, "split: expected 3 entries"),
        ({"feature": np.zeros((2, 2))}, None, "features: expected 3 rows"),
        ({}, {"row": [0]}, "an array 'col', received row"),
        ({}, {"row": [0], "col": [9], "shape": [3, 3]}, "a COO matrix"),
        ({}, {"row": [0, 1], "col": [1], "shape": [3, 3]}, "a COO matrix"),
    ],
)
def test_every_mistake_in_reddit_is_named(tmp_path, data, graph, message):
    with pytest.raises(InputError, match=message) as caught:
        readers.read(write_reddit(tmp_path, data, graph))
    assert "reddit_" in str(caught.value)
