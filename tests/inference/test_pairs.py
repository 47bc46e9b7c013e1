"""Dual representations of a pair, and the draws they are made of."""

import numpy as np
import pytest

from cade_tf.errors import InputError
from cade_tf.inference.agreement import agreement
from cade_tf.inference.on_demand import neighbor_key
from cade_tf.inference.pairs import embed_pair
from tests import engine


@pytest.mark.parametrize("name", engine.MODELS)
def test_a_pair_equals_algorithm_2(name):
    graph = engine.small_graph()
    model = engine.prepared_model(name, graph)
    pair = embed_pair(model, graph, 3, 7, seed=5)
    tables = model.tables(graph)
    truth = engine.OracleModel(model, tables, graph, neighbor_key(5), graph.ids)
    z_v, z_p = truth.dual(3, 7)
    np.testing.assert_allclose(pair.vectors[0], z_v, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(pair.vectors[1], z_p, rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(pair.attention.sum(), 1, rtol=1e-5)
    weighted = np.einsum("k,kd->d", pair.weights[0], truth.candidates(3))
    np.testing.assert_allclose(truth._output(weighted), z_v, rtol=1e-4, atol=1e-5)
    assert pair.cosine == pytest.approx(z_v @ z_p / np.linalg.norm(z_v) / np.linalg.norm(z_p), 1e-4)
    for drawn, node in zip(pair.drawn, (3, 7), strict=True):
        want = [children(0, node) for children in truth.samplings]
        assert [ids.tolist() for ids in drawn] == want


def test_ids_may_be_text_and_unknown_ones_are_named():
    graph = engine.small_graph()
    model = engine.prepared_model("cade_ms", graph)
    first, second = embed_pair(model, graph, "3", "7"), embed_pair(model, graph, 3, 7)
    np.testing.assert_array_equal(first.attention, second.attention)
    with pytest.raises(InputError, match=r"node: .*received 77"):
        embed_pair(model, graph, 3, 77)


def test_agreement_of_embeddings():
    vectors = np.random.default_rng(0).normal(size=(50, 6)).astype(np.float32)
    same = agreement(vectors, vectors)
    assert same.mean_cosine == pytest.approx(1)
    assert same.relative_distance == 0
    turned = agreement(vectors, -2 * vectors)
    assert (turned.mean_cosine, turned.low_cosine) == (pytest.approx(-1), pytest.approx(-1))
    assert turned.relative_distance == pytest.approx(1.5)
    assert "mean cosine -1.0000" in str(turned)
