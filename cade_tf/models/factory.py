"""Models by name, and from files."""

from pathlib import Path

import keras

from cade_tf.config import ModelOptions
from cade_tf.layers.global_bias import RowStore
from cade_tf.models.cade_gb import CadeGB
from cade_tf.models.cade_ma import CadeMA
from cade_tf.models.cade_ms import CadeMS
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.models.graphsage import GraphSAGE

MODEL_CLASSES: dict[str, type[DualEncoder]] = {
    "cade_ms": CadeMS,
    "cade_ma": CadeMA,
    "cade_gb": CadeGB,
    "graphsage": GraphSAGE,
}


def make_model(
    options: ModelOptions,
    *,
    feature_width: int,
    num_known: int,
    seed: int = 0,
    dtype: str = "float32",
    bias_store: RowStore | None = None,
) -> DualEncoder:
    """The model that some options describe, built.

    Args:
        options: Options of the model.
        feature_width: Width of the scaled features.
        num_known: Nodes of the training graph.
        seed: Seed of the initial weights.
        dtype: Keras' policy of the arithmetic, as "mixed_bfloat16".
        bias_store: Keeps the global bias, where it is not to be a weight of the model.
    """
    model = MODEL_CLASSES[options.model](
        feature_width=feature_width,
        num_known=num_known,
        dim=options.dim,
        fanouts=options.fanouts,
        k=options.k,
        aggregator=options.aggregator,
        activation=options.activation,
        last_activation=options.last_activation,
        normalize=options.normalize,
        attention_score=options.attention_score,
        attention_temperature=options.attention_temperature,
        global_bias=options.global_bias if options.model != "graphsage" else False,
        seed=seed,
        dtype=dtype,
    )
    if bias_store is not None and model.bias is not None:
        model.bias.keep_in(bias_store)
    model.build()
    return model


def load_model(path: str | Path) -> DualEncoder:
    """A model that `model.save` wrote as a .keras file; its weights only, no optimiser."""
    classes = {kind.__name__: kind for kind in MODEL_CLASSES.values()}
    model: DualEncoder = keras.saving.load_model(path, custom_objects=classes, compile=False)
    return model
