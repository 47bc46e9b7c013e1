"""Planetoid files: order of test rows, gaps, and pickles that must not run."""

import collections
import pickle

import numpy as np
import pytest
import scipy.sparse as sp

from cade_tf import problems
from cade_tf.errors import InputError
from cade_tf.graph import readers
from cade_tf.graph.readers.unpickling import read_pickle


def write(folder, **changes):
    """Five nodes: three known, test ids 4 and 3 in this order, as the rows of tx."""
    graph = collections.defaultdict(list, {0: [1, 1, 0], 1: [0, 2], 2: [1, 4], 3: [], 4: [2]})
    parts = {
        "allx": sp.csr_matrix(np.diag([1.0, 2.0, 3.0]).astype(np.float32)),
        "ally": np.array([[1, 0], [0, 1], [1, 0]]),
        "tx": sp.csr_matrix(np.array([[4, 0, 0], [5, 0, 0]], np.float32)),
        "ty": np.array([[0, 1], [1, 0]]),
        "graph": graph,
    } | changes
    index = parts.pop("index", "4\n3\n")
    for name, value in parts.items():
        (folder / f"ind.toy.{name}").write_bytes(
            value if isinstance(value, bytes) else pickle.dumps(value, protocol=2)
        )
    (folder / "ind.toy.test.index").write_text(index)
    return folder


@pytest.mark.parametrize("name", [".", "ind.toy.graph", "ind.toy", "ind.toy.test.index"])
def test_folder_file_and_prefix_name_the_same_graph(tmp_path, name):
    graph = readers.read(write(tmp_path) / name)
    assert graph.name == "toy"
    assert graph.edges().tolist() == [[0, 1], [1, 2], [2, 4]]
    assert graph.report.self_loops == 1
    np.testing.assert_array_equal(
        graph.features.toarray(), [[1, 0, 0], [0, 2, 0], [0, 0, 3], [5, 0, 0], [4, 0, 0]]
    )
    assert graph.labels.tolist() == [0, 1, 0, 0, 1]


@pytest.mark.parametrize("protocol", [0, 1, 2, 3, 4, 5])
def test_every_pickle_protocol_is_read(tmp_path, protocol):
    value = [np.arange(6.0).reshape(2, 3), np.int64(7), {"a": (1, None)}]
    for number, item in enumerate([*value, sp.csr_matrix(np.eye(2))]):
        path = tmp_path / f"{number}.pickle"
        path.write_bytes(pickle.dumps(item, protocol=protocol))
        result = read_pickle(path)
        result = result.toarray() if sp.issparse(result) else result
        item = item.toarray() if sp.issparse(item) else item
        np.testing.assert_array_equal(np.asarray(result, object), np.asarray(item, object))


def test_big_endian_and_fortran_arrays_are_read(tmp_path):
    array = np.asfortranarray(np.arange(6).reshape(2, 3)).astype(">i4", order="F")
    (tmp_path / "a").write_bytes(pickle.dumps(array, protocol=2))
    np.testing.assert_array_equal(read_pickle(tmp_path / "a"), array)


def test_a_test_node_that_no_file_describes_is_empty(tmp_path):
    graph = readers.read(write(tmp_path, index="5\n3\n"))
    assert graph.num_nodes == 6
    assert graph.labels.tolist() == [0, 1, 0, 0, -1, 1]
    assert graph.features[[4]].nnz == 0


class Hostile:
    def __reduce__(self):
        import os

        return os.system, ("touch RAN",)


@pytest.mark.parametrize("protocol", [0, 2, 4])
def test_a_hostile_pickle_does_not_run(tmp_path, monkeypatch, protocol):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, allx=pickle.dumps(Hostile(), protocol=protocol))
    with pytest.raises(InputError, match=r"asks for (posix|nt)\.system.*Nothing of it was run"):
        readers.read(tmp_path)
    assert not (tmp_path / "RAN").exists()


@pytest.mark.parametrize(
    "name",
    ["builtins eval", "builtins getattr", "numpy.f2py.capi_maps eval", "os system", "io open"],
)
def test_no_other_name_is_admitted(tmp_path, name):
    module, attribute = name.split()
    write(tmp_path, graph=f"c{module}\n{attribute}\n.".encode())
    with pytest.raises(InputError, match="asks for"):
        readers.read(tmp_path)


def test_a_hostile_object_inside_a_container_does_not_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path, graph=pickle.dumps({0: [1], 1: Hostile()}))
    with pytest.raises(InputError, match="asks for"):
        readers.read(tmp_path)
    assert not (tmp_path / "RAN").exists()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"allx": b""}, r"ind\.toy\.allx: expected a pickle of arrays, received damaged"),
        ({"allx": pickle.dumps(np.eye(3))[:-20]}, "damaged content"),
        ({"allx": {"a": 1}}, "a matrix of features, received dict"),
        ({"ally": np.eye(2)}, r"ind\.toy\.ally: expected 3 rows, received 2"),
        ({"ally": np.full((3, 2), 0.5)}, "a 0/1 matrix of classes"),
        ({"ty": np.array([[0, 1, 0], [1, 0, 0]])}, r"ind\.toy\.ty: expected width 2"),
        ({"tx": sp.csr_matrix(np.eye(2))}, r"ind\.toy\.tx: expected width 3"),
        ({"graph": [1, 2]}, "a dict of neighbour lists, received list"),
        ({"graph": {0: 3}}, "a dict of neighbour lists"),
        ({"graph": {0: ["x"]}}, "a dict of neighbour lists"),
        ({"graph": {0: [-1]}}, "nodes from 0"),
        ({"graph": {0: [10**9]}}, "node 1000000000"),
        ({"index": "4\nthree\n"}, "one integer per line"),
        ({"index": "4\n"}, "2 ids, one per row of tx"),
        ({"index": "4\n1\n"}, "distinct ids from 3"),
        ({"index": "4\n4\n"}, "distinct ids from 3"),
        ({"allx": sp.csr_matrix(np.diag([1, np.nan, 1.0]))}, "1 NaN"),
    ],
)
def test_every_mistake_is_named(tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        readers.read(write(tmp_path, **changes))


def test_mistakes_in_labels_and_features_are_found_at_once(tmp_path):
    write(tmp_path, ally=np.eye(2), allx=sp.csr_matrix(np.diag([1, np.nan, 1.0])))
    with problems.collected() as found:
        readers.read(tmp_path)
    assert ["allx" in str(found[1]), "ally" in str(found[0]), len(found)] == [True, True, 2]


def test_a_missing_file_is_named(tmp_path):
    write(tmp_path)
    (tmp_path / "ind.toy.ty").unlink()
    with pytest.raises(InputError, match=r"ind\.toy\.ty"):
        readers.read(tmp_path)
