"""The attentions equal Algorithm 2 in NumPy, and the factorised form equals the literal one."""

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.errors import InputError
from cade_tf.layers.bi_attention import (
    DotProductBiAttention,
    TanhBiAttention,
    VectorBiAttention,
    affinities,
    attend,
)
from tests import engine, oracle

PAIRS, NEGATIVES, K, DIM = 5, 3, 4, 6


def candidates(*shape, seed):
    values = np.random.default_rng(seed).normal(size=(*shape, K, DIM))
    return values.astype(np.float32)


def made(kind, temperature):
    """A layer with random weights, and its score as the oracle takes it."""
    layer = kind(temperature=temperature)
    layer.build((None, K, DIM), (None, K, DIM))
    engine.randomize(layer)
    if kind is DotProductBiAttention:
        return layer, oracle.dot_score(temperature)
    if kind is VectorBiAttention:
        return layer, oracle.vector_score(layer.vector.numpy().reshape(-1), temperature)
    return layer, engine.tanh_score(layer)


@pytest.mark.parametrize("temperature", [1.0, 0.3])
@pytest.mark.parametrize("kind", [DotProductBiAttention, VectorBiAttention, TanhBiAttention])
def test_an_attention_equals_algorithm_2(kind, temperature):
    layer, score = made(kind, temperature)
    nodes, partners = candidates(PAIRS, seed=1), candidates(PAIRS, seed=2)
    got = layer(nodes, partners)
    for pair in range(PAIRS):
        z_v, z_p, similarity = oracle.dual_encode(nodes[pair], partners[pair], score)
        np.testing.assert_allclose(got.nodes[pair], z_v, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(got.partners[pair], z_p, rtol=1e-4, atol=1e-5)
        np.testing.assert_allclose(got.attention[pair], similarity, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("kind", [VectorBiAttention, TanhBiAttention])
def test_support_embeddings_equal_a_dual_encoding_of_each_node_with_each_negative(kind, shared):
    layer, score = made(kind, 0.7)
    nodes = candidates(PAIRS, seed=1)
    negatives = candidates(*([NEGATIVES] if shared else [PAIRS, NEGATIVES]), seed=3)
    support, others = layer.support(tf.constant(nodes), tf.constant(negatives))
    got = affinities(support, others).numpy()
    assert got.shape == (PAIRS, NEGATIVES)
    for pair in range(PAIRS):
        for place in range(NEGATIVES):
            negative = negatives[place] if shared else negatives[pair, place]
            z_v, z_n, _ = oracle.dual_encode(nodes[pair], negative, score)
            np.testing.assert_allclose(got[pair, place], z_v @ z_n, rtol=1e-4, atol=1e-5)


def test_the_factorised_attention_equals_the_softmax_of_all_k_by_k_scores():
    layer, _ = made(VectorBiAttention, 1.0)
    nodes, partners = candidates(PAIRS, seed=1), candidates(PAIRS, seed=2)
    left, right = layer.vector.numpy()
    scores = (nodes @ left)[:, :, None] + (partners @ right)[:, None, :]
    literal = attend(tf.constant(nodes), tf.constant(partners), tf.constant(scores))
    for mine, truth in zip(layer(nodes, partners), literal, strict=True):
        np.testing.assert_allclose(mine, truth, rtol=1e-5, atol=1e-6)


def test_only_the_tanh_score_lets_the_attention_of_a_node_depend_on_its_partner():
    nodes = candidates(PAIRS, seed=1)
    first, second = candidates(PAIRS, seed=2), candidates(PAIRS, seed=3)
    linear, _ = made(VectorBiAttention, 1.0)
    np.testing.assert_array_equal(linear(nodes, first).nodes, linear(nodes, second).nodes)
    tanh, _ = made(TanhBiAttention, 1.0)
    assert np.abs(tanh(nodes, first).nodes - tanh(nodes, second).nodes).max() > 1e-3


def test_scores_of_any_size_leave_the_softmax_finite():
    nodes = tf.constant(candidates(PAIRS, seed=1) * 1e4)
    for layer in (DotProductBiAttention(), VectorBiAttention()):
        pair = layer(nodes, nodes)
        np.testing.assert_allclose(tf.reduce_sum(pair.attention, [1, 2]), 1.0, rtol=1e-5)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("kind", [VectorBiAttention, TanhBiAttention])
def test_support_trains_the_candidates_but_exactly_none_of_the_attention(kind, shared):
    layer, _ = made(kind, 1.0)
    nodes = tf.constant(candidates(PAIRS, seed=1))
    negatives = tf.constant(candidates(*([NEGATIVES] if shared else [PAIRS, NEGATIVES]), seed=3))
    with tf.GradientTape() as tape:
        tape.watch([nodes, negatives])
        total = tf.reduce_sum(affinities(*layer.support(nodes, negatives)))
    weights = [weight.value for weight in layer.weights]
    of_nodes, of_negatives, *of_weights = tape.gradient(total, [nodes, negatives, *weights])
    assert np.abs(of_nodes).max() > 0
    assert np.abs(of_negatives).max() > 0
    assert of_weights == [None] * len(weights)


def test_a_temperature_must_be_positive():
    with pytest.raises(InputError, match="temperature: expected a number above 0, received 0"):
        DotProductBiAttention(temperature=0)
