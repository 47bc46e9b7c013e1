"""Arithmetic, devices and what a compiled step is made of."""

import json

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.config import DeviceOptions
from cade_tf.errors import InputError
from cade_tf.sampling.graph_tables import make_graph_tables
from cade_tf.training import devices
from cade_tf.training.gradients import GROWTH_STEPS, INITIAL_SCALE, LossScale
from cade_tf.training.trainer import train
from tests import engine
from tests.training.small_run import WIDTH, small_config, small_graph


def make_step(precision="float32", **options):
    graph = small_graph()
    config = small_config(precision=precision, **options)
    return engine.make_step(config, make_graph_tables(graph, graph.features), WIDTH)


@pytest.mark.parametrize(("model", "precision"), [("cade_ms", "float16"), ("cade_ma", "bfloat16")])
def test_half_precision_computes_in_it_and_stays_near_float32(model, precision):
    # With the weight Q the first steps of float16 overflow, and are left out as they should be.
    exact, half = (make_step(p, model=model, negative_weight=1.0) for p in ("float32", precision))
    assert half.look().affinities.dtype == precision
    assert all(w.dtype == "float32" for w in half.model.weights)
    expected, found = exact.run(tf.constant(10)), half.run(tf.constant(10))
    np.testing.assert_allclose(found[0], expected[0], rtol=0.02)
    assert half.fault() is None


@pytest.mark.parametrize("precision", ["float16", "bfloat16"])
def test_half_precision_embeds_near_float32(precision):
    graph = small_graph()
    exact, half = (
        train(graph, small_config(precision=p, steps=0), progress=False)
        for p in ("float32", precision)
    )
    expected, found = (t.embed(graph, progress=False) for t in (exact, half))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, atol=0.05)
    full = half.model.embed_full(graph, progress=False)
    np.testing.assert_allclose(full, exact.model.embed_full(graph, progress=False), atol=0.05)


def test_bfloat16_keeps_the_gradient_of_the_bias_row_sparse():
    step = make_step("bfloat16")
    table = step.model.bias.table.value
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(step.look().affinities)
    assert isinstance(tape.gradient(loss, table), tf.IndexedSlices)


def test_float16_scales_its_loss_and_a_step_that_overflows_is_left_out():
    step = make_step("float16")
    step.loss_scale.value.assign(2.0**100)
    before = [w.numpy() for w in step.model.weights]
    step.run(tf.constant(1))
    assert step.fault() is None
    assert step.step.numpy() == 1
    assert step.loss_scale.value.numpy() == 2.0**99
    for old, new in zip(before, step.model.weights, strict=True):
        np.testing.assert_array_equal(old, new.numpy())


def test_a_loss_scale_doubles_after_many_good_steps():
    scale = LossScale()
    for _ in range(GROWTH_STEPS):
        scale.update(tf.constant(True))
    assert scale.value.numpy() == 2 * INITIAL_SCALE
    assert scale.good_steps.numpy() == 0


def test_no_operation_of_a_step_leaves_tensorflow():
    step = make_step(model="cade_ma")
    graph = step.run.get_concrete_function(tf.constant(1)).graph.as_graph_def()
    nodes = [n for f in (graph, *graph.library.function) for n in
             (f.node_def if hasattr(f, "node_def") else f.node)]  # fmt: skip
    assert len(nodes) > 100
    assert not [n.op for n in nodes if "PyFunc" in n.op or "Iterator" in n.op]


def test_several_machines_need_a_cluster(monkeypatch):
    options = DeviceOptions(strategy="multi_worker")
    monkeypatch.delenv("TF_CONFIG", raising=False)
    with pytest.raises(InputError, match="TF_CONFIG"):
        devices.make_strategy(options)
    cluster = {"cluster": {"worker": ["localhost:1"]}, "task": {"type": "worker", "index": 1}}
    monkeypatch.setenv("TF_CONFIG", json.dumps(cluster))
    with pytest.raises(InputError, match="a task index below 1"):
        devices.make_strategy(options)


def test_one_process_is_its_own_chief_and_agrees_with_itself():
    strategy = devices.make_strategy(DeviceOptions())
    assert devices.is_chief(strategy)
    assert devices.all_equal(strategy, 3)
