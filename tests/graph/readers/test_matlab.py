"""MATLAB files under all their names."""

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from cade_tf.errors import InputError
from cade_tf.graph import readers

NETWORK = sp.csc_matrix(np.array([[0, 1, 0], [1, 1, 1], [0, 1, 0]], float))
ATTRIBUTES = sp.csc_matrix(np.array([[3, 0], [0, 2], [1, 0]], float))


def read(folder, **variables):
    scipy.io.savemat(folder / "Toy.mat", variables)
    return readers.read(folder / "Toy.mat")


@pytest.mark.parametrize(
    "names",
    [("Network", "Attributes", "Label"), ("network", "feature", "group"), ("A", "X", "y")],
)
def test_every_copy(tmp_path, names):
    values = (NETWORK, ATTRIBUTES, np.array([[2], [1], [2]]))
    graph = read(tmp_path, **dict(zip(names, values, strict=True)))
    assert graph.edges().tolist() == [[0, 1], [1, 2]]
    assert graph.report.self_loops == 1
    assert graph.features.toarray().tolist() == [[3, 0], [0, 2], [1, 0]]
    assert graph.labels.tolist() == [1, 0, 1]
    assert graph.class_names == ("1", "2")
    assert graph.name == "toy"


def test_a_folder_with_only_this_file(tmp_path):
    read(tmp_path, Network=NETWORK)
    assert readers.read(tmp_path).num_edges == 2


def test_a_network_alone(tmp_path):
    graph = read(tmp_path, Network=NETWORK)
    assert graph.features is None
    assert graph.labels is None


def test_dense_matrices(tmp_path):
    graph = read(tmp_path, Network=NETWORK.toarray(), Attributes=ATTRIBUTES.toarray())
    assert isinstance(graph.features, np.ndarray)


def test_weights(tmp_path):
    assert read(tmp_path, Network=NETWORK * 2.5).edge_weights.tolist() == [2.5] * 4


def test_several_classes_a_node(tmp_path):
    group = sp.csc_matrix(np.array([[1, 1], [0, 1], [1, 0]], float))
    assert read(tmp_path, network=NETWORK, group=group).labels.tolist() == [[1, 1], [0, 1], [1, 0]]


def test_one_class_a_node_in_columns(tmp_path):
    group = np.array([[0, 1], [0, 1], [1, 0]])
    assert read(tmp_path, network=NETWORK, group=group).labels.tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    ("variables", "message"),
    [
        ({"Other": NETWORK}, "a matrix named Network.*received Other"),
        ({"Network": np.zeros((2, 3))}, "a square matrix"),
        ({"Network": NETWORK, "Attributes": np.zeros((2, 2))}, "features: expected 3 rows"),
        ({"Network": NETWORK, "Label": np.zeros((2, 1))}, r"labels: expected \[3\]"),
        ({"Network": NETWORK, "Label": np.array([[0.5], [1], [2]])}, "labels: expected integers"),
        ({"Network": NETWORK, "Label": np.full((3, 2), 7)}, "0/1 column per class"),
        ({"Network": NETWORK, "Attributes": np.full((3, 1), np.nan)}, "3 NaN"),
        ({"Network": -NETWORK}, "finite numbers above 0"),
        ({"Network": "text"}, "matrix"),
        ({"Network": {"a": 1}}, "matrix"),
    ],
)
def test_every_mistake_is_named(tmp_path, variables, message):
    with pytest.raises(InputError, match=message) as caught:
        read(tmp_path, **variables)
    assert "Toy.mat" in str(caught.value)


def test_a_truncated_file_is_named(tmp_path):
    read(tmp_path, Network=NETWORK)
    path = tmp_path / "Toy.mat"
    for size in (128, 200, path.stat().st_size - 8):
        path.write_bytes(path.read_bytes()[:size])
        with pytest.raises(InputError, match=r"Toy\.mat"):
            readers.read(path)


def test_the_newer_format_comes_with_advice(tmp_path):
    (tmp_path / "new.mat").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(200))
    with pytest.raises(InputError, match=r"version 7\.3.*-v7"):
        readers.read(tmp_path / "new.mat")


def test_the_newer_format_behind_a_matlab_header(tmp_path):
    header = b"MATLAB 7.3 MAT-file".ljust(124) + b"\x00\x02IM"
    (tmp_path / "new.mat").write_bytes(header.ljust(512, b"\0") + b"\x89HDF\r\n\x1a\n")
    with pytest.raises(InputError, match=r"7\.3"):
        readers.read(tmp_path / "new.mat")
