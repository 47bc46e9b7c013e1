"""Every layer and model: shapes, configuration, training, mixed precision, saving and loading."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from cade_tf.layers.aggregators import LSTMAggregator, MaxPoolAggregator, MeanAggregator
from cade_tf.layers.bi_attention import DotProductBiAttention, TanhBiAttention, VectorBiAttention
from cade_tf.layers.dual_encoder import DualENC
from cade_tf.layers.global_bias import GlobalBias
from cade_tf.layers.parallel_dense import ParallelDense
from cade_tf.layers.sagb import SAGB
from cade_tf.layers.sage_layer import SageLayer
from cade_tf.models.factory import MODEL_CLASSES
from cade_tf.sampling.trees import Trees
from tests import conformance
from tests.conformance import Case

WIDTH, DIM, K = 5, 4, 3


def rows(*shape):
    return tf.constant(np.random.default_rng(0).normal(size=shape), tf.float32)


def children(nodes=3, fanout=2, of=6):
    return tf.constant(np.random.default_rng(1).integers(of, size=(nodes, fanout)), tf.int32)


def tree(bias=True):
    """Two levels: 2 roots with 2 children each, which are the 3 instances after them."""
    return Trees(
        rows(6, WIDTH),
        tf.constant([0, 1, 2, 3, 4]),
        (tf.constant([[2, 3], [3, 4]]), tf.constant([[5, 0, 1], [1, 2, 5], [0, 0, 3]])),
        (tf.constant([[2, 3], [3, 4]]),),
        tf.constant([2, -1, 4]) if bias else None,
        tf.constant([2, 0, 1, 2, 0]) if bias else None,
    )


def model_case(cls, **options):
    def make(**kwargs):
        model = cls(dim=DIM, fanouts=(2, 3), k=K, **options, **kwargs)
        model.build_for(feature_width=WIDTH, num_known=7)
        return model

    return Case(make, lambda: (tree(),))


def pair():
    return rows(7, K, DIM), -rows(7, K, DIM)


def hops():
    return ([rows(3, WIDTH), rows(3, 2, WIDTH), rows(3, 2, 4, WIDTH)],)


LAYERS = {
    "parallel_dense": Case(lambda **k: ParallelDense(4, **k), lambda: (rows(3, WIDTH),)),
    "parallel_dense_of_sets": Case(
        lambda **k: ParallelDense(4, parameter_sets=K, use_bias=True, **k),
        lambda: (rows(3, K, WIDTH),),
    ),
    "mean": Case(MeanAggregator, lambda: (rows(6, WIDTH), children()), trains=False),
    "mean_of_sets": Case(
        lambda **k: MeanAggregator(parameter_sets=K, **k),
        lambda: (rows(6, K, WIDTH), children()),
        trains=False,
    ),
    "pool": Case(lambda **k: MaxPoolAggregator(8, **k), lambda: (rows(6, WIDTH), children())),
    "pool_of_sets": Case(
        lambda **k: MaxPoolAggregator(8, parameter_sets=K, **k),
        lambda: (rows(6, K, WIDTH), children()),
    ),
    "lstm": Case(lambda **k: LSTMAggregator(8, **k), lambda: (rows(6, WIDTH), children())),
    "lstm_of_sets": Case(
        lambda **k: LSTMAggregator(8, parameter_sets=K, **k),
        lambda: (rows(6, K, WIDTH), children()),
    ),
    "global_bias": Case(lambda **k: GlobalBias(7, DIM, **k), lambda: (tf.constant([0, -1, 3]),)),
    "sage_layer": Case(
        lambda **k: SageLayer(DIM, activation="tanh", **k),
        lambda: (rows(6, WIDTH), (children(),), tf.constant([0, 1, 2])),
    ),
    "sage_layer_of_sets": Case(
        lambda **k: SageLayer(DIM, aggregator="pool", parameter_sets=K, **k),
        lambda: (rows(6, K, WIDTH), (children(),), tf.constant([0, 1, 2])),
    ),
    "sagb": Case(lambda **k: SAGB(DIM, **k), lambda: (tree(),)),
    "sagb_with_bias": Case(lambda **k: SAGB(DIM, num_nodes=7, **k), lambda: (tree(),)),
    "sagb_of_hops": Case(lambda **k: SAGB(DIM, **k), hops),
    "sagb_of_hops_of_sets": Case(
        lambda **k: SAGB(DIM, aggregator="pool", parameter_sets=K, num_nodes=7, **k),
        lambda: (*hops(), [tf.constant([0, -1, 3]), tf.constant([[1, 2]] * 3)]),
    ),
    "dual_enc_ms": Case(DualENC, pair, trains=False),
    "dual_enc_ma": Case(
        lambda **k: DualENC("vector", encoder=SAGB(DIM, parameter_sets=K, **k), **k),
        lambda: (*hops(), *hops()),
    ),
    "sagb_of_sets": Case(
        lambda **k: SAGB(DIM, aggregator="lstm", parameter_sets=K, last_activation="tanh", **k),
        lambda: (tree(),),
    ),
    "dot_product_attention": Case(
        lambda **k: DotProductBiAttention(temperature=0.5, **k), pair, trains=False
    ),
    "vector_attention": Case(VectorBiAttention, pair),
    "tanh_attention": Case(lambda **k: TanhBiAttention(8, **k), pair),
}
MODELS = {name: model_case(cls) for name, cls in MODEL_CLASSES.items()}
CASES = {
    **LAYERS,
    **MODELS,
    "cade_ma_tanh": model_case(MODEL_CLASSES["cade_ma"], attention_score="tanh"),
}
every_case = pytest.mark.parametrize("name", CASES)


@every_case
def test_outputs_have_the_shapes_that_are_promised(name):
    case = CASES[name]
    layer = case.make()
    outputs = layer(*case.inputs())
    assert layer.built
    if name in LAYERS:
        promised = layer.compute_output_shape(*conformance.shapes_of(case.inputs()))
        promised = promised if isinstance(outputs, tuple) else (promised,)
        assert [tuple(o.shape) for o in conformance.flat(outputs)] == list(map(tuple, promised))
    assert bool(layer.trainable_weights) == case.trains


@every_case
def test_a_configuration_makes_the_same_layer_again(name):
    case = CASES[name]
    layer = case.make(name="some_name")
    again = type(layer).from_config(layer.get_config())
    again.build_from_config(layer.get_build_config())
    assert again.get_config() == layer.get_config()
    assert again.name == "some_name"
    conformance.assert_equal_outputs(layer(*case.inputs()), again(*case.inputs()))
    registered = keras.saving.get_registered_name(type(layer))
    assert registered == f"cade_tf>{type(layer).__name__}"


@pytest.mark.parametrize("name", [name for name in CASES if CASES[name].trains])
def test_a_step_of_training_changes_the_weights_it_used(name):
    case = CASES[name]
    layer = conformance.built(case)
    before = [weight.numpy() for weight in layer.trainable_weights]
    with tf.GradientTape() as tape:
        loss = conformance.loss_of(layer(*case.inputs()))
    gradients = tape.gradient(loss, [w.value for w in layer.trainable_weights])
    used = [g is not None for g in gradients]
    optimizer = keras.optimizers.SGD(0.1)
    optimizer.apply(
        [g for g in gradients if g is not None],
        [w for w, u in zip(layer.trainable_weights, used, strict=True) if u],
    )
    for weight, old, was_used in zip(layer.trainable_weights, before, used, strict=True):
        # A model's attention comes after `call`.
        outside = name not in LAYERS and "attention" in weight.path
        assert was_used != outside, weight.path
        assert (weight.numpy() != old).any() == was_used, weight.path


@pytest.mark.parametrize("policy", ["mixed_bfloat16", "mixed_float16"])
@every_case
def test_mixed_precision_computes_in_half_and_keeps_float32_weights(name, policy):
    case = CASES[name]
    layer = conformance.built(case, dtype=policy)
    exact = conformance.built(case)
    for weight in layer.weights:
        assert weight.dtype == "float32"
    with tf.GradientTape() as tape:
        outputs = layer(*case.inputs())
        loss = conformance.loss_of(outputs)
    for half, full in zip(
        conformance.flat(outputs), conformance.flat(exact(*case.inputs())), strict=True
    ):
        assert half.dtype == keras.DTypePolicy(policy).compute_dtype
        np.testing.assert_allclose(tf.cast(half, tf.float32), full, rtol=0.1, atol=0.05)
    for gradient in tape.gradient(loss, [w.value for w in layer.trainable_weights]):
        assert gradient is None or np.isfinite(tf.convert_to_tensor(gradient)).all()


def test_the_gradient_of_the_bias_stays_sparse_in_mixed_precision():
    layer = conformance.built(LAYERS["global_bias"], dtype="mixed_bfloat16")
    with tf.GradientTape() as tape:
        loss = conformance.loss_of(layer(tf.constant([2, 2])))
    assert isinstance(tape.gradient(loss, layer.table.value), tf.IndexedSlices)


@every_case
def test_a_keras_file_gives_the_layer_back(name, tmp_path):
    case = CASES[name]
    layer = conformance.built(case)
    loaded = conformance.through_keras_file(layer, case.inputs(), tmp_path / "layer.keras")
    assert type(loaded) is type(layer)
    for mine, theirs in zip(layer.weights, loaded.weights, strict=True):
        np.testing.assert_array_equal(mine.numpy(), theirs.numpy())
    conformance.assert_equal_outputs(layer(*case.inputs()), loaded(*case.inputs()))


@every_case
def test_a_saved_model_computes_the_same(name, tmp_path):
    case = CASES[name]
    layer = conformance.built(case)
    outputs = conformance.through_saved_model(layer, case.inputs(), tmp_path / "saved")
    conformance.assert_equal_outputs(layer(*case.inputs()), outputs)


def test_an_encoder_without_bias_takes_none_for_it():
    sagb = SAGB(DIM)
    assert sagb(tree(bias=False)).shape == (2, 1, DIM)


@pytest.mark.parametrize("aggregator", ["mean", "pool", "lstm"])
def test_the_rows_that_a_layer_owns_equal_rows_that_are_given(aggregator):
    sagb = SAGB(DIM, aggregator=aggregator, parameter_sets=K, num_nodes=7)
    given = rows(3, DIM).numpy()
    sagb(tree())
    sagb.bias.table.assign(np.zeros((7, DIM), np.float32))
    sagb.bias.table.value[2].assign(given[0])
    sagb.bias.table.value[4].assign(given[2])
    given[1] = 0  # -1 stands for a node without a row
    np.testing.assert_allclose(sagb(tree()), sagb(tree(), bias=given), rtol=1e-5, atol=1e-6)
    assert np.abs(sagb(tree()) - sagb(tree(bias=False))).max() > 0.01
