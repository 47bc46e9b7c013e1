"""SAGB and its aggregators equal Algorithm 3 in NumPy, given the same draws and weights."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.errors import InputError
from cade_tf.layers.aggregators import gather_mean, make_aggregator
from cade_tf.layers.parallel_dense import ParallelDense
from cade_tf.layers.recurrence import last_states
from cade_tf.layers.sagb import SAGB
from cade_tf.layers.sage_layer import SageLayer
from cade_tf.layers.sparse_ops import (
    SelfAndMean,
    block_diagonal,
    first_rows,
    gather_max,
    sparse_matmul,
)
from cade_tf.sampling import random
from cade_tf.sampling.neighborhood import sample_neighborhood
from cade_tf.sampling.trees import Trees
from tests import engine, oracle

COMPARED = [0, 4, engine.ISOLATED]
FANOUTS = {1: (3,), 2: (3, 2), 3: (2, 3, 2)}


def trees_of_all_nodes(tables, fanouts, key):
    """Inputs of SAGB whose roots are all nodes of the graph, in their order."""
    roots = tf.range(engine.NODES)
    trees = sample_neighborhood(tables, roots, tf.zeros_like(roots), fanouts, key)
    return Trees(
        tables.features.lookup(roots),
        trees.nodes,
        trees.child_nodes,
        trees.child_positions,
        bias_index=trees.nodes,
    )


def encode_both_ways(sagb, fanouts, *, sparse=False, with_bias=False):
    """[some nodes, K, dim] by the layer and by the oracle."""
    graph, tables = engine.small_graph(sparse=sparse), engine.small_tables(sparse=sparse)
    key = random.make_key(1, random.Stream.NEIGHBOR)
    bias = np.random.default_rng(2).normal(size=(engine.NODES, engine.DIM)) if with_bias else None
    trees = trees_of_all_nodes(tables, fanouts, key)
    values = None if bias is None else tf.constant(bias, tf.float32)
    sagb(trees, bias=values)
    engine.randomize(sagb)
    expected = [
        oracle.encode_ma(
            node,
            layer_sets=engine.layer_sets(sagb),
            features=engine.dense_features(graph),
            children=engine.drawn_children(tables, fanouts, key),
            bias=bias,
            activation=sagb.activation,
            last_activation=sagb.last_activation,
        )
        for node in COMPARED
    ]
    return sagb(trees, bias=values).numpy()[COMPARED], np.stack(expected)


@pytest.mark.parametrize(
    ("aggregator", "depth", "parameter_sets"),
    list(itertools.product(("mean", "pool", "lstm"), (1, 2, 3), (1, 3))),
)
@pytest.mark.parametrize("sparse", [False, True])
def test_sagb_equals_algorithm_3(aggregator, depth, parameter_sets, sparse):
    sagb = SAGB(engine.DIM, depth=depth, aggregator=aggregator, parameter_sets=parameter_sets)
    for with_bias in (False, True):
        got, expected = encode_both_ways(sagb, FANOUTS[depth], sparse=sparse, with_bias=with_bias)
        np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("activation", ["elu", "tanh", "linear"])
@pytest.mark.parametrize("last_activation", ["relu", "elu", "tanh"])
def test_activations_of_hidden_and_last_layers(activation, last_activation):
    sagb = SAGB(engine.DIM, activation=activation, last_activation=last_activation)
    got, expected = encode_both_ways(sagb, (3, 2), with_bias=True)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_one_round_by_hand():
    layer = SageLayer(2)
    rows = tf.constant([[1.0], [2.0], [6.0]])
    layer(rows, (tf.constant([[1, 2]]),), tf.constant([0]))
    layer.kernel.assign([[[1.0, -1.0], [10.0, 0.5]]])
    # own 1, mean of the children 4: [1 + 40, -1 + 2]
    got = layer(rows, (tf.constant([[1, 2]]),), tf.constant([0]))
    np.testing.assert_array_equal(got, [[[41.0, 1.0]]])


def test_the_bias_is_added_after_the_activation_and_not_in_the_last_layer():
    sagb = SAGB(1, depth=2)
    tree = Trees(
        tf.constant([[-5.0], [-7.0]]),
        tf.constant([0, 1]),
        (tf.constant([[1]]), tf.constant([[0]])),
        (tf.constant([[1]]),),
        bias_index=tf.constant([0, 1]),
    )
    bias = tf.constant([[-2.0], [3.0]])
    sagb(tree, bias=bias)
    for round_ in sagb.rounds:
        round_.kernel.assign([[[1.0], [1.0]]])
    # relu makes both hidden values 0, so that only the biases are left to be added up
    assert float(sagb(tree, bias=bias)[0, 0, 0]) == 1.0


@pytest.mark.parametrize("kind", ["mean", "pool", "lstm"])
@pytest.mark.parametrize("own_rows", [False, True])
def test_an_aggregator_equals_the_oracle_for_each_parameter_set(kind, own_rows):
    rng = np.random.default_rng(5)
    sets, width = 3, 4
    values = rng.normal(size=(6, sets, width) if own_rows else (6, width)).astype(np.float32)
    index = rng.integers(6, size=(7, 5))
    layer = make_aggregator(kind, parameter_sets=sets)
    layer(values, tf.constant(index))
    engine.randomize(layer)
    got = layer(values, tf.constant(index)).numpy()
    round_ = type("Round", (), {"aggregate": layer, "aggregator": kind})
    for k in range(sets):
        rows = values[:, k] if own_rows else values
        mine = got if got.ndim == 2 else got[:, k]
        for place, children in enumerate(index):
            expected = engine._aggregate(round_, k)(rows[children])
            np.testing.assert_allclose(mine[place], expected, rtol=1e-4, atol=1e-5)


def test_the_lstm_depends_on_the_order_of_children_and_the_others_do_not():
    values = tf.constant(np.random.default_rng(0).normal(size=(4, 3)), tf.float32)
    there, back = tf.constant([[0, 1, 2]]), tf.constant([[2, 0, 1]])
    for kind in ("mean", "pool"):
        layer = make_aggregator(kind)
        np.testing.assert_allclose(layer(values, there), layer(values, back), rtol=1e-5)
    lstm = make_aggregator("lstm")
    assert np.abs(lstm(values, there) - lstm(values, back)).max() > 1e-3


@pytest.mark.parametrize("stacked", [False, True])
@pytest.mark.parametrize("shape", [(5, 4), (5, 2, 3)])
def test_self_and_mean_and_their_gradient_are_those_of_plain_gathers(shape, stacked):
    values = tf.constant(np.random.default_rng(0).normal(size=shape))
    own = tf.constant([3, 0, 3])
    children = (tf.constant([[0, 4], [4, 4]]), tf.constant([[1, 2, 0]]))

    def plain(values):
        means = [tf.reduce_mean(tf.gather(values, index), axis=1) for index in children]
        both = [tf.gather(values, own), tf.concat(means, axis=0)]
        return tf.stack(both, axis=1) if stacked else both[0] + both[1]

    def scored(function):
        with tf.GradientTape() as tape:
            tape.watch(values)
            outputs = function(values)
            weights = tf.range(tf.size(outputs), dtype=tf.float64)
            score = tf.reduce_sum(weights * tf.reshape(outputs, [-1]))
        return outputs, tape.gradient(score, values)

    expected = scored(plain)
    got = scored(SelfAndMean(own, children, values.dtype, stacked=stacked))
    half = SelfAndMean(own, children, tf.bfloat16, stacked=stacked)(tf.cast(values, tf.bfloat16))
    np.testing.assert_allclose(tf.cast(half, tf.float64), expected[0], atol=0.05)
    for mine, theirs in zip(got, expected, strict=True):
        np.testing.assert_allclose(mine, tf.convert_to_tensor(theirs), rtol=1e-6)


def test_sparse_rows_times_matrices_one_on_the_other():
    rng = np.random.default_rng(0)
    first, second = (rng.normal(size=(n, 4)) * (rng.random((n, 4)) < 0.5) for n in (3, 5))
    top, bottom = rng.normal(size=(2, 4, 2))
    kernels = [tf.constant(np.concatenate(both)) for both in ((top, bottom), (bottom, top))]
    both = block_diagonal(tf.sparse.from_dense(first), tf.sparse.from_dense(second))
    with tf.GradientTape() as tape:
        tape.watch(kernels)
        products = sparse_matmul(both, kernels)
        score = tf.add_n([tf.reduce_sum(product**2) for product in products])
    expected = [np.concatenate([first @ top, second @ bottom])]
    expected.append(np.concatenate([first @ bottom, second @ top]))
    dense = tf.sparse.to_dense(both).numpy()
    for product, truth in zip(products, expected, strict=True):
        np.testing.assert_allclose(product, truth)
    for found, product in zip(tape.gradient(score, kernels), expected, strict=True):
        np.testing.assert_allclose(found, dense.T @ (2 * product))


@pytest.mark.parametrize("count", [0, 2, 4])
def test_first_rows_of_a_sparse_matrix_with_empty_rows(count):
    rows = np.array([[1.0, 0.0], [0.0, 0.0], [2.0, 3.0], [0.0, 0.0]])
    found = tf.sparse.to_dense(first_rows(tf.sparse.from_dense(rows), tf.constant(count)))
    np.testing.assert_array_equal(found, rows[:count])


def test_gather_mean_of_many_axes():
    values = np.random.default_rng(0).normal(size=(5, 2, 3))
    index = np.array([[0, 4], [4, 4], [1, 2]])
    np.testing.assert_allclose(
        gather_mean(tf.constant(values), tf.constant(index)), values[index].mean(axis=1)
    )


def test_parallel_dense_equals_a_loop_over_its_maps():
    layer = ParallelDense(4, parameter_sets=3, use_bias=True)
    rng = np.random.default_rng(0)
    shared = rng.normal(size=(5, 2)).astype(np.float32)
    layer(shared)
    engine.randomize(layer)
    kernel, bias = layer.kernel.numpy(), layer.bias.numpy()
    own = rng.normal(size=(5, 3, 2)).astype(np.float32)
    for k in range(3):
        np.testing.assert_allclose(layer(shared)[:, k], shared @ kernel[k] + bias[k], rtol=1e-5)
        np.testing.assert_allclose(layer(own)[:, k], own[:, k] @ kernel[k] + bias[k], rtol=1e-5)
    sparse = tf.sparse.from_dense(shared)
    np.testing.assert_allclose(layer(sparse), layer(shared), rtol=1e-5)


def test_parallel_maps_start_with_different_kernels_of_their_own_scale():
    layer = ParallelDense(50, parameter_sets=8)
    layer.build((None, 100))
    kernel = layer.kernel.numpy()
    limit = np.sqrt(6 / 150)
    assert np.abs(kernel).max() <= limit
    np.testing.assert_allclose(kernel.std(axis=(1, 2)), limit / np.sqrt(3), rtol=0.05)
    assert abs(np.corrcoef(kernel[0].ravel(), kernel[1].ravel())[0, 1]) < 0.05


def test_wrong_settings_name_the_argument():
    with pytest.raises(InputError, match="aggregator: expected one of mean, pool, lstm"):
        SAGB(4, aggregator="sum")
    with pytest.raises(InputError, match="units, parameter_sets: expected at least 1"):
        ParallelDense(0)


def test_a_maximum_is_that_of_plain_gathers_and_children_that_tie_share_its_gradient():
    values = tf.constant([[1.0, 5.0], [3.0, 5.0], [2.0, 0.0]])
    index = tf.constant([[0, 1, 1], [2, 2, 2]])
    with tf.GradientTape() as tape:
        tape.watch(values)
        found = gather_max(values, index)
    np.testing.assert_array_equal(found, values.numpy()[index].max(axis=1))
    # The first node drew row 1 twice, which counts once.
    expected = [[0.0, 0.5], [1.0, 0.5], [1.0, 1.0]]
    np.testing.assert_array_equal(tape.gradient(found, values), expected)


def test_states_of_an_lstm_and_their_gradients_are_those_of_the_unrolled_loop():
    rng = np.random.default_rng(3)
    inputs, kernel = (tf.constant(rng.normal(size=shape)) for shape in ((2, 4, 12), (2, 3, 12)))
    index = tf.constant(rng.integers(4, size=(5, 4)))

    def unrolled():
        state = memory = tf.zeros([2, 5, 3], tf.float64)
        for position in range(4):
            gates = tf.gather(inputs, index[:, position], axis=1) + state @ kernel
            enter, forget, candidate, leave = tf.split(gates, 4, axis=-1)
            memory = tf.sigmoid(forget) * memory + tf.sigmoid(enter) * tf.tanh(candidate)
            state = tf.sigmoid(leave) * tf.tanh(memory)
        return state

    def scored(function):
        with tf.GradientTape() as tape:
            tape.watch([inputs, kernel])
            states = function()
            score = tf.reduce_sum(tf.sin(states))
        return [states, *tape.gradient(score, [inputs, kernel])]

    got = scored(lambda: last_states(inputs, index, kernel))
    for mine, expected in zip(got, scored(unrolled), strict=True):
        np.testing.assert_allclose(mine, expected, rtol=1e-10)
