"""What a preset reads of a graph."""

import time

import numpy as np
import pytest
import scipy.sparse as sp

from cade_tf.graph.digits import digits
from cade_tf.graph.graph import Graph
from cade_tf.presets import statistics
from cade_tf.presets.statistics import GraphStatistics
from tests.presets.kinds import GENERATED, generated


@pytest.mark.parametrize("kind", GENERATED)
def test_the_kind_of_features_is_recognised(kind):
    assert GraphStatistics.measure(generated(kind)).kind == kind


@pytest.mark.parametrize("kind", ["binary", "counts", "weights"])
def test_sparse_and_dense_storage_are_read_alike(kind):
    graph = generated(kind)
    dense = Graph.from_edges(graph.edges(), features=graph.features.toarray())
    first, second = (vars(GraphStatistics.measure(g)) for g in (graph, dense))
    assert first == pytest.approx(second, abs=1e-5)


def test_pixels_are_measurements_and_not_counts():
    found = GraphStatistics.measure(digits())
    assert (found.kind, found.width, found.nodes) == ("dense", 32, 1797)
    assert found.mean_degree == pytest.approx(2 * 9787 / 1797)
    assert found.autocorrelation > 0.3


def test_density_and_rows_of_zeros():
    features = np.zeros((4, 5), np.float32)
    features[0, :2] = 1
    found = GraphStatistics.measure(Graph.from_edges([[0, 1], [2, 3]], features=features))
    assert found.density == pytest.approx(2 / 20)
    assert found.zero_rows == pytest.approx(3 / 4)
    assert found.autocorrelation == 0.0


def test_neighbours_that_are_alike_correlate_and_others_do_not():
    alike = GraphStatistics.measure(generated("binary", alike=True))
    unlike = GraphStatistics.measure(generated("binary", alike=False))
    assert alike.autocorrelation > 0.1
    assert abs(unlike.autocorrelation) < 0.02


def test_autocorrelation_is_the_mean_cosine_of_centred_unit_rows():
    graph = generated("weights")
    rows = graph.features.toarray()
    rows = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    rows = rows - rows.mean(axis=0)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    first, second = graph.edges().T
    expected = (rows[first] * rows[second]).sum(axis=1).mean()
    assert GraphStatistics.measure(graph).autocorrelation == pytest.approx(expected, abs=1e-4)


def test_a_sample_of_a_large_graph_says_the_same(monkeypatch):
    graph = generated("binary")
    exact = GraphStatistics.measure(graph)
    monkeypatch.setattr(statistics, "SAMPLED_EDGES", 400)
    monkeypatch.setattr(statistics, "SAMPLED_NODES", 200)
    sampled = GraphStatistics.measure(graph)
    assert sampled != exact
    assert sampled.autocorrelation == pytest.approx(exact.autocorrelation, abs=0.05)
    assert GraphStatistics.measure(graph) == sampled


def test_labels_are_not_read():
    graph = generated("binary")
    relabelled = Graph.from_edges(
        graph.edges(), features=graph.features, labels=np.zeros(graph.num_nodes, int)
    )
    assert GraphStatistics.measure(graph) == GraphStatistics.measure(relabelled)


@pytest.mark.parametrize("graph", [
    Graph.from_edges(np.zeros((0, 2), int), num_nodes=3),
    Graph.from_edges(np.zeros((0, 2), int), num_nodes=3, features=np.eye(3)),
    Graph.from_edges(np.zeros((0, 2), int), num_nodes=0),
    Graph.from_edges([[0, 1]], features=np.ones((2, 3))),
])  # fmt: skip
def test_graphs_with_nothing_to_measure_are_measured(graph):
    found = GraphStatistics.measure(graph)
    assert np.isfinite([found.mean_degree, found.density, found.autocorrelation]).all()


def test_a_million_edges_take_seconds():
    rng = np.random.default_rng(0)
    nodes = 100_000
    features = sp.random_array((nodes, 1000), density=0.02, rng=rng, dtype=np.float32).tocsr()
    graph = Graph.from_edges(rng.integers(0, nodes, (1_000_000, 2)), features=features)
    started = time.process_time()
    GraphStatistics.measure(graph)
    assert time.process_time() - started < 10
