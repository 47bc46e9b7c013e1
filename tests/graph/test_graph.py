"""Graph: any list of edges becomes a simple undirected graph, and every mistake is named."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.sparse.csgraph import connected_components

from cade_tf import problems
from cade_tf.errors import InputError
from cade_tf.graph.graph import EdgeReport, Graph

NODES = 12
edge_lists = hnp.arrays(
    np.int64, st.tuples(st.integers(0, 40), st.just(2)), elements=st.integers(0, NODES - 1)
)


@given(edge_lists)
def test_a_graph_is_the_set_of_its_edges(pairs):
    graph = Graph.from_edges(pairs, num_nodes=NODES)
    expected = {(min(a, b), max(a, b)) for a, b in pairs.tolist() if a != b}
    assert {tuple(edge) for edge in graph.edges().tolist()} == expected
    assert graph.num_edges == len(expected)
    directed = [(a, b) for a, b in pairs.tolist() if a != b]
    assert graph.report == EdgeReport(
        self_loops=len(pairs) - len(directed),
        duplicates=len(directed) - len(set(directed)),
        one_way=sum((b, a) not in directed for a, b in set(directed)),
    )


@given(edge_lists)
def test_neighbours_are_symmetric_sorted_and_distinct(pairs):
    graph = Graph.from_edges(pairs, num_nodes=NODES)
    for node in range(NODES):
        neighbors = graph.neighbors(node)
        assert (np.diff(neighbors) > 0).all()
        assert all(node in graph.neighbors(other) for other in neighbors)
    assert graph.degrees.sum() == 2 * graph.num_edges


@given(edge_lists)
def test_csr_arrays_make_the_same_graph(pairs):
    graph = Graph.from_edges(pairs, num_nodes=NODES)
    again = Graph(indptr=graph.indptr, indices=graph.indices)
    np.testing.assert_array_equal(again.edges(), graph.edges())
    matrix = graph.adjacency()
    assert (matrix != matrix.T).nnz == 0


@given(edge_lists, st.permutations(range(NODES)), st.integers(0, NODES))
def test_an_induced_subgraph_has_exactly_the_edges_between_its_nodes(pairs, order, size):
    chosen = np.array(order[:size], int)
    graph = Graph.from_edges(pairs, features=np.arange(NODES)[:, None], labels=np.arange(NODES))
    part = graph.subgraph(chosen)
    expected = graph.adjacency().toarray()[np.ix_(chosen, chosen)]
    np.testing.assert_array_equal(part.adjacency().toarray(), expected)
    np.testing.assert_array_equal(part.ids, chosen)
    np.testing.assert_array_equal(part.features.ravel(), chosen)
    np.testing.assert_array_equal(part.labels, chosen)


@given(edge_lists, st.data())
def test_the_largest_weight_of_a_repeated_edge_counts(pairs, data):
    weights = data.draw(hnp.arrays(np.float32, len(pairs), elements=st.floats(0.125, 8, width=16)))
    graph = Graph.from_edges(pairs, num_nodes=NODES, edge_weights=weights)
    expected = np.zeros((NODES, NODES), np.float32)
    for (a, b), weight in zip(pairs, weights, strict=True):
        if a != b:
            expected[a, b] = expected[b, a] = max(expected[a, b], weight)
    np.testing.assert_array_equal(graph.adjacency().toarray(), expected)


@given(edge_lists)
def test_components_are_what_paths_join(pairs):
    graph = Graph.from_edges(pairs, num_nodes=NODES)
    count, expected = connected_components(graph.adjacency(), directed=False)
    component = graph.components()
    assert len(set(component)) == len(set(zip(component, expected, strict=True))) == count


def test_dtypes_are_as_promised():
    graph = Graph.from_edges([[0, 1]], features=np.eye(2), labels=[0, 1])
    assert graph.indptr.dtype == np.int64
    assert graph.indices.dtype == np.int32
    assert graph.features.dtype == np.float32


def test_arrays_are_read_only_and_the_callers_stay_writable():
    features = np.zeros((2, 1), np.float32)
    graph = Graph.from_edges([[0, 1]], features=features)
    for array in (graph.indices, graph.indptr, graph.features):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1
    features[0] = 1


def test_sparse_features_of_the_caller_are_not_reordered():
    matrix = sp.csr_array((np.ones(2), np.array([1, 0]), np.array([0, 2, 2])), shape=(2, 2))
    Graph.from_edges([[0, 1]], features=matrix)
    assert matrix.indices.tolist() == [1, 0]


def test_isolated_and_featureless_nodes_are_legal():
    graph = Graph.from_edges(np.zeros((0, 2), int), num_nodes=3)
    assert (graph.num_nodes, graph.num_edges, graph.num_features) == (3, 0, 0)


def test_some_of_the_edges_for_the_same_nodes_with_their_weights():
    graph = Graph.from_edges([[0, 1], [1, 2]], edge_weights=[2.0, 3.0], features=np.eye(3))
    other = graph.with_edges(np.array([[1, 2]]))
    assert other.edges().tolist() == [[1, 2]]
    assert other.features is not None
    np.testing.assert_array_equal(other.edge_weights, [3.0, 3.0])


MISTAKES = {
    "edges: expected node positions from 0 to 1, received 7": {"edges": [[0, 7]]},
    "edges: expected node positions from 0 to 1, received -1": {"edges": [[0, -1]]},
    r"edges: expected shape \[edges, 2\]": {"edges": [[0, 1, 2]]},
    "edges: expected integers": {"edges": [[0.5, 1.0]]},
    "features: expected 2 rows": {"features": np.zeros((3, 1))},
    "features: expected finite numbers, received 1 NaN": {"features": [[0.0], [np.nan]]},
    "features: expected finite numbers, received 1 ": {"features": [[0.0], [1e300]]},
    "features: expected numbers": {"features": [["a"], ["b"]]},
    "features: expected two dimensions": {"features": [1.0, 2.0]},
    r"labels: expected \[2\] or": {"labels": [0]},
    "labels: expected integers": {"labels": [0.5, 1]},
    "labels: expected -1": {"labels": [-2, 0]},
    "labels: expected a 0/1 matrix": {"labels": [[0, 2], [1, 1]]},
    "node_ids: expected distinct ids, received a more than once": {"node_ids": ["a", "a"]},
    "node_ids: expected 2 ids": {"node_ids": [1]},
    "node_ids: expected integers or strings": {"node_ids": [0.5, 1.5]},
    "graph_ids: expected 2 entries": {"graph_ids": [0]},
    "split: expected 0, 1 or 2": {"split": [0, 3]},
    "edge_weights: expected 1 numbers": {"edge_weights": [1.0, 2.0]},
    "edge_weights: expected finite numbers above 0": {"edge_weights": [0.0]},
    "feature_names: expected 0 names": {"feature_names": ["a"]},
    "class_names: expected 2 names": {"labels": [0, 1], "class_names": ["a"]},
}


@pytest.mark.parametrize("message", MISTAKES)
def test_every_mistake_is_named(message):
    fields = {"edges": [[0, 1]], "num_nodes": 2} | MISTAKES[message]
    with pytest.raises(InputError, match=message):
        Graph.from_edges(**fields)


@pytest.mark.parametrize(
    ("indptr", "indices", "message"),
    [
        ([0, 1, 1], [1], "a symmetric graph"),
        ([0, 1, 2], [0, 1], "no self-loops"),
        ([0, 2, 4], [1, 1, 0, 0], "ascending, distinct"),
        ([0, 1], [1], "positions from 0 to 0"),
        ([0, 2, 1, 2], [1, 0], "ascending values"),
        ([1, 1], [], "from 0 to 0"),
        ([], [], "from 0 to 0"),
    ],
)
def test_a_csr_that_is_no_simple_graph_is_refused(indptr, indices, message):
    with pytest.raises(InputError, match=message):
        Graph(indptr=np.array(indptr, int), indices=np.array(indices, int))


@pytest.mark.parametrize("nodes", [[0, 0], [5], [-1], [[0]], [0.5]])
def test_a_subgraph_of_impossible_nodes_is_refused(nodes):
    with pytest.raises(InputError, match="nodes"):
        Graph.from_edges([[0, 1]]).subgraph(nodes)


def test_all_mistakes_can_be_collected():
    with problems.collected() as found:
        graph = Graph.from_edges(
            [[0, 1], [0, 9]],
            num_nodes=2,
            edge_weights=[-1.0, 1.0],
            features=np.full((2, 2), np.nan),
            labels=[0],
            split=[5, 5],
        )
    named = {error.argument for error in found}
    assert named == {"edges", "edge_weights", "features", "labels", "split"}
    assert graph.edges().tolist() == [[0, 1]]
    assert graph.features is None


def test_ids_in_the_place_of_positions_do_not_fill_the_memory():
    with pytest.raises(InputError, match="node positions from 0, received 5000000000"):
        Graph.from_edges([[5_000_000_000, 7]])
    assert Graph.from_edges([[999_999, 7]]).num_nodes == 1_000_000
    assert Graph.from_edges([[2_000_000, 7]], num_nodes=2_000_001).num_edges == 1


def test_ids_are_known_to_be_given_or_not():
    assert not Graph.from_edges([[0, 1]]).has_given_ids
    assert Graph.from_edges([[0, 1]], node_ids=[0, 1]).has_given_ids


def test_other_edges_have_no_report_of_their_own():
    graph = Graph.from_edges([[0, 1], [1, 1], [1, 2]])
    assert graph.with_edges(np.array([[0, 2]])).report == EdgeReport()
    with pytest.raises(InputError, match="edges: expected integers, received strings"):
        graph.with_edges([["a", "b"]])


def test_a_part_without_the_last_class_keeps_the_names_of_all():
    graph = Graph.from_edges([[0, 1], [1, 2]], labels=["a", "b", "c"])
    part = graph.subgraph([0, 1])
    assert part.class_names == ("a", "b", "c")
    assert part.num_classes == 3
