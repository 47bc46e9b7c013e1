import numpy as np
import pytest
import tensorflow as tf

from cade_tf.layers.aggregators import LSTMAggregator, MaxPoolAggregator, MeanAggregator

ROWS, WIDTH, NODES, FANOUT = 9, 5, 7, 4


@pytest.mark.parametrize("sets", [1, 3])
@pytest.mark.parametrize("kind", [MeanAggregator, MaxPoolAggregator, LSTMAggregator])
def test_what_inference_reduces_is_what_training_reduces(kind, sets):
    rng = np.random.default_rng(0)
    sized = {} if kind is MeanAggregator else {"units": 6}
    aggregate = kind(parameter_sets=sets, **sized)
    values = tf.constant(rng.normal(size=(ROWS, sets, WIDTH)), tf.float32)
    index = tf.constant(rng.integers(0, ROWS, (NODES, FANOUT)))
    aggregate.build(values.shape, index.shape)
    for weight in aggregate.weights:
        weight.assign(rng.normal(size=weight.shape))
    inputs = aggregate.transform(values)
    trained, drawn = aggregate.reduce(inputs, index), aggregate.reduce_drawn(inputs, index)
    assert drawn.shape == (NODES, sets, 6 if sized else WIDTH)
    np.testing.assert_allclose(drawn, trained, rtol=1e-5, atol=1e-6)
    # Nodes with other children come to something else.
    assert np.ptp(drawn.numpy(), axis=0).max() > 0.1
