"""Node splits hide nodes as the paper does, and repeat themselves."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cade_tf.config import SplitOptions
from cade_tf.errors import InputError
from cade_tf.graph.graph import Graph
from cade_tf.graph.splits import NodeSplit, fixed, node_split, split_nodes, sub_ppi


def path_graph(nodes: int, **fields) -> Graph:
    edges = [[i, i + 1] for i in range(nodes - 1)]
    return Graph.from_edges(np.reshape(edges, (-1, 2)).astype(int), num_nodes=nodes, **fields)


@settings(deadline=None, max_examples=50)
@given(
    nodes=st.integers(1, 300),
    ratio=st.floats(0, 0.95),
    seed=st.integers(0, 2**31),
)
def test_every_node_is_in_exactly_one_part(nodes, ratio, seed):
    graph = path_graph(nodes)
    try:
        split = split_nodes(graph, ratio, seed)
    except InputError:
        assert round(ratio * nodes) + round(0.1 * nodes) >= nodes - 1
        return
    joined = np.concatenate([split.train, split.validation, split.test])
    np.testing.assert_array_equal(np.sort(joined), np.arange(nodes))
    assert len(split.test) == round(ratio * nodes)
    assert len(split.validation) == round(0.1 * (nodes - len(split.test)))
    np.testing.assert_array_equal(np.union1d(split.seen, split.test), np.arange(nodes))


def test_positions_are_sorted_and_read_only():
    split = split_nodes(path_graph(100), 0.3, 5)
    for part in (split.train, split.validation, split.test, split.seen):
        assert part.dtype == np.int64
        assert (np.diff(part) > 0).all()
    with pytest.raises(ValueError, match="read-only"):
        split.test[0] = 1


def test_a_seed_repeats_and_another_differs():
    graph = path_graph(100)
    np.testing.assert_array_equal(split_nodes(graph, 0.3, 7).test, split_nodes(graph, 0.3, 7).test)
    assert (split_nodes(graph, 0.3, 7).test != split_nodes(graph, 0.3, 8).test).any()


def test_a_larger_ratio_hides_the_same_nodes_and_more():
    graph = path_graph(100)
    assert set(split_nodes(graph, 0.1, 1).test) < set(split_nodes(graph, 0.5, 1).test)


@pytest.mark.parametrize("ratio", [-0.1, 1.0, float("nan")])
def test_impossible_ratios_are_refused(ratio):
    with pytest.raises(InputError, match="unseen_ratio"):
        split_nodes(path_graph(10), ratio, 0)


def test_a_ratio_that_leaves_nothing_is_refused():
    with pytest.raises(InputError, match="leaves nodes to train on"):
        split_nodes(path_graph(2), 0.9, 0)


def test_the_data_decide_where_they_bring_a_split():
    graph = path_graph(4, split=[0, 1, 2, 0])
    split = node_split(graph, SplitOptions(unseen_ratio=0.5))
    assert split.train.tolist() == [0, 3]
    assert split.validation.tolist() == [1]
    assert split.test.tolist() == [2]


def test_a_fixed_validation_set_is_never_trained_on():
    assert fixed(path_graph(4, split=[0, 1, 2, 0])).seen.tolist() == [0, 3]


def test_without_a_split_of_its_own_a_graph_gets_a_random_one():
    split = node_split(path_graph(100), SplitOptions(unseen_ratio=0.5, split_seed=3))
    np.testing.assert_array_equal(split.test, split_nodes(path_graph(100), 0.5, 3).test)
    assert len(split.seen) == 50


def test_a_split_without_training_nodes_is_refused():
    with pytest.raises(InputError, match="training nodes"):
        fixed(path_graph(3, split=[1, 2, 2]))
    with pytest.raises(InputError, match="split of its own"):
        fixed(path_graph(3))


def test_a_node_in_two_parts_is_refused():
    with pytest.raises(InputError, match="each node in one part"):
        NodeSplit(train=np.array([0, 1]), validation=np.array([1]), test=np.array([2]))


@pytest.mark.parametrize("trains_validation", [False, True])
def test_a_saved_split_comes_back(tmp_path, trains_validation):
    split = NodeSplit(train=[0, 3], validation=[1], test=[2], trains_validation=trains_validation)
    split.save(tmp_path / "split.npz")
    loaded = NodeSplit.load(tmp_path / "split.npz")
    np.testing.assert_array_equal(loaded.train, [0, 3])
    np.testing.assert_array_equal(loaded.seen, split.seen)
    np.testing.assert_array_equal(loaded.test, [2])


def test_another_file_is_no_split(tmp_path):
    np.savez(tmp_path / "split.npz", train=np.arange(3))
    with pytest.raises(InputError, match="the arrays train, validation, test"):
        NodeSplit.load(tmp_path / "split.npz")


def test_sub_ppi_is_three_one_and_one_graphs():
    ids = np.repeat(np.arange(8), 3)
    parts = np.repeat([0, 0, 0, 0, 1, 1, 2, 2], 3)
    graph = Graph.from_edges(
        [[3 * g, 3 * g + 1] for g in range(8)], graph_ids=ids, split=parts, num_nodes=24
    )
    small = sub_ppi(graph)
    assert np.unique(small.graph_ids).tolist() == [0, 1, 2, 4, 6]
    split = fixed(small)
    assert (len(split.train), len(split.validation), len(split.test)) == (9, 3, 3)
    assert small.num_edges == 5


def test_sub_ppi_needs_enough_graphs():
    with pytest.raises(InputError, match="3 graphs of part 0"):
        sub_ppi(path_graph(4, graph_ids=[0, 1, 2, 3], split=[0, 1, 2, 0]))
