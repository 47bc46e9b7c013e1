"""Where the tables and the global bias lie changes nothing about a step."""

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.models.factory import make_model
from cade_tf.sampling.graph_tables import make_graph_tables
from cade_tf.sampling.tables import TensorTable
from cade_tf.scale import traffic
from cade_tf.scale.bias_stores import ShardedBias
from cade_tf.scale.distant_tables import ShardedTable
from cade_tf.training import trainer
from cade_tf.training.step import TrainingStep
from tests.training.small_run import NODES, WIDTH, small_config, small_graph


def in_parts(array: np.ndarray):
    pieces = [tf.Variable(p, trainable=False) for p in np.array_split(array, 3)]
    return tf.__internal__.distribute.ShardedVariable(pieces)


def make_step(*, sharded: bool, **options) -> TrainingStep:
    config, graph = small_config(bias_weight_decay=0.1, **options), small_graph()
    store = None
    if sharded:
        zeros = np.zeros((NODES, config.dim), np.float32)
        store = ShardedBias(lambda: in_parts(zeros), tf.Variable(0.0))
    model = make_model(config)
    model.build_for(WIDTH, NODES, store)

    def make_table(array: np.ndarray):
        return ShardedTable(in_parts(array).variables) if sharded else TensorTable(array)

    tables = make_graph_tables(graph, graph.features, make_table=make_table)
    return trainer.make_step(model, tables, config)[0]


@pytest.mark.parametrize("model", ["cade_ms", "cade_ma"])
def test_steps_on_shards_are_steps_on_one_machine(model):
    local, sharded = (make_step(sharded=where, model=model) for where in (False, True))
    metrics = [local.run(tf.constant(4)), sharded.run_numbers(tf.constant(0, tf.int64), 4)]
    np.testing.assert_allclose(*metrics, rtol=1e-4, atol=1e-5)
    for one, other in zip(local.dense_weights, sharded.dense_weights, strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-3, atol=1e-5)
    bias = tf.concat(list(sharded.model.bias.variable.variables), 0)
    np.testing.assert_allclose(local.model.bias.variable.numpy(), bias, rtol=1e-3, atol=1e-5)
    assert np.abs(bias).max() > 0


def test_the_caller_counts_steps_that_have_numbers():
    step = make_step(sharded=False)
    step.run_numbers(tf.constant(7, tf.int64), tf.constant(2))
    assert int(step.step) == 0


def test_steps_of_other_numbers_are_other_steps():
    step = make_step(sharded=False, learning_rate=1e-12)
    losses = [
        float(step.run_numbers(tf.constant(n, tf.int64), tf.constant(1))[0]) for n in (0, 0, 9)
    ]
    assert losses[0] == pytest.approx(losses[1], abs=1e-6)
    assert abs(losses[0] - losses[2]) > 1e-4


def test_traffic_is_counted_alike_on_every_kind_of_table():
    local, sharded = (traffic.count_step(make_step(sharded=where)) for where in (False, True))
    assert local == sharded
    assert 0 < local.rows < local.asked
    assert local.lookups > 10
    assert local.bytes > 8 * local.rows


def test_counting_leaves_the_step_as_it_was():
    step = make_step(sharded=True)
    sampler, store = step.sampler, step.model.bias.store
    traffic.count_step(step)
    assert step.sampler is sampler
    assert step.model.bias.store is store
