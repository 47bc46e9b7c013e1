"""Positions of nodes: near in the graph is near in space, and a new node's follow from others'."""

import numpy as np
import pytest

from cade_tf.graph.graph import Graph
from cade_tf.graph.structure import HOPS, WIDTH, before_last_step, random_signs, structural_features


def groups():
    """Four groups of 25 nodes, densely linked inside and joined to a ring by single edges."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(4), 25)
    inside = [25 * g + rng.choice(25, 2, replace=False) for g in range(4) for _ in range(120)]
    edges = np.array([*inside, [0, 25], [26, 50], [51, 75], [76, 1]])
    return Graph.from_edges(edges, num_nodes=101), group


def test_a_row_is_the_degree_and_the_position():
    graph, _ = groups()
    features = structural_features(graph)
    assert features.shape == (101, 1 + WIDTH)
    assert features.dtype == np.float32
    np.testing.assert_allclose(features[:, 0], np.log1p(graph.degrees), rtol=1e-6)


def test_nodes_of_a_group_are_nearer_than_others():
    graph, group = groups()
    position = structural_features(graph)[:100, 1:]
    position /= np.linalg.norm(position, axis=1, keepdims=True)
    cosine = position @ position.T
    same = group[:, None] == group
    assert cosine[same].mean() > cosine[~same].mean() + 0.5


@pytest.mark.parametrize("weighted", [False, True])
def test_a_position_is_the_sum_of_unit_vectors_of_walks_of_each_length(weighted):
    graph, _ = groups()
    if weighted:
        heavy = np.random.default_rng(1).uniform(0.1, 9.0, graph.num_edges)
        graph = Graph.from_edges(graph.edges(), num_nodes=101, edge_weights=heavy)
    step = graph.adjacency().toarray()
    step[100, 100] = 1
    step /= step.sum(axis=1, keepdims=True)
    expected = np.zeros((101, WIDTH))
    for hop in HOPS:
        ends = np.linalg.matrix_power(step, hop) @ random_signs(graph.ids)
        expected += ends / np.linalg.norm(ends, axis=1, keepdims=True)
    np.testing.assert_allclose(structural_features(graph)[:, 1:], expected, atol=1e-4)


def test_a_position_depends_on_ids_and_not_on_the_order_of_nodes():
    graph, _ = groups()
    order = np.random.default_rng(1).permutation(101)
    np.testing.assert_allclose(
        structural_features(graph.subgraph(order)), structural_features(graph)[order], atol=1e-5
    )


def test_a_node_finds_its_position_from_what_its_neighbours_know():
    graph, _ = groups()
    known = before_last_step(graph)
    assert known.shape == (101, len(HOPS), WIDTH)
    for node in (0, 30, 99):
        means = known[graph.neighbors(node)].mean(axis=0)
        position = (means / np.linalg.norm(means, axis=1, keepdims=True)).sum(axis=0)
        np.testing.assert_allclose(structural_features(graph)[node, 1:], position, atol=1e-4)


@pytest.mark.parametrize("ids", [np.arange(400), np.array([f"node {i}" for i in range(400)])])
def test_signs_of_different_ids_are_unrelated_and_of_the_same_id_the_same(ids):
    signs = random_signs(ids)
    assert set(np.unique(signs)) == {-1.0, 1.0}
    products = signs @ signs.T / WIDTH
    np.testing.assert_array_equal(np.diag(products), 1)
    others = products[~np.eye(400, dtype=bool)]
    assert abs(others.mean()) < 0.01
    assert others.std() == pytest.approx(1 / np.sqrt(WIDTH), rel=0.1)
    np.testing.assert_array_equal(random_signs(ids[7:9]), signs[7:9])
