"""Sampling-free inference equals the paper's algorithms with every neighbour as a child."""

import numpy as np
import pytest

from cade_tf.graph.graph import Graph
from cade_tf.graph.shares import neighbor_shares
from cade_tf.inference import full_neighborhood
from cade_tf.inference.algorithm1 import embed_all_nodes
from cade_tf.inference.full_neighborhood import embed_full_neighborhood
from cade_tf.sampling import random
from cade_tf.sampling.graph_tables import make_graph_tables
from tests import engine


def truth_of(model, graph, known=None):
    """The oracle with whole neighbourhoods in the order in which the LSTM reads them."""
    tables = make_graph_tables(graph, graph.features)
    truth = engine.OracleModel(model, tables, graph, random.make_key(0, 0), known)
    rank = np.random.default_rng(0).permutation(graph.num_nodes)

    def children(level, node):
        neighbors = graph.neighbors(node).tolist() or [node]
        times = [1] * len(neighbors)
        if graph.edge_weights is not None and graph.degrees[node]:
            times = graph.edge_weights[graph.indptr[node] : graph.indptr[node + 1]].astype(int)
        repeated = [n for n, count in zip(neighbors, times, strict=True) for _ in range(count)]
        return sorted(repeated, key=lambda n: rank[n])

    truth.samplings = [children] * len(truth.samplings)
    return truth


def expected(truth, graph):
    """Every neighbour is a context, in both roles; an isolated node is its own."""
    rows = []
    for node in range(graph.num_nodes):
        contexts = graph.neighbors(node).tolist() or [node]
        roles = [[truth.dual(node, c)[0], truth.dual(c, node)[1]] for c in contexts]
        rows.append(np.mean(roles, axis=(0, 1)))
    return np.array(rows)


def embed(model, graph, **options):
    return embed_full_neighborhood(model, graph, graph.features, progress=False, **options)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("aggregator", ["mean", "pool", "lstm"])
@pytest.mark.parametrize("name", engine.MODELS)
def test_it_equals_the_algorithms_on_whole_neighbourhoods(name, aggregator, sparse):
    model = engine.small_model(name, aggregator=aggregator)
    graph = engine.small_graph(sparse=sparse)
    want = expected(truth_of(model, graph), graph)
    np.testing.assert_allclose(embed(model, graph), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("fanouts", [(3,), (2, 2, 2)], ids=["one layer", "three layers"])
@pytest.mark.parametrize("normalize", ["encoder", "both", "none"])
def test_depth_and_normalisation_are_the_models_own(fanouts, normalize):
    model = engine.small_model("cade_ma", fanouts=fanouts, normalize=normalize)
    graph = engine.small_graph()
    want = expected(truth_of(model, graph), graph)
    np.testing.assert_allclose(embed(model, graph), want, rtol=1e-4, atol=1e-5)


def test_with_the_tanh_score_every_neighbour_is_a_context(monkeypatch):
    monkeypatch.setattr(full_neighborhood, "CHUNK_PAIRS", 5)
    model = engine.small_model("cade_ma", attention_score="tanh")
    graph = engine.small_graph()
    want = expected(truth_of(model, graph), graph)
    np.testing.assert_allclose(embed(model, graph), want, rtol=1e-4, atol=1e-5)


def test_edge_weights_weigh_the_mean():
    rng = np.random.default_rng(1)
    edges = rng.integers(8, size=(14, 2))
    graph = Graph.from_edges(
        edges,
        num_nodes=9,
        features=rng.normal(size=(9, engine.WIDTH)),
        edge_weights=rng.integers(1, 4, len(edges)),
    )
    model = engine.small_model("cade_gb")
    truth = truth_of(model, graph)
    want = [truth.dual(node, node)[0] for node in range(9)]
    np.testing.assert_allclose(embed(model, graph), want, rtol=1e-4, atol=1e-5)


def test_unseen_nodes_have_no_bias():
    known = np.where(np.arange(engine.NODES) % 2, -1, np.arange(engine.NODES) // 2)
    model = engine.small_model("cade_gb", num_known=6)
    graph = engine.small_graph()
    want = expected(truth_of(model, graph, known), graph)
    np.testing.assert_allclose(embed(model, graph, bias_rows=known), want, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("aggregator", ["mean", "pool", "lstm"])
def test_neither_chunks_nor_where_arrays_lie_change_the_answer(aggregator, monkeypatch):
    model = engine.small_model("cade_ma", aggregator=aggregator)
    graph = engine.small_graph()
    whole = embed(model, graph)
    monkeypatch.setattr(full_neighborhood, "MEMORY_BYTES", 16)
    monkeypatch.setattr(full_neighborhood, "CHUNK_EDGES", 3)
    assert isinstance(full_neighborhood.scratch_array((3, 3)), np.memmap)
    np.testing.assert_allclose(embed(model, graph, chunk_nodes=2), whole, rtol=1e-4, atol=1e-5)


def test_shares_are_the_chances_of_a_draw():
    shares = neighbor_shares(engine.small_graph(weighted=True))
    np.testing.assert_allclose(shares.sum(axis=1), 1, rtol=1e-6)
    assert shares[[engine.ISOLATED], [engine.ISOLATED]] == 1


def test_many_draws_come_close_to_the_whole_neighbourhood():
    """Linear layers make the mean of samplings the mean of all neighbours."""
    model = engine.small_model(
        "graphsage", activation="linear", normalize="none", fanouts=(400, 400)
    )
    graph = engine.small_graph()
    sampled = embed_all_nodes(
        model,
        make_graph_tables(graph, graph.features),
        walks=3,
        walk_length=2,
        seed=0,
        progress=False,
    )
    np.testing.assert_allclose(sampled, embed(model, graph), atol=0.15)
    assert not np.allclose(sampled, embed(model, graph), atol=1e-6)
