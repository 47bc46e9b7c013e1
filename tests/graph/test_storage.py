"""A graph comes back from its file as it was, and a bad file is named for what it is."""

import zipfile

import numpy as np
import pytest
import scipy.sparse as sp

from cade_tf.errors import InputError
from cade_tf.graph import arrays, storage
from cade_tf.graph.graph import Graph


def full_graph(sparse: bool) -> Graph:
    features = np.arange(12, dtype=np.float32).reshape(4, 3)
    return Graph.from_edges(
        [[0, 1], [1, 2], [1, 1], [1, 0]],
        edge_weights=[1.5, 2.0, 1.0, 0.5],
        features=sp.csr_array(features) if sparse else features,
        labels=[0, 1, -1, 1],
        node_ids=["a", "b", "c", "ü"],
        graph_ids=[0, 0, 0, 1],
        split=[0, 1, 2, 0],
        feature_names=("x", "y", "z"),
        class_names=("no", "yes"),
        name="tiny",
        notes=("A column was not read.",),
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_every_field_comes_back(tmp_path, sparse):
    graph = full_graph(sparse)
    graph.save(tmp_path / "g.npz")
    for verify in (False, True):
        loaded = storage.load(tmp_path / "g.npz", verify=verify)
        for name in ("indptr", "indices", "labels", "node_ids", "graph_ids", "edge_weights"):
            np.testing.assert_array_equal(getattr(loaded, name), getattr(graph, name))
            assert getattr(loaded, name).dtype == getattr(graph, name).dtype
        np.testing.assert_array_equal(loaded.split, graph.split)
        assert sp.issparse(loaded.features) == sparse
        dense = loaded.features.toarray() if sparse else loaded.features
        np.testing.assert_array_equal(dense, np.arange(12).reshape(4, 3))
        assert loaded.feature_names == ("x", "y", "z")
        assert loaded.class_names == ("no", "yes")
        assert loaded.name == "tiny"
        assert loaded.report == graph.report
        assert loaded.report.one_way == 1
        assert loaded.notes == ("A column was not read.",)
        assert loaded.has_given_ids


def test_a_bare_graph_comes_back_bare(tmp_path):
    Graph.from_edges([[0, 1]], num_nodes=3).save(tmp_path / "g.npz")
    loaded = Graph.load(tmp_path / "g.npz")
    assert loaded.features is None
    assert loaded.labels is None
    assert loaded.node_ids is None
    assert loaded.num_nodes == 3
    assert loaded.notes == ()
    assert not loaded.has_given_ids


def test_positions_of_a_larger_graph_are_not_given_ids(tmp_path):
    part = Graph.from_edges([[0, 1], [1, 2]]).subgraph([2, 1])
    assert part.ids.tolist() == [2, 1]
    assert not part.has_given_ids
    part.save(tmp_path / "g.npz")
    assert not Graph.load(tmp_path / "g.npz").has_given_ids
    named = Graph.from_edges([[0, 1]], node_ids=["a", "b"]).subgraph([1])
    assert named.has_given_ids


def test_a_file_of_an_older_version_is_read(tmp_path):
    full_graph(sparse=False).save(tmp_path / "g.npz")
    members = arrays.read_arrays(tmp_path / "g.npz", memory_map=False)
    del members["positional_ids"], members["notes"]
    members["report"] = members["report"][:2]
    arrays.write_arrays(tmp_path / "g.npz", members)
    loaded = Graph.load(tmp_path / "g.npz")
    assert loaded.has_given_ids
    assert loaded.report.one_way == 0


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("features_indices", np.array([0, 1])),
        ("features_indices", np.full(11, 9)),
        ("features_indptr", np.array([0, 9, 0, 11, 11])),
        ("features_shape", np.array([4])),
        ("indptr", np.array([0, 1, -1, 4, 4])),
        ("indptr", np.array([0, 1, 3, 4, 9])),
        ("graph_ids", np.array(["a"] * 4)),
        ("report", np.array([1, 2, 3, 4])),
        ("labels", np.array([0.5] * 4)),
    ],
)
@pytest.mark.parametrize("verify", [False, True])
def test_arrays_that_do_not_fit_are_an_error_that_names_the_file(tmp_path, name, value, verify):
    full_graph(sparse=True).save(tmp_path / "g.npz")
    members = arrays.read_arrays(tmp_path / "g.npz", memory_map=False)
    arrays.write_arrays(tmp_path / "g.npz", members | {name: value})
    with pytest.raises(InputError, match=r"g\.npz"):
        storage.load(tmp_path / "g.npz", verify=verify)


def test_an_empty_graph_comes_back(tmp_path):
    Graph.from_edges(np.zeros((0, 2), int), num_nodes=0).save(tmp_path / "g.npz")
    assert Graph.load(tmp_path / "g.npz").num_nodes == 0


def test_numpy_reads_the_file_without_pickles(tmp_path):
    full_graph(sparse=False).save(tmp_path / "g.npz")
    with np.load(tmp_path / "g.npz", allow_pickle=False) as members:
        assert {name: members[name] for name in members}["indices"].tolist() == [1, 0, 2, 1]


def test_the_same_graph_gives_the_same_bytes(tmp_path):
    full_graph(sparse=True).save(tmp_path / "a.npz")
    full_graph(sparse=True).save(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def test_large_arrays_are_mapped_and_aligned(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "MAP_BYTES", 1)
    full_graph(sparse=False).save(tmp_path / "g.npz")
    features = storage.load(tmp_path / "g.npz").features
    owner = features
    while isinstance(owner.base, np.ndarray):
        owner = owner.base
    assert isinstance(owner, np.memmap)
    assert features.ctypes.data % 64 == 0
    assert not features.flags.writeable


def test_a_mapped_file_may_be_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(arrays, "MAP_BYTES", 1)
    full_graph(sparse=False).save(tmp_path / "g.npz")
    loaded = storage.load(tmp_path / "g.npz")
    Graph.from_edges([[0, 1]], features=np.zeros((2, 1))).save(tmp_path / "g.npz")
    assert loaded.features[3, 2] == 11


def test_a_failed_write_leaves_the_old_file(tmp_path):
    full_graph(sparse=False).save(tmp_path / "g.npz")
    before = (tmp_path / "g.npz").read_bytes()
    with pytest.raises(ValueError, match="Object arrays"):
        arrays.write_arrays(tmp_path / "g.npz", {"a": np.array([object()])})
    assert (tmp_path / "g.npz").read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["g.npz"]


def test_truncated_files_are_refused(tmp_path):
    path = tmp_path / "g.npz"
    full_graph(sparse=False).save(path)
    whole = path.read_bytes()
    for size in (len(whole) - 1, len(whole) // 2, 10):
        path.write_bytes(whole[:size])
        with pytest.raises(InputError, match=r"g\.npz: expected an npz file, received damaged"):
            storage.load(path)


def test_an_empty_file_is_refused(tmp_path):
    (tmp_path / "g.npz").write_bytes(b"")
    with pytest.raises(InputError, match="received an empty file"):
        storage.load(tmp_path / "g.npz")


def test_a_flipped_byte_is_noticed_in_small_arrays(tmp_path):
    path = tmp_path / "g.npz"
    full_graph(sparse=False).save(path)
    damaged = bytearray(path.read_bytes())
    with zipfile.ZipFile(path) as archive:
        offset = archive.getinfo("labels.npy").header_offset
    damaged[offset + 64 + 128 + 3] ^= 0xFF
    path.write_bytes(damaged)
    with pytest.raises(InputError, match="damaged content"):
        storage.load(path)


def test_another_npz_is_no_graph(tmp_path):
    np.savez(tmp_path / "other.npz", a=np.zeros(3))
    with pytest.raises(InputError, match=r"expected a graph of format cade_tf\.graph\.1"):
        storage.load(tmp_path / "other.npz")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"indices": np.array([1, 0, 9, 1], np.int32)}, "indices: expected positions from 0 to 3"),
        ({"indptr": np.array([0, 1, 3])}, "indptr"),
        ({"features": np.zeros((2, 3), np.float32)}, "features: expected 4 rows"),
        ({"labels": np.zeros(7, np.int32)}, "labels"),
    ],
)
def test_arrays_that_do_not_fit_are_refused(tmp_path, change, message):
    path = tmp_path / "g.npz"
    full_graph(sparse=False).save(path)
    arrays.write_arrays(path, arrays.read_arrays(path) | change)
    with pytest.raises(InputError, match=message):
        storage.load(path)


def test_a_missing_array_is_named(tmp_path):
    path = tmp_path / "g.npz"
    full_graph(sparse=False).save(path)
    members = arrays.read_arrays(path)
    del members["indptr"]
    arrays.write_arrays(path, members)
    with pytest.raises(InputError, match="all arrays of a graph"):
        storage.load(path)


def test_verification_finds_what_trust_overlooks(tmp_path):
    path = tmp_path / "g.npz"
    full_graph(sparse=False).save(path)
    members = arrays.read_arrays(path) | {"features": np.full((4, 3), np.nan, np.float32)}
    arrays.write_arrays(path, members)
    storage.load(path)
    with pytest.raises(InputError, match="12 NaN or infinite"):
        storage.load(path, verify=True)


def test_pickled_arrays_are_never_loaded(tmp_path):
    np.savez(tmp_path / "g.npz", format=np.array([object()], dtype=object))
    with pytest.raises(InputError, match="an array of Python objects"):
        storage.load(tmp_path / "g.npz")
