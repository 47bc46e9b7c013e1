"""Hidden edges: disjoint, equal in number, no node left dangling."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cade_tf.errors import InputError
from cade_tf.graph.graph import Graph
from cade_tf.graph.link_splits import LinkSplit, hidden_edges


def random_graph(nodes: int, edges: int, seed: int) -> Graph:
    rng = np.random.default_rng(seed)
    return Graph.from_edges(rng.integers(0, nodes, (edges, 2)), num_nodes=nodes)


def test_edges_that_are_not_hidden_keep_their_weights():
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 600)
    pairs = np.random.default_rng(0).integers(0, 100, (600, 2))
    graph = Graph.from_edges(pairs, num_nodes=100, edge_weights=weights)
    visible = hidden_edges(graph, 0.3, 0.0, 0).input_graph(graph)
    assert visible.num_edges < graph.num_edges
    difference = visible.adjacency() - graph.adjacency().multiply(visible.adjacency() > 0)
    assert abs(difference).max() < 1e-6


def keys(pairs: np.ndarray) -> set[tuple[int, int]]:
    return {(int(a), int(b)) for a, b in pairs}


@settings(deadline=None, max_examples=60)
@given(
    nodes=st.integers(5, 60),
    edges=st.integers(5, 150),
    ratio=st.floats(0.05, 0.6),
    seed=st.integers(0, 2**20),
)
def test_the_six_sets_keep_their_promises(nodes, edges, ratio, seed):
    graph = random_graph(nodes, edges, seed)
    try:
        split = hidden_edges(graph, ratio, 0.2, seed)
    except InputError:
        return
    everything = keys(graph.edges())
    positive = [keys(split.train_edges), keys(split.validation_edges), keys(split.test_edges)]
    negative = [
        keys(split.train_non_edges),
        keys(split.validation_non_edges),
        keys(split.test_non_edges),
    ]
    assert set.union(*positive) == everything
    assert sum(map(len, positive)) == len(everything)
    assert [len(s) for s in positive] == [len(s) for s in negative]
    assert len(set.union(*negative)) == sum(map(len, negative))
    assert not set.union(*negative) & everything
    assert all(a < b for part in negative for a, b in part)
    assert len(split.test_edges) == round(ratio * len(everything))
    remaining = split.input_graph(graph, validating=True)
    assert (remaining.degrees[graph.degrees > 0] > 0).all()
    assert split.input_graph(graph).num_edges == len(everything) - len(split.test_edges)


def test_unseen_nodes_are_the_wanted_share():
    split = hidden_edges(random_graph(100, 600, 0), 0.3, 0.2, 0)
    assert len(split.unseen) == 20


def test_a_tenth_of_what_is_left_is_for_validation():
    graph = random_graph(200, 3000, 0)
    split = hidden_edges(graph, 0.5, 0.2, 0)
    left = graph.num_edges - len(split.test_edges)
    assert len(split.validation_edges) == round(0.1 * left)


def test_a_seed_repeats_and_another_differs():
    graph = random_graph(100, 600, 0)
    first, again, other = (hidden_edges(graph, 0.3, 0.2, s) for s in (1, 1, 2))
    np.testing.assert_array_equal(first.test_edges, again.test_edges)
    np.testing.assert_array_equal(first.train_non_edges, again.train_non_edges)
    assert keys(first.test_edges) != keys(other.test_edges)


def test_edges_are_hidden_evenly():
    """On a graph without weak nodes every edge is hidden equally often."""
    graph = random_graph(12, 400, 0)
    assert graph.degrees.min() > 8
    counts = dict.fromkeys(keys(graph.edges()), 0)
    for seed in range(600):
        for edge in keys(hidden_edges_dense(graph, seed)):
            counts[edge] += 1
    share = np.array(list(counts.values())) / 600
    assert abs(share - 0.2).max() < 0.08


def hidden_edges_dense(graph: Graph, seed: int) -> np.ndarray:
    larger = Graph.from_edges(graph.edges(), num_nodes=40)
    return hidden_edges(larger, 0.2, 0.0, seed).test_edges


def test_a_star_cannot_lose_an_edge():
    star = Graph.from_edges([[0, i] for i in range(1, 20)])
    with pytest.raises(InputError, match=r"at most 0\.000 on this graph"):
        hidden_edges(star, 0.1, 0.0, 0)


def test_a_path_can_be_thinned_to_its_least_cover():
    """Of 3 edges in a row the middle one can go, whichever edges are guarded first."""
    paths = Graph.from_edges([[4 * p + i, 4 * p + i + 1] for p in range(30) for i in range(3)])
    split = hidden_edges(paths, 1 / 3, 0.0, 0)
    assert keys(split.test_edges) == {(4 * p + 1, 4 * p + 2) for p in range(30)}
    assert len(split.validation_edges) == 0


def test_a_dense_graph_has_too_few_non_edges():
    clique = Graph.from_edges([[i, j] for i in range(10) for j in range(i)])
    with pytest.raises(InputError, match="pairs of nodes without an edge, received 0"):
        hidden_edges(clique, 0.1, 0.0, 0)


@pytest.mark.parametrize("ratio", [0.0, 1.0, -1.0, float("nan")])
def test_impossible_ratios_are_refused(ratio):
    with pytest.raises(InputError, match="hidden_ratio"):
        hidden_edges(random_graph(50, 200, 0), ratio, 0.0, 0)


def test_a_saved_split_comes_back(tmp_path):
    split = hidden_edges(random_graph(100, 600, 0), 0.3, 0.2, 0)
    split.save(tmp_path / "links.npz")
    loaded = LinkSplit.load(tmp_path / "links.npz")
    for name in ("unseen", "train_edges", "validation_non_edges", "test_edges", "test_non_edges"):
        np.testing.assert_array_equal(getattr(loaded, name), getattr(split, name))


def test_a_graph_of_the_size_of_ppi_is_split():
    graph = random_graph(56_944, 800_000, 0)
    split = hidden_edges(graph, 0.6, 0.2, 0)
    assert len(split.test_edges) == round(0.6 * graph.num_edges)


@pytest.mark.parametrize("edges", [600, 2000])
def test_without_non_edges_for_training_all_others_are_the_same(edges):
    graph = random_graph(100, edges, 0)
    whole, few = (hidden_edges(graph, 0.3, 0.2, 0, train_non_edges=wanted) for wanted in (1, 0))
    assert len(whole.train_non_edges) == len(whole.train_edges)
    assert not len(few.train_non_edges)
    for name in ("test_non_edges", "validation_non_edges", "test_edges", "train_edges", "unseen"):
        np.testing.assert_array_equal(getattr(few, name), getattr(whole, name))
