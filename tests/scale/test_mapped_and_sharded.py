"""Wherever a table is kept, whoever reads it gets the same rows."""

from collections.abc import Callable

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.sampling import random
from cade_tf.sampling.graph_tables import make_graph_tables
from cade_tf.sampling.tables import Table, TensorTable
from cade_tf.scale.distant_tables import MappedTable, Residency, ShardedTable
from tests.engine import MODELS, scores, small_graph, small_model

PARTS = 3


def sharded(array: np.ndarray) -> ShardedTable:
    """An array in as many variables as a cluster of three servers would keep."""
    return ShardedTable([tf.Variable(part) for part in np.array_split(array, PARTS)])


def mapped(array: np.ndarray) -> MappedTable:
    """An array in parts of unequal length, one of them empty."""
    return MappedTable([array[:1], array[1:1], array[1:]])


KINDS: dict[str, Callable[[np.ndarray], Table]] = {"mapped": mapped, "sharded": sharded}


@pytest.fixture(params=KINDS)
def make_table(request: pytest.FixtureRequest) -> Callable[[np.ndarray], Table]:
    return KINDS[request.param]


@pytest.mark.parametrize("shape", [(7,), (7, 3)])
@pytest.mark.parametrize("dtype", [np.int32, np.int64, np.float32])
def test_rows_are_those_of_a_tensor(make_table, shape, dtype):
    array = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
    ids = tf.constant([[6, 0], [3, 6]])
    table = make_table(array)
    assert table.num_rows == 7
    rows, position = table.compact(ids)
    np.testing.assert_array_equal(table.lookup(ids), array[ids.numpy()])
    np.testing.assert_array_equal(tf.gather(rows, position), array[ids.numpy()])


def test_only_distinct_rows_are_handed_on(make_table):
    rows, position = make_table(np.arange(9.0)).compact(tf.constant([4, 4, 8, 4]))
    assert rows.numpy().tolist() == [4.0, 8.0]
    assert position.numpy().tolist() == [0, 0, 1, 0]


def test_nothing_asked_is_nothing_read(make_table):
    assert make_table(np.ones((4, 2), np.float32)).lookup(tf.zeros([0], tf.int64)).shape == (0, 2)


def test_a_search_goes_on_across_the_parts(make_table):
    ascending = np.array([0.1, 0.1, 0.3, 0.5, 0.5, 0.9, 1.0])
    values = tf.constant([[0.0, 0.1, 0.2], [0.5, 0.95, 1.0]], tf.float64)
    table, tensor = make_table(ascending), TensorTable(ascending)
    np.testing.assert_array_equal(table.search(values), tensor.search(values))


def test_tables_work_inside_a_function(make_table):
    table = make_table(np.arange(10, dtype=np.float32).reshape(5, 2))
    look = tf.function(lambda ids: table.lookup(ids), reduce_retracing=True)
    assert look(tf.constant([4, 1])).numpy().tolist() == [[8, 9], [2, 3]]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", MODELS)
def test_a_model_scores_pairs_alike_on_every_kind_of_table(make_table, name, sparse, weighted):
    graph = small_graph(sparse=sparse, weighted=weighted)
    model = small_model(name)
    found = [
        scores(model, tables, [0, 1, 4], [2, 9, 5], [3, 7], random.make_key(0, 3)).affinities
        for tables in (
            make_graph_tables(graph, graph.features),
            make_graph_tables(graph, graph.features, make_table=make_table),
        )
    ]
    np.testing.assert_allclose(*found, rtol=1e-5, atol=1e-6)


def test_rows_that_do_not_exist_are_an_error():
    with pytest.raises(IndexError, match="rows from 0 to 3"):
        MappedTable([np.arange(4)]).lookup(tf.constant([4]))


def test_rows_may_be_changed_when_they_are_read():
    table = MappedTable([np.eye(2, dtype=np.float32)], change=lambda rows: rows @ rows.T + 1)
    assert table.lookup(tf.constant([0])).numpy().tolist() == [[2.0]]


def test_mapped_pages_are_given_back_beyond_the_limit(tmp_path):
    size = 64 << 20
    np.save(tmp_path / "rows.npy", np.ones((size // 4096, 512)))
    array = np.load(tmp_path / "rows.npy", mmap_mode="r")
    before = resident_file_bytes()
    table = MappedTable([array], residency=Residency(limit=8 << 20))
    for ids in np.array_split(np.random.default_rng(0).permutation(len(array)), 64):
        assert (table._read(ids) == 1).all()
        assert resident_file_bytes() - before < size // 2
    kept = MappedTable([np.load(tmp_path / "rows.npy", mmap_mode="r")])
    kept._read(np.arange(len(array)))
    assert resident_file_bytes() - before >= size


def resident_file_bytes() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[2]) * 4096
