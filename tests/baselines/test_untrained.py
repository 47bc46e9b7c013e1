import numpy as np
import scipy.sparse as sp

from cade_tf.baselines import smoothed_pca
from cade_tf.config import FeatureOptions
from cade_tf.graph.graph import Graph


def path_graph():
    return Graph.from_edges([[0, 1], [1, 2]], features=np.array([[3.0], [0.0], [6.0]]))


def test_smoothing_averages_hops():
    graph = path_graph()
    # Node 1: hop 0 is 0, hop 1 the mean of 3 and 6, hop 2 the mean of its neighbours' hop 1, 0.
    expected = [(3 + 0 + 4.5) / 3, (0 + 4.5 + 0) / 3, (6 + 0 + 4.5) / 3]
    np.testing.assert_allclose(smoothed_pca.smooth(graph, graph.features, 2).ravel(), expected)


def test_smoothing_keeps_isolated_nodes_and_weighs_edges():
    lonely = Graph.from_edges([[0, 1]], features=np.array([[1.0], [2.0], [5.0]]))
    assert smoothed_pca.smooth(lonely, lonely.features, 2)[2] == 5.0
    weighted = Graph.from_edges(
        [[0, 1], [0, 2]], edge_weights=[3.0, 1.0], features=np.array([[0.0], [4.0], [8.0]])
    )
    assert smoothed_pca.smooth(weighted, weighted.features, 1)[0] == 0.5 * (0.75 * 4 + 0.25 * 8)


def test_smoothed_pca_is_fit_on_the_training_graph_alone():
    rng = np.random.default_rng(0)
    edges = rng.integers(40, size=(120, 2))
    features = rng.normal(size=(40, 6)).astype(np.float32)
    changed = features.copy()
    changed[30:] = 100.0
    seen = np.arange(30)
    inside = edges[(edges < 30).all(axis=1)]
    embeddings = [
        smoothed_pca.embed(
            Graph.from_edges(inside, features=x), seen, dim=3, options=FeatureOptions()
        )
        for x in (features, changed)
    ]
    np.testing.assert_allclose(embeddings[0][:30], embeddings[1][:30], atol=1e-5)


def test_sparse_features_are_centred_like_dense_ones():
    rng = np.random.default_rng(0)
    features = (rng.random((50, 8)) * (rng.random((50, 8)) < 0.3)).astype(np.float32)
    edges = rng.integers(50, size=(150, 2))
    dense, sparse = (
        smoothed_pca.embed(
            Graph.from_edges(edges, features=kind(features)),
            np.arange(40),
            dim=4,
            options=FeatureOptions(),
        )
        for kind in (np.asarray, sp.csr_array)
    )
    np.testing.assert_allclose(np.abs(dense), np.abs(sparse), atol=1e-4)
