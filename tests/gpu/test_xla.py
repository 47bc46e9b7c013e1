"""What has fixed shapes compiles with XLA, and gives the numbers that it gives without."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from cade_tf.config import AGGREGATORS
from cade_tf.layers import SAGB, DualENC
from cade_tf.layers.aggregators import make_aggregator
from cade_tf.layers.parallel_dense import ParallelDense
from cade_tf.layers.sage_layer import SageLayer
from cade_tf.losses import PairLoss, SoftmaxLoss
from cade_tf.optimizers import Adam

PAIRS, K, WIDTH, DIM = 6, 3, 5, 4


def normal(*shape):
    return tf.constant(np.random.default_rng(len(shape)).normal(size=shape), tf.float32)


def assert_equal_with_xla(function, *inputs):
    """Outputs agree; and so do gradients, where the inputs are floats."""

    def with_gradients(*given):
        with tf.GradientTape() as tape:
            tape.watch(given)
            outputs = tf.nest.flatten(function(*given))
            total = tf.add_n([tf.reduce_sum(tf.square(output)) for output in outputs])
        return outputs, tape.gradient(total, given)

    plain, compiled = (
        tf.nest.flatten(tf.function(with_gradients, autograph=False, jit_compile=jit)(*inputs))
        for jit in (False, True)
    )
    assert len(plain) == len(compiled)
    for mine, theirs in zip(compiled, plain, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("attention", ["dot", "vector", "tanh"])
def test_dual_encoder(attention):
    layer = DualENC(attention)
    candidates = normal(PAIRS, K, DIM)
    layer(candidates, candidates)

    def encode(nodes, partners, negatives):
        pair = layer(nodes, partners)
        return *pair, layer.negative_affinities(nodes, pair, negatives)

    assert_equal_with_xla(encode, candidates, normal(PAIRS, K, DIM) + 1.0, normal(2, K, DIM))


@pytest.mark.parametrize("sets", [1, K])
def test_dense_layers(sets):
    layer = ParallelDense(DIM, parameter_sets=sets, use_bias=True)
    layer.build((None, WIDTH))
    assert_equal_with_xla(layer, normal(PAIRS, WIDTH))


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_what_a_layer_does_once_children_are_aggregated(aggregator):
    layer = SageLayer(DIM, aggregator=aggregator, parameter_sets=K, activation="tanh")
    layer.build((None, K, WIDTH), ((None, 2),))
    aggregated = layer.kernel.shape[1] - WIDTH
    assert_equal_with_xla(layer.finish, normal(PAIRS, K, WIDTH), normal(PAIRS, K, aggregated))


@pytest.mark.parametrize("aggregator", ["pool", "lstm"])
def test_what_an_aggregator_does_to_each_child(aggregator):
    layer = make_aggregator(aggregator, parameter_sets=K)
    layer.build((None, WIDTH), (None, 2))
    assert_equal_with_xla(layer.transform, normal(PAIRS, WIDTH))


@pytest.mark.parametrize("loss", [PairLoss(), PairLoss(3.0, temperature=0.5), SoftmaxLoss()])
def test_losses(loss):
    truth = tf.one_hot([0] * PAIRS, 5)
    assert_equal_with_xla(lambda scores: [loss(truth, scores)], normal(PAIRS, 5))


@pytest.mark.parametrize("aggregator", AGGREGATORS)
def test_keras_is_told_that_xla_cannot_compile_the_encoder(aggregator):
    hops = [keras.Input([WIDTH]), keras.Input([3, WIDTH]), keras.Input([3, 2, WIDTH])]
    model = keras.Model(hops, SAGB(DIM, aggregator=aggregator)(hops))
    with pytest.warns(UserWarning, match="doesn't support `jit_compile=True`"):
        model.compile(loss="mse", jit_compile=True)


def test_the_update_of_dense_weights():
    start, gradient = normal(PAIRS, DIM), normal(DIM)
    found = []
    for jit in (False, True):
        weight = keras.Variable(start)
        optimizer = Adam(0.1, weight_decay=0.01)
        optimizer.build([weight])

        @tf.function(autograph=False, jit_compile=jit)
        def update():
            for _ in range(3):
                optimizer.apply([gradient * weight], [weight])  # noqa: B023

        update()
        found.append([weight.numpy(), *(v.numpy() for v in optimizer.variables)])
    for mine, theirs in zip(*found, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-4, atol=1e-6)
