"""What requests are answered with, checked against the paper's algorithms."""

import numpy as np
import pytest
import scipy.sparse as sp
import tensorflow as tf

from cade_tf.config import FeatureOptions
from cade_tf.graph.features import FeatureTransform
from cade_tf.graph.graph import Graph
from cade_tf.graph.structure import structural_features
from cade_tf.inference.on_demand import BLOCK, embed_nodes
from cade_tf.sampling import random
from cade_tf.sampling.tables import SparseTable, TensorTable
from cade_tf.serving.encoder_module import EncoderModule
from cade_tf.serving.feature_scaling import FeatureScaling
from cade_tf.serving.graph_module import GraphModule
from cade_tf.serving.known_ids import KnownIds
from cade_tf.serving.new_nodes import ExtendedSparseTable, ExtendedTable
from tests import engine
from tests.serving import serving_examples as examples

TOLERANCE = {"rtol": 1e-4, "atol": 1e-5}


def truth_with_new_node(module, graph, features, neighbors):
    """The oracle on a graph whose draws have one outcome; the new node comes after the rest."""
    model, preparation = module.model, module.model.preparation
    tables = model.tables(graph)
    known = preparation.bias_rows(graph)
    truth = engine.OracleModel(model, tables, graph, random.make_key(0, 0), known)
    scaled = preparation.transform.apply(graph.features)
    scaled = scaled if isinstance(scaled, np.ndarray) else scaled.toarray()
    truth.features = np.vstack([scaled, FeatureScaling(preparation.transform)(features)])
    if truth.bias is not None:
        truth.bias = np.vstack([truth.bias, np.zeros(model.dim)])

    def only_neighbor(node):
        if node == graph.num_nodes:
            return neighbors[0] if neighbors else node
        found = graph.neighbors(node)
        return int(found[0]) if len(found) else node

    fanouts = model.fanouts

    def children(level, node):
        return [only_neighbor(node)] * fanouts[level]

    truth.samplings = [children] * len(truth.samplings)
    return truth, only_neighbor


def expected(truth, only_neighbor, node):
    contexts, place = [], node
    for _ in range(examples.WALK_LENGTH):
        place = only_neighbor(place)
        contexts.append(place)
    contexts = [c for c in contexts if c != node] or [node]
    return np.mean([(truth.dual(node, c)[0] + truth.dual(c, node)[1]) / 2 for c in contexts], 0)


@pytest.mark.parametrize(
    ("name", "sparse"),
    [("cade_ms", False), ("cade_ma", True), ("cade_gb", True)],
)
def test_known_and_new_nodes_are_embedded_by_the_paper_s_algorithms(name, sparse):
    graph = examples.pairs_graph(sparse=sparse, weighted=sparse)
    module = GraphModule(examples.make_model(name, graph), graph, walks=2)
    features = np.random.default_rng(1).normal(size=(2, engine.WIDTH)).astype(np.float32)
    weights = {"neighbor_weights": tf.constant([2.0])} if sparse else {}
    got = module.functions["embed_new"](
        features=tf.constant(features),
        neighbor_row_splits=tf.constant([0, 1, 1], tf.int64),
        neighbor_ids=examples.ids(graph, 3),
        **weights,
    )["embeddings"]
    for row, neighbors in enumerate([[3], []]):
        truth, neighbor = truth_with_new_node(module, graph, features[row : row + 1], neighbors)
        np.testing.assert_allclose(got[row], expected(truth, neighbor, 11), **TOLERANCE)
    known = module.functions["serving_default"](examples.ids(graph, 10, 0, 7))["embeddings"]
    for row, node in enumerate([10, 0, 7]):
        np.testing.assert_allclose(known[row], expected(truth, neighbor, node), **TOLERANCE)


@pytest.mark.parametrize("name", engine.MODELS)
def test_a_tree_that_is_sent_equals_the_same_tree_sampled_here(name):
    graph = engine.small_graph()
    model = engine.prepared_model(name, graph)
    tables, key = model.tables(graph), random.make_key(2, 2)
    draws = [engine.drawn_children(tables, model.fanouts, key, s) for s in range(model.samplings)]
    roots = [3, engine.ISOLATED]
    first = np.array([[draw(0, root) for draw in draws] for root in roots])
    second = np.array(
        [
            [[draw(1, node) for node in first[r, s]] for s, draw in enumerate(draws)]
            for r in range(2)
        ]
    )
    if not model.samplings_by_k:
        first, second = first[:, 0], second[:, 0]
    hops = [tf.constant(examples.raw(graph, nodes)) for nodes in (roots, first, second)]
    functions = EncoderModule(model).functions
    if model.bias is None:
        assert "encode_tree_with_bias" not in functions
        answer = functions["encode_tree"](*hops)
    else:
        bias = [tf.gather(model.bias.table.value, nodes) for nodes in (roots, first)]
        answer = functions["encode_tree_with_bias"](*hops, *bias)
        plain = functions["encode_tree"](*hops)["candidates"]
        assert not np.allclose(plain, answer["candidates"])
    want = engine.candidates(model, tables, roots, key)
    np.testing.assert_allclose(answer["candidates"], want, **TOLERANCE)
    pair = functions["attend_pair"](answer["candidates"], answer["candidates"])
    both = (pair["node_embeddings"] + pair["partner_embeddings"]) / 2
    np.testing.assert_allclose(answer["embeddings"], both, **TOLERANCE)


def test_an_answer_depends_neither_on_its_company_nor_on_blocks():
    graph = engine.small_graph()
    model = engine.small_model("cade_ms")
    tables = engine.small_tables()

    def embed(nodes, seed=1):
        nodes = tf.constant(nodes, tf.int64)
        return embed_nodes(model, tables, nodes, seed, walks=3, walk_length=3).numpy()

    everyone = list(range(graph.num_nodes))
    many = embed(everyone * (2 * BLOCK // graph.num_nodes + 1))
    assert len(many) > BLOCK
    alone = np.concatenate([embed([node]) for node in everyone])
    np.testing.assert_allclose(many[: len(alone)], alone, **TOLERANCE)
    np.testing.assert_allclose(many[-len(alone) :], alone, **TOLERANCE)
    assert embed([]).shape == (0, engine.DIM)
    assert not np.allclose(embed(everyone, seed=2), alone)


@pytest.mark.parametrize(
    "scaling", ["standard", "log", "tfidf", "log_tfidf", "row", "standard_row", "none"]
)
@pytest.mark.parametrize("svd", [0, 2])
def test_scaling_inside_the_graph_equals_the_transform(scaling, svd):
    features = np.random.default_rng(0).poisson(1.0, size=(20, 6)).astype(np.float32)
    options = FeatureOptions(feature_scaling=scaling, feature_svd=svd)
    transform = FeatureTransform.fit(features, options)
    others = np.vstack([features[:3] * 2, np.zeros((1, 6), np.float32)])
    got = FeatureScaling(transform)(tf.constant(others))
    np.testing.assert_allclose(got, transform.apply(others), rtol=1e-5, atol=1e-6)


def test_scaling_names_its_input():
    scaling = FeatureScaling(FeatureTransform(scaling="log", input_width=1))
    with pytest.raises(tf.errors.InvalidArgumentError, match="hop_1: expected counts"):
        scaling(tf.constant([[-1.0]]), "hop_1")
    with pytest.raises(tf.errors.InvalidArgumentError, match="hop_1: expected finite"):
        scaling(tf.constant([[np.nan]]), "hop_1")


@pytest.mark.parametrize(
    "ids", [np.array([30, -4, 10, 2**62]), np.array(["b", "", "ä", "b c"])], ids=["int", "text"]
)
def test_ids_are_found_and_unknown_ones_named(ids):
    known = KnownIds(ids)
    got = known.positions("node_ids", tf.constant(ids[[2, 0, 0, 3, 1]].tolist(), known.dtype))
    assert got.numpy().tolist() == [2, 0, 0, 3, 1]
    unknown = "nobody" if ids.dtype.kind == "U" else 77
    asked = tf.constant([ids[0].item(), unknown], known.dtype)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=rf"partners: .*unknown[\s\S]*{unknown}"
    ):
        known.positions("partners", asked)


def test_rows_of_requests_come_after_those_of_a_table():
    rows = np.arange(6.0, dtype=np.float32).reshape(3, 2)
    extra = tf.constant([[7.0, 0.0], [0.0, 9.0]])
    asked = tf.constant([4, 0, 3, 2, 4])
    want = np.vstack([rows, extra])[asked]
    dense = ExtendedTable(TensorTable(rows), extra)
    np.testing.assert_array_equal(dense.lookup(asked), want)
    sparse = ExtendedSparseTable(SparseTable(sp.csr_array(rows)), extra)
    np.testing.assert_array_equal(tf.sparse.to_dense(sparse.lookup(asked)), want)
    for table in (dense, sparse):
        matrix, position = table.compact(asked)
        matrix = tf.sparse.to_dense(matrix) if isinstance(matrix, tf.SparseTensor) else matrix
        np.testing.assert_array_equal(tf.gather(matrix, position), want)
    nothing = ExtendedTable(TensorTable(rows), tf.zeros([0, 2]))
    np.testing.assert_array_equal(nothing.lookup(tf.constant([1])), rows[[1]])


@pytest.mark.parametrize("weighted", [False, True])
def test_a_model_of_structure_needs_no_features_in_requests(weighted):
    edges = [[0, 1], [1, 2], [2, 3], [3, 0], [3, 4]]
    weights = [1.0, 2.0, 0.5, 1.0, 3.0] if weighted else None
    graph = Graph.from_edges(edges, edge_weights=weights)
    model = engine.prepared_model("graphsage", graph, walk_length=2, fanouts=(2, 2))
    assert model.preparation.structural
    module = GraphModule(model, graph)
    # A new node with the neighbours of a known one is where that one is.
    splits, neighbors = tf.constant([0, 2, 2], tf.int64), tf.constant([0, 2], tf.int64)
    shares = tf.constant([1.0, 2.0]) if weighted else None
    expected = structural_features(graph)
    got = module._structural_features(splits, neighbors, shares)
    np.testing.assert_allclose(got[0], expected[1], **TOLERANCE)
    np.testing.assert_array_equal(got[1], np.zeros_like(expected[0]))
    request = (splits, neighbors, *(() if shares is None else (shares,)))
    vectors = module.functions["embed_new"](*request)["embeddings"]
    assert np.isfinite(vectors).all()
    assert not np.allclose(vectors[1], vectors[0])
