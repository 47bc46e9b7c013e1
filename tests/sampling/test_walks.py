"""Positive pairs: steps of walks are uniform, epochs complete, any part repeatable."""

import collections

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

from cade_tf.graph.graph import Graph
from cade_tf.sampling import random
from cade_tf.sampling.graph_tables import make_graph_tables
from cade_tf.sampling.walks import PairStream, walk
from tests import engine

ORDERS = pytest.mark.parametrize("together", [True, False], ids=["walk", "shuffled"])


def stream(**changes):
    return PairStream(**{"walks_per_node": 3, "length": 4, "seed": 5, "together": True, **changes})


def drawn(pairs_of, tables, first, count):
    pairs = pairs_of.draw(tables, tf.constant(first, tf.int64), count)
    return np.stack([pairs.nodes, pairs.partners, pairs.valid])


@pytest.mark.parametrize("weighted", [False, True])
def test_every_step_of_a_walk_follows_the_transition_probabilities(weighted):
    graph = engine.small_graph(weighted=weighted)
    tables = engine.small_tables(weighted=weighted)
    starts = tf.constant(np.tile(np.flatnonzero(graph.degrees), 800))
    keys = random.fold_in(random.make_key(2, random.Stream.WALK), tf.range(tf.size(starts)))
    visited = np.column_stack([starts, walk(tables, starts, keys, 3)])
    for step in range(3):
        moves = np.zeros((engine.NODES, engine.NODES))
        np.add.at(moves, (visited[:, step], visited[:, step + 1]), 1)
        for node in range(engine.NODES):
            neighbors = graph.neighbors(node)
            assert moves[node].sum() == moves[node, neighbors].sum()
            if len(neighbors) > 1:
                shares = np.ones(len(neighbors))
                if weighted:
                    shares = graph.edge_weights[graph.indptr[node] : graph.indptr[node + 1]]
                expected = moves[node].sum() * shares.astype(float) / shares.sum(dtype=float)
                assert stats.chisquare(moves[node, neighbors], expected).pvalue > 0.0005


@ORDERS
def test_an_epoch_pairs_each_start_with_every_position_of_its_walks(together):
    graph, tables = engine.small_graph(), engine.small_tables()
    pairs_of = stream(together=together)
    size = pairs_of.epoch_pairs(tables)
    walkers = np.flatnonzero(graph.degrees)
    assert size == len(walkers) * 3 * 4
    for epoch in range(2):
        nodes, _, _ = drawn(pairs_of, tables, epoch * size, size)
        counts = collections.Counter(nodes.tolist())
        assert counts == dict.fromkeys(walkers.tolist(), 3 * 4)


@ORDERS
def test_the_orders_hold_the_same_pairs(together):
    tables = engine.small_tables()
    size = stream().epoch_pairs(tables)
    mine = drawn(stream(together=together), tables, 0, size)
    other = drawn(stream(together=not together), tables, 0, size)
    assert (mine != other).any()
    assert collections.Counter(map(tuple, mine.T)) == collections.Counter(map(tuple, other.T))


@ORDERS
def test_any_part_of_the_stream_can_be_drawn_by_itself(together):
    tables = engine.small_tables()
    pairs_of = stream(together=together)
    size = pairs_of.epoch_pairs(tables)
    whole = drawn(pairs_of, tables, 0, 2 * size)
    for first, count in ((0, 7), (5, 9), (size - 3, 8)):
        np.testing.assert_array_equal(
            drawn(pairs_of, tables, first, count), whole[:, first : first + count]
        )


def test_pairs_of_a_walk_follow_each_other_where_they_stay_together():
    tables = engine.small_tables()
    nodes, _, _ = drawn(stream(together=True), tables, 0, 40)
    assert (nodes.reshape(-1, 4) == nodes.reshape(-1, 4)[:, :1]).all()
    shuffled, _, _ = drawn(stream(together=False), tables, 0, 40)
    assert not (shuffled.reshape(-1, 4) == shuffled.reshape(-1, 4)[:, :1]).all()


def test_returns_to_the_start_are_not_valid_and_all_other_pairs_are():
    tables = engine.small_tables()
    nodes, partners, valid = drawn(stream(), tables, 0, stream().epoch_pairs(tables))
    np.testing.assert_array_equal(valid.astype(bool), nodes != partners)
    # The first step always leaves, the second returns at times.
    assert valid.reshape(-1, 4)[:, 0].all()
    assert not valid.reshape(-1, 4)[:, 1].all()


def test_epochs_and_seeds_walk_differently():
    tables = engine.small_tables()
    size = stream().epoch_pairs(tables)
    first = drawn(stream(), tables, 0, size)
    assert (first != drawn(stream(), tables, size, size)).any()
    assert (first != drawn(stream(seed=6), tables, 0, size)).any()


@ORDERS
def test_every_epoch_has_an_order_of_its_own(together):
    tables, pairs = engine.small_tables(), stream(together=together)
    size = pairs.epoch_pairs(tables)
    first, second = (drawn(pairs, tables, start, size)[0] for start in (0, size))
    assert (first != second).mean() > 0.5
    np.testing.assert_array_equal(np.sort(first), np.sort(second))


def test_walks_from_one_node_are_independent_of_each_other():
    leaves = 50
    graph = Graph.from_edges([[0, leaf] for leaf in range(1, leaves + 1)])
    tables = make_graph_tables(graph, np.ones((leaves + 1, 1), np.float32))
    starts = tf.zeros([4000], tf.int64)
    keys = random.fold_in(random.make_key(2, random.Stream.WALK), tf.range(4000))
    visited = walk(tables, starts, keys, 3).numpy()
    assert stats.chisquare(np.bincount(visited[:, 0])[1:]).pvalue > 0.001
    limit = 4 / np.sqrt(4000)
    assert abs(np.corrcoef(visited[:, 0], visited[:, 2])[0, 1]) < limit
    assert abs(np.corrcoef(visited[:-1, 0], visited[1:, 0])[0, 1]) < limit
