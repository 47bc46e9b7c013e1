"""A training step learns, repeats to the bit, and holds nothing larger than it must."""

import numpy as np
import pytest
import scipy.sparse as sp
import tensorflow as tf
from tensorflow.python.framework import op_callbacks

from cade_tf.config import Config
from cade_tf.graph.graph import Graph
from cade_tf.inference.algorithm1 import embed_all_nodes
from cade_tf.sampling.graph_tables import make_graph_tables
from cade_tf.training.metrics import STEP_METRICS
from tests import engine


def step_of(name="cade_ms", **options):
    settings = {
        "k": 2,
        "dim": 8,
        "fanouts": (3, 2),
        "batch_size": 16,
        "negatives": 4,
        "learning_rate": 0.01,
        "seed": 5,
        **options,
    }
    config = Config(model=name, **settings)
    return engine.make_step(config)


def weights_of(step):
    return [weight.numpy() for weight in step.model.weights]


def embeddings_of(step):
    return embed_all_nodes(
        step.model, step.sampler.graph, walks=2, walk_length=2, seed=1, progress=False
    )


def same(one, other):
    return all((a == b).all() for a, b in zip(one, other, strict=True))


@pytest.fixture
def eager_functions():
    """Operations one by one: faster than tracing where few steps are done."""
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


# Between them the four models take every option of sampling.
OPTIONS = {
    "cade_ms": {},
    "cade_ma": {"negative_sharing": "pair"},
    "cade_gb": {"pair_order": "shuffled"},
    "graphsage": {"negative_sharing": "pair", "pair_order": "shuffled"},
}


@pytest.mark.parametrize("name", engine.MODELS)
def test_a_run_repeats_to_the_bit_also_when_it_is_divided(name):
    whole, parts = step_of(name, **OPTIONS[name]), step_of(name, **OPTIONS[name])
    before = weights_of(whole)
    whole.run(tf.constant(20))
    assert all((now != old).any() for now, old in zip(weights_of(whole), before, strict=True))
    parts.run(tf.constant(7))
    parts.run(tf.constant(13))
    assert int(parts.step.numpy()) == 20
    assert same(weights_of(whole), weights_of(parts))
    if name == "cade_ms":
        np.testing.assert_array_equal(embeddings_of(whole), embeddings_of(parts))


def test_another_seed_gives_another_run(eager_functions):
    one, other = step_of("graphsage"), step_of("graphsage", seed=6)
    # From the same weights, only walks, neighbours and negatives differ.
    for mine, theirs in zip(one.model.weights, other.model.weights, strict=True):
        theirs.assign(mine)
    one.run(tf.constant(3))
    other.run(tf.constant(3))
    assert not same(weights_of(one), weights_of(other))


@pytest.mark.parametrize(
    ("name", "aggregator"), [("cade_ms", "lstm"), ("cade_ma", "pool"), ("cade_ma", "mean")]
)
def test_every_weight_moves_and_the_loss_falls(name, aggregator):
    step = step_of(name, aggregator=aggregator, learning_rate=0.003)
    before = weights_of(step)
    losses = [float(step.run(tf.constant(10))[STEP_METRICS.index("loss")]) for _ in range(4)]
    assert all((now != old).any() for now, old in zip(weights_of(step), before, strict=True))
    assert losses[-1] < losses[0]


def test_a_step_changes_only_the_rows_of_the_bias_that_its_trees_hold(eager_functions):
    step = step_of("cade_gb", batch_size=1, walk_length=1, negatives=1, fanouts=(1, 1))
    step.run(tf.constant(0))
    assert (step.model.bias.table.numpy() == 0).all()
    step.run(tf.constant(1))
    touched = np.abs(step.model.bias.table.numpy()).max(axis=1) > 0
    # Node, partner and negative, and one child of each.
    assert 0 < touched.sum() <= 6 < engine.NODES


# --- memory ----------------------------------------------------------------------------------

WIDE, FANOUTS, BATCH, CROWD = 96, (6, 5), 48, 40


class Largest:
    """Records the largest tensors that operations put out while it is active."""

    def __init__(self):
        self.sizes = {}

    def __enter__(self):
        op_callbacks.add_op_callback(self._record)
        return self

    def __exit__(self, *_):
        op_callbacks.remove_op_callback(self._record)

    def _record(self, op_type, inputs, attrs, outputs, op_name=None, graph=None):
        for output in outputs:
            if isinstance(output, tf.Tensor) and output.dtype.is_floating:
                shape = tuple(output.shape)
                self.sizes[shape] = int(np.prod(shape))

    @property
    def largest(self):
        return max(self.sizes, key=self.sizes.__getitem__)


def crowd(sparse=False):
    rng = np.random.default_rng(0)
    features = rng.normal(size=(CROWD, WIDE)).astype(np.float32)
    graph = Graph.from_edges(rng.integers(CROWD, size=(300, 2)), num_nodes=CROWD)
    if sparse:
        features = sp.csr_array(features * (rng.random(features.shape) < 0.1))
    return make_graph_tables(graph, features)


def test_the_recorder_sees_a_tensor_of_all_leaves():
    table = tf.zeros([CROWD, WIDE])
    with Largest() as record:
        tf.gather(table, tf.zeros([BATCH, *FANOUTS], tf.int32))
    assert record.largest == (BATCH, *FANOUTS, WIDE)


@pytest.mark.parametrize("sparse", [False, True], ids=["dense", "sparse"])
@pytest.mark.parametrize("name", engine.MODELS)
def test_no_tensor_holds_the_features_of_all_leaves(eager_functions, name, sparse):
    config = Config(
        model=name, k=2, dim=8, fanouts=FANOUTS, batch_size=BATCH, negatives=5, walk_length=2
    )
    step = engine.make_step(config, crowd(sparse), WIDE)
    model = step.model
    with Largest() as record:
        step.run(tf.constant(1))
    assert record.sizes
    # Features of each node once a sampling and level, of all kernels, or of all candidates.
    nodes = CROWD * model.samplings
    bound = max(3 * nodes * WIDE, 2 * WIDE * 8 * model.parameter_sets, 2 * BATCH * 2 * 8 * 2)
    assert bound < BATCH * FANOUTS[0] * FANOUTS[1] * WIDE / 4
    assert record.sizes[record.largest] <= bound, record.largest
