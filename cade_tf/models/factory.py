"""Models by name."""

from cade_tf.config import ModelOptions
from cade_tf.layers.global_bias import RowStore
from cade_tf.models.dual_encoder import CadeGB, CadeMA, CadeMS, DualEncoder, GraphSAGE

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
