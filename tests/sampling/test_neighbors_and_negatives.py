"""Distributions of neighbours and negatives, with fixed seeds."""

import dataclasses

import numpy as np
import pytest
import tensorflow as tf
from scipy import stats

from cade_tf.errors import InputError
from cade_tf.graph.graph import Graph
from cade_tf.sampling import random
from cade_tf.sampling.batch import PairSampler
from cade_tf.sampling.graph_tables import make_graph_tables
from cade_tf.sampling.negatives import draw_negatives
from cade_tf.sampling.neighbors import draw_neighbors
from cade_tf.sampling.random import Stream
from cade_tf.sampling.tables import TensorTable
from cade_tf.sampling.trees import TreeShape
from tests import engine

DRAWS = 4000


def keys_of(count, seed=0):
    return random.fold_in(random.make_key(seed, Stream.NEIGHBOR), tf.range(count))


def counts_of(graph, tables, node):
    """How often each neighbour of a node was drawn."""
    nodes = tf.fill([DRAWS // 8], node)
    drawn = draw_neighbors(tables, nodes, keys_of(DRAWS // 8, seed=node), 8).numpy()
    neighbors = graph.neighbors(node)
    assert np.isin(drawn, neighbors).all()
    return np.array([(drawn == neighbor).sum() for neighbor in neighbors])


def test_neighbours_are_drawn_uniformly():
    graph, tables = engine.small_graph(), engine.small_tables()
    for node in np.flatnonzero(graph.degrees > 1):
        assert stats.chisquare(counts_of(graph, tables, node)).pvalue > 0.001


def test_neighbours_are_drawn_in_proportion_to_edge_weights():
    graph, tables = engine.small_graph(weighted=True), engine.small_tables(weighted=True)
    for node in np.flatnonzero(graph.degrees > 1):
        weights = graph.edge_weights[graph.indptr[node] : graph.indptr[node + 1]]
        expected = DRAWS * weights.astype(float) / weights.sum(dtype=float)
        assert stats.chisquare(counts_of(graph, tables, node), expected).pvalue > 0.001


@pytest.mark.parametrize("weighted", [False, True])
def test_an_isolated_node_draws_itself(weighted):
    drawn = draw_neighbors(
        engine.small_tables(weighted=weighted), tf.constant([engine.ISOLATED]), keys_of(1), 5
    )
    assert drawn.numpy().tolist() == [[engine.ISOLATED] * 5]


@pytest.mark.parametrize("weighted", [False, True])
def test_a_graph_without_edges_can_be_sampled(weighted):
    graph = Graph.from_edges(
        np.zeros((0, 2)), num_nodes=3, edge_weights=np.zeros(0) if weighted else None
    )
    tables = make_graph_tables(graph, np.ones((3, 1), np.float32))
    assert draw_neighbors(tables, tf.range(3), keys_of(3), 2).numpy().tolist() == [
        [0, 0],
        [1, 1],
        [2, 2],
    ]
    assert set(draw_negatives(tables, keys_of(1)[0], 200).numpy()) == {0, 1, 2}


def test_a_star_of_many_leaves_draws_all_of_them():
    leaves = 3000
    graph = Graph.from_edges([[0, leaf] for leaf in range(1, leaves + 1)])
    tables = make_graph_tables(graph, np.ones((leaves + 1, 1), np.float32))
    drawn = draw_neighbors(tables, tf.zeros([3000], tf.int32), keys_of(3000), 10).numpy()
    counts = np.bincount(drawn.ravel(), minlength=leaves + 1)
    assert counts[0] == 0
    assert stats.chisquare(counts[1:]).pvalue > 0.001
    # The k-th draw of a key does not follow from its first.
    assert abs(np.corrcoef(drawn[:, 0], drawn[:, 1])[0, 1]) < 4 / np.sqrt(3000)


def test_draws_are_with_replacement_and_have_the_type_of_the_nodes():
    tables = engine.small_tables()
    drawn = draw_neighbors(tables, tf.constant([1], tf.int64), keys_of(1), 50)
    assert drawn.dtype == tf.int64
    assert draw_neighbors(tables, tf.constant([1]), keys_of(1), 50).dtype == tf.int32
    np.testing.assert_array_equal(drawn, draw_neighbors(tables, tf.constant([1]), keys_of(1), 50))


def expected_negatives(graph, draws):
    weights = np.maximum(graph.degrees, 1) ** 0.75  # an isolated node counts as degree 1
    return draws * weights / weights.sum()


def test_negatives_follow_the_degree_to_the_power_of_three_quarters():
    graph, tables = engine.small_graph(), engine.small_tables()
    drawn = draw_negatives(tables, keys_of(1000), 20)
    assert drawn.shape == (1000, 20)
    counts = np.bincount(drawn.numpy().ravel(), minlength=engine.NODES)
    expected = expected_negatives(graph, 20000)
    assert stats.chisquare(counts, expected).pvalue > 0.001
    uniform = np.full(engine.NODES, 20000 / engine.NODES)
    assert stats.chisquare(counts, uniform).pvalue < 1e-6


def test_a_draw_beyond_the_last_chance_is_the_last_node():
    tables = engine.small_tables()
    short = TensorTable(0.5 * tables.negatives.values)
    drawn = draw_negatives(dataclasses.replace(tables, negatives=short), keys_of(100), 20).numpy()
    assert drawn.max() == engine.NODES - 1
    assert 0.4 < (drawn == engine.NODES - 1).mean() < 0.7


@pytest.mark.parametrize("own", [False, True])
def test_negatives_are_shared_by_a_batch_or_drawn_for_each_pair(own):
    sampler = PairSampler(
        graph=engine.small_tables(),
        shape=TreeShape(fanouts=(2,)),
        batch_size=8,
        negatives=5,
        negatives_per_pair=own,
    )
    index = sampler.batch(0).negative_index.numpy()
    assert index.shape == ((8, 5) if own else (5,))
    assert not own or (index != index[:1]).any()


def test_negatives_of_steps_are_independent():
    tables = engine.small_tables()
    steps = [draw_negatives(tables, random.make_key(0, Stream.NEGATIVE, s), 20) for s in range(300)]
    drawn = np.stack([step.numpy() for step in steps])
    table = np.zeros((engine.NODES, engine.NODES))
    np.add.at(table, (drawn[:-1].ravel(), drawn[1:].ravel()), 1)
    assert stats.chi2_contingency(table).pvalue > 0.001


def test_tables_need_a_row_of_features_for_every_node():
    graph = engine.small_graph()
    with pytest.raises(InputError, match="features: expected 11 rows, received 2"):
        make_graph_tables(graph, graph.features[:2])
    empty = Graph.from_edges(np.zeros((0, 2)), num_nodes=0)
    with pytest.raises(InputError, match="graph: expected at least one node"):
        make_graph_tables(empty, np.zeros((0, 2)))
