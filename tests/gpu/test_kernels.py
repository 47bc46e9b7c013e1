"""Everything that is compiled has kernels for a GPU, and lets it run on with few waits.

No GPU is needed: the registry of kernels knows what a GPU would run. Nothing here shows that it
was run on one.
"""

import pytest
import tensorflow as tf

from cade_tf.benchmark.cases import make_step
from cade_tf.config import AGGREGATORS
from cade_tf.inference.algorithm1 import attend_batch, depends_on_partner, weigh_batch
from cade_tf.inference.whole_pass import WholePass
from cade_tf.sampling import graph_tables, random, tables
from cade_tf.serving.graph_module import GraphModule
from tests import engine
from tests.gpu.kernels import audit
from tests.training.small_run import small_config, small_graph

WAITS = {
    "size of Unique": "how many distinct nodes, instances or rows there are",
    "size of Where": "how many children are left where repeated ones count once",
    "condition of a loop": "whether a fault ends the loop of steps",
    "LogicalAnd() -> If": "whether all numbers are finite, so that the step may change weights",
    "AddV2(int64) -> AddV2": "the number of the step, whose pairs the host shuffles",
    "Pack(int64) -> StridedSlice": "how many rows are of nodes and not of leaves alone",
    "DynamicStitch(int32) -> Reshape": "TensorFlow's gradient of a maximum",
}
"""What a step waits for, and why."""
MOST_WAITS = 13


@pytest.fixture(autouse=True)
def on_a_gpu(monkeypatch):
    """Positions are of the type that they have where there is a GPU."""
    for module in (tables, graph_tables):
        monkeypatch.setattr(module, "index_dtype", lambda: tf.int64)


def step_audit(**options):
    step = make_step(small_graph(), small_config(**options))
    return audit(step.run.get_concrete_function(tf.constant(1)))


@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize("model", engine.MODELS)
def test_a_training_step_has_kernels_and_few_waits(model, aggregator):
    found = step_audit(model=model, aggregator=aggregator)
    assert found.operations > 1000
    assert not found.missing
    assert found.waits.keys() <= WAITS.keys()
    assert found.waits.total() <= MOST_WAITS


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_a_training_step_of_half_precision_has_kernels(precision):
    found = step_audit(precision=precision, k=2, model="cade_ms")
    assert not found.missing


@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize("model", engine.MODELS)
def test_embedding_has_kernels(model, aggregator):
    graph = engine.small_graph()
    made = engine.prepared_model(model, graph, aggregator=aggregator)
    tables_ = made.tables(graph)
    number, key = tf.TensorSpec([], tf.int64), random.make_key(0, 0)
    attend = attend_batch(made, tables_, 3, 0)
    assert not audit(attend.get_concrete_function(number, number, number, key)).missing
    if depends_on_partner(made):
        assert not audit(weigh_batch(made, 3).get_concrete_function()).missing
    encode = tf.function(WholePass(made, tables_).candidates, autograph=False)
    assert not audit(encode.get_concrete_function(key)).missing


@pytest.mark.parametrize("aggregator", AGGREGATORS)
@pytest.mark.parametrize("model", engine.MODELS)
def test_requests_leave_nothing_but_texts_to_the_host(model, aggregator):
    graph = engine.small_graph(sparse=model == "cade_ms", weighted=model == "cade_ms")
    module = GraphModule(engine.prepared_model(model, graph, aggregator=aggregator), graph)
    for function in module.functions.values():
        # Messages about wrong requests.
        assert audit(function.get_concrete_function()).missing.keys() == {"Const(string)"}


def test_the_audit_finds_what_a_gpu_cannot_do_and_what_it_waits_for():
    @tf.function(autograph=False)
    def small(numbers, count):
        first, _ = tf.split(numbers, 2)
        return tf.reduce_sum(tf.unique(first)[0]), tf.zeros([tf.reduce_max(count)])

    specs = [tf.TensorSpec([4], tf.int64), tf.TensorSpec([2], tf.int64)]
    found = audit(small.get_concrete_function(*specs))
    assert dict(found.missing) == {"Split(int64)": 1}
    assert found.waits["size of Unique"] == 1
    assert found.waits.total() == 3
