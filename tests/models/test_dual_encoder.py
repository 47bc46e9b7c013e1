"""Candidates, dual representations and losses of the four models equal the oracle."""

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.config import Config
from cade_tf.models.dual_encoder import unit
from cade_tf.models.factory import make_model
from cade_tf.sampling import random
from tests import engine

NODE_LIST = [[3, 0, engine.ISOLATED], [3, 7, 10]]
PAIR_NODES, PAIR_PARTNERS = [0, 3, 0, 7, engine.ISOLATED], [1, 3, 5, 2, 0]
VALID = [True, False, True, True, True]
SHARED_NEGATIVES = [4, 0, 4]
OWN_NEGATIVES = [[4, 0], [1, 1], [engine.ISOLATED, 2], [3, 5], [6, 8]]


def key():
    return random.make_key(4, random.Stream.NEIGHBOR, 2)


def both(name, *, known=None, sparse=False, weighted=False, **options):
    """A model, its graph's tables and the oracle's view of the two."""
    model = engine.small_model(name, **options)
    graph = engine.small_graph(sparse=sparse, weighted=weighted)
    tables = engine.small_tables(sparse=sparse, weighted=weighted, known=known)
    return model, tables, engine.OracleModel(model, tables, graph, key(), known)


@pytest.mark.parametrize("fanouts", [(3,), (3, 2), (2, 2, 3)])
@pytest.mark.parametrize("name", engine.MODELS)
def test_candidates_equal_algorithm_3_for_every_sampling_or_parameter_set(name, fanouts):
    model, tables, truth = both(name, fanouts=fanouts)
    got = engine.candidates(model, tables, NODE_LIST, key()).numpy()
    assert got.shape == (2, 3, 3 if name in ("cade_ms", "cade_ma") else 1, engine.DIM)
    for place, node in np.ndenumerate(NODE_LIST):
        np.testing.assert_allclose(got[place], truth.candidates(node), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("aggregator", ["mean", "pool", "lstm"])
@pytest.mark.parametrize("name", ["cade_ms", "cade_ma"])
def test_candidates_of_sparse_and_weighted_graphs(name, aggregator):
    model, tables, truth = both(name, aggregator=aggregator, sparse=True, weighted=True)
    got = engine.candidates(model, tables, [2, engine.ISOLATED], key()).numpy()
    for place, node in enumerate([2, engine.ISOLATED]):
        np.testing.assert_allclose(got[place], truth.candidates(node), rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("dim", [2, 12])
@pytest.mark.parametrize("name", ["graphsage", "cade_ms"])
def test_a_mean_before_or_after_the_projection_is_the_same(name, dim, sparse):
    model, tables, truth = both(name, dim=dim, sparse=sparse)
    assert model.sagb.project_first == (dim == 2)
    got = engine.candidates(model, tables, [2, 7], key()).numpy()
    for place, node in enumerate([2, 7]):
        np.testing.assert_allclose(got[place], truth.candidates(node), rtol=1e-4, atol=1e-5)


def test_unseen_nodes_have_exactly_no_bias():
    known = np.where(np.arange(engine.NODES) % 2, -1, np.arange(engine.NODES) // 2)
    model, tables, truth = both("cade_gb", known=known, num_known=6)
    got = engine.candidates(model, tables, tf.range(engine.NODES), key()).numpy()
    for node in range(engine.NODES):
        np.testing.assert_allclose(got[node], truth.candidates(node), rtol=1e-4, atol=1e-5)

    everyone_unseen = engine.small_tables(known=np.full(engine.NODES, -1))
    plain = engine.small_model("cade_gb", global_bias=False)
    assert plain.bias is None
    shared = [w for w in model.sagb.weights if w is not model.bias.table]
    for mine, other in zip(plain.sagb.weights, shared, strict=True):
        mine.assign(other)
    np.testing.assert_array_equal(
        engine.candidates(model, everyone_unseen, tf.range(engine.NODES), key()),
        engine.candidates(plain, everyone_unseen, tf.range(engine.NODES), key()),
    )


@pytest.mark.parametrize("negatives", [SHARED_NEGATIVES, OWN_NEGATIVES], ids=["shared", "own"])
@pytest.mark.parametrize("normalize", ["output", "encoder", "both", "none"])
@pytest.mark.parametrize("name", engine.MODELS)
def test_the_loss_of_a_batch_equals_the_equations(name, normalize, negatives):
    model, tables, truth = both(name, normalize=normalize, attention_temperature=0.6)
    scores = engine.scores(model, tables, PAIR_NODES, PAIR_PARTNERS, negatives, key())
    for weight, temperature in ((1.0, 1.0), (3.5, 0.4)):
        terms = engine.pair_terms(scores, VALID, weight, temperature)
        expected = truth.loss(
            PAIR_NODES, PAIR_PARTNERS, negatives, VALID, weight=weight, temperature=temperature
        )
        np.testing.assert_allclose(terms.total, expected, rtol=1e-4)
        np.testing.assert_allclose(terms.total, terms.positive + terms.negative, rtol=1e-6)


@pytest.mark.parametrize("negatives", [SHARED_NEGATIVES, OWN_NEGATIVES], ids=["shared", "own"])
def test_the_loss_with_the_tanh_attention_equals_the_equations(negatives):
    model, tables, truth = both("cade_ma", attention_score="tanh", aggregator="pool")
    scores = engine.scores(model, tables, PAIR_NODES, PAIR_PARTNERS, negatives, key())
    terms = engine.pair_terms(scores, VALID, 2.0, 1.0)
    expected = truth.loss(PAIR_NODES, PAIR_PARTNERS, negatives, VALID, weight=2.0, temperature=1.0)
    np.testing.assert_allclose(terms.total, expected, rtol=1e-4)


@pytest.mark.parametrize("name", engine.MODELS)
def test_scores_of_pairs_are_the_dot_products_of_their_dual_representations(name):
    model, tables, truth = both(name)
    scores = engine.scores(model, tables, PAIR_NODES, PAIR_PARTNERS, SHARED_NEGATIVES, key())
    for place, (v, p) in enumerate(zip(PAIR_NODES, PAIR_PARTNERS, strict=True)):
        z_v, z_p = truth.dual(v, p)
        np.testing.assert_allclose(scores.dual.nodes[place], z_v, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(scores.dual.partners[place], z_p, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(scores.affinities[place, 0], z_v @ z_p, rtol=1e-4, atol=1e-5)


def test_a_node_is_encoded_the_same_wherever_it_stands_in_a_batch():
    model, tables, _ = both("cade_ms")
    alone = engine.candidates(model, tables, [5], key())
    among = engine.candidates(model, tables, [[1, 5], [5, 2]], key())
    np.testing.assert_allclose(among[0, 1], alone[0], rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(among[0, 1], among[1, 0])


def test_another_key_draws_other_neighbourhoods():
    model, tables, _ = both("graphsage")
    nodes = tf.range(engine.NODES)
    mine = engine.candidates(model, tables, nodes, key())
    other = engine.candidates(model, tables, nodes, random.make_key(4, random.Stream.NEIGHBOR, 3))
    assert np.abs(mine - other).max() > 1e-3
    # ... but an isolated node has only itself to draw.
    np.testing.assert_array_equal(mine[engine.ISOLATED], other[engine.ISOLATED])


def test_unit_vectors_have_length_one_and_zero_stays_zero():
    got = unit(tf.constant([[3.0, 4.0], [0.0, 0.0]])).numpy()
    np.testing.assert_allclose(got, [[0.6, 0.8], [0.0, 0.0]], rtol=1e-6)


def test_a_zero_vector_stays_zero_in_half_precision():
    for dtype in (tf.float16, tf.bfloat16):
        got = unit(tf.zeros([1, 4], dtype))
        assert got.dtype == dtype
        np.testing.assert_array_equal(tf.cast(got, tf.float32), np.zeros([1, 4]))


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("cade_ms", {"samplings": 5, "parameter_sets": 1, "bias": True}),
        ("cade_ma", {"samplings": 1, "parameter_sets": 5, "bias": True}),
        ("cade_gb", {"samplings": 1, "parameter_sets": 1, "bias": True}),
        ("graphsage", {"samplings": 1, "parameter_sets": 1, "bias": False}),
    ],
)
def test_each_model_chooses_its_k_and_its_bias(name, parts):
    model = make_model(Config(model=name, k=5, dim=8))
    model.build_for(feature_width=3, num_known=9)
    assert model.samplings == parts["samplings"]
    assert model.parameter_sets == parts["parameter_sets"]
    assert (model.bias is not None) == parts["bias"]
    assert (model.attention is not None) == (name in ("cade_ms", "cade_ma"))
    without = make_model(Config(model=name, k=5, dim=8, global_bias=False))
    without.build_for(feature_width=3, num_known=9)
    assert without.bias is None


def test_the_seed_of_a_model_decides_its_weights():
    def weights(seed):
        model = make_model(Config(model="cade_ma", k=2, dim=8, seed=seed, global_bias=False))
        model.build_for(feature_width=3, num_known=9)
        return [w.numpy() for w in model.weights]

    for one, same, other in zip(weights(1), weights(1), weights(2), strict=True):
        np.testing.assert_array_equal(one, same)
        assert (one != other).any()
