import numpy as np
import pytest
import scipy.sparse as sp
import tensorflow as tf

from cade_tf.baselines import graph2gauss
from cade_tf.baselines.hop_triplets import HopTriplets
from cade_tf.errors import InputError
from cade_tf.graph.graph import Graph


def communities(nodes=120, groups=4, seed=0):
    rng = np.random.default_rng(seed)
    group = np.arange(nodes) % groups
    pairs = rng.integers(nodes, size=(4000, 2))
    same = group[pairs[:, 0]] == group[pairs[:, 1]]
    edges = np.concatenate([pairs[same][:500], pairs[~same][:40]])
    features = np.eye(groups)[group] + 0.5 * rng.normal(size=(nodes, groups))
    return Graph.from_edges(edges, features=features, labels=group)


def distances(graph):
    return sp.csgraph.shortest_path(graph.adjacency(), unweighted=True)


@pytest.mark.parametrize("hops", [1, 2, 3])
def test_triplets_hold_a_nearer_and_a_farther_node(hops):
    ring = Graph.from_edges([[i, (i + 1) % 30] for i in range(30)])
    apart = distances(ring)
    triplets = HopTriplets(ring, hops, seed=0).draw()
    near = apart[triplets[:, 0], triplets[:, 1]]
    far = apart[triplets[:, 0], triplets[:, 2]]
    assert (near >= 1).all()
    assert (near < far).all()
    assert near.max() == hops
    # Every pair of levels once for every node: K hops and what lies beyond.
    assert len(triplets) == 30 * hops * (hops + 1) // 2


def test_every_member_of_a_hop_is_drawn_in_the_end():
    star = Graph.from_edges([[0, i] for i in range(1, 6)], num_nodes=8)
    sampler = HopTriplets(star, 1, seed=0)
    drawn = np.concatenate([sampler.draw() for _ in range(100)])
    centre = drawn[drawn[:, 0] == 0]
    assert set(centre[:, 1]) == {1, 2, 3, 4, 5}
    assert set(centre[:, 2]) == {6, 7}


def test_nodes_near_everything_and_isolated_ones_give_no_triplets():
    triangle = Graph.from_edges([[0, 1], [1, 2], [0, 2]])
    assert len(HopTriplets(triangle, 1, seed=0).draw()) == 0
    with_isolated = Graph.from_edges([[0, 1]], num_nodes=3)
    assert set(HopTriplets(with_isolated, 1, seed=0).draw()[:, 0]) == {0, 1}


def test_the_energy_is_the_divergence_of_two_gaussians():
    rng = np.random.default_rng(0)
    mean = rng.normal(size=(5, 3)).astype(np.float32)
    variance = rng.uniform(0.5, 2.0, size=(5, 3)).astype(np.float32)
    pairs = np.array([[0, 1], [1, 0], [2, 2], [3, 4]])
    energies = graph2gauss.kl_energy(tf.constant(mean), tf.constant(variance), pairs).numpy()
    for (i, j), energy in zip(pairs, energies, strict=True):
        inverse = np.diag(1 / variance[i])
        difference = mean[i] - mean[j]
        literal = 0.5 * (
            np.trace(inverse @ np.diag(variance[j]))
            + difference @ inverse @ difference
            - 3
            + np.log(np.prod(variance[i]) / np.prod(variance[j]))
        )
        assert energy == pytest.approx(literal, abs=1e-5)


def test_the_loss_is_square_exponential():
    mean, variance = tf.constant([[0.0], [1.0], [3.0]]), tf.ones([3, 1])
    loss = graph2gauss.triplet_loss(mean, variance, tf.constant([[0, 1, 2]]))
    assert float(loss) == pytest.approx(0.5**2 + np.exp(-4.5))


def test_learning_ranks_hidden_links_and_separates_communities():
    graph = communities()
    model = graph2gauss.train(graph, graph.features, latent=8, epochs=150)
    assert model.validation_auc > 0.75
    mean = model.embed(graph.features)
    assert mean.shape == (120, 8)
    edges = graph.edges()
    strangers = np.random.default_rng(1).integers(120, size=edges.shape)
    gaussians = model.encoder(tf.constant(graph.features, tf.float32))
    linked = graph2gauss.kl_energy(*gaussians, tf.constant(edges)).numpy()
    others = graph2gauss.kl_energy(*gaussians, tf.constant(strangers)).numpy()
    assert np.median(linked) < np.median(others)


def test_sparse_and_dense_attributes_give_the_same_model():
    graph = communities()
    wide = np.zeros((120, 500), np.float32)
    wide[:, :4] = graph.features
    dense = graph2gauss.train(graph, wide, latent=4, epochs=5).embed(wide)
    sparse = sp.csr_array(wide)
    assert isinstance(graph2gauss._tensor(sparse), tf.SparseTensor)
    same = graph2gauss.train(graph, sparse, latent=4, epochs=5).embed(sparse)
    np.testing.assert_allclose(dense, same, atol=1e-4)


def test_training_repeats_and_stops_early():
    graph = communities()
    first, second = (
        graph2gauss.train(graph, graph.features, latent=4, epochs=30) for _ in range(2)
    )
    np.testing.assert_array_equal(first.embed(graph.features), second.embed(graph.features))


def test_a_graph_too_small_for_validation_links_still_trains():
    graph = Graph.from_edges([[0, 1], [2, 3]], features=np.eye(4))
    model = graph2gauss.train(graph, graph.features, latent=2, epochs=3)
    assert np.isnan(model.validation_auc)
    assert np.isfinite(model.embed(graph.features)).all()


def test_a_graph_without_edges_is_a_mistake():
    graph = Graph.from_edges([], num_nodes=3, features=np.eye(3))
    with pytest.raises(InputError, match="edges"):
        graph2gauss.train(graph, graph.features, latent=2)
