"""CADE: unsupervised, inductive, context-aware node embeddings in TensorFlow and Keras.

The names below are the public interface. Each is imported when it is first used, so that
`import cade_tf` costs nothing and TensorFlow is loaded only by what needs it.
"""

import importlib
import sys
import types
from typing import Any

_HOME = {
    # data
    "Graph": "cade_tf.graph.graph",
    "NodeSplit": "cade_tf.graph.splits",
    "unseen_nodes": "cade_tf.graph.splits",
    "FeatureTransform": "cade_tf.graph.features",
    "digits": "cade_tf.graph.digits",
    "load_dataset": "cade_tf.graph.datasets",
    # options and mistakes
    "Config": "cade_tf.config",
    "InputError": "cade_tf.errors",
    # training and embedding
    "train": "cade_tf.training.trainer",
    "Trained": "cade_tf.training.trainer",
    "Encoder": "cade_tf.inference.encoder",
    "dual_affinities": "cade_tf.inference.pair_scores",
    # models
    "CadeMS": "cade_tf.models.cade_ms",
    "CadeMA": "cade_tf.models.cade_ma",
    "CadeGB": "cade_tf.models.cade_gb",
    "GraphSAGE": "cade_tf.models.graphsage",
    # layers
    "SAGB": "cade_tf.layers.sagb",
    "SageLayer": "cade_tf.layers.sage_layer",
    "TreeInputs": "cade_tf.layers.sagb",
    "GlobalBias": "cade_tf.layers.global_bias",
    "MeanAggregator": "cade_tf.layers.aggregators",
    "MaxPoolAggregator": "cade_tf.layers.aggregators",
    "LSTMAggregator": "cade_tf.layers.aggregators",
    "DotProductBiAttention": "cade_tf.layers.bi_attention",
    "VectorBiAttention": "cade_tf.layers.bi_attention",
    "TanhBiAttention": "cade_tf.layers.bi_attention",
    "ParallelDense": "cade_tf.layers.parallel_dense",
    "RowSparseAdam": "cade_tf.training.row_sparse_adam",
}

__all__ = sorted(_HOME)


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_HOME[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


class _Package(types.ModuleType):
    """Keeps `cade_tf.train` the function when the command of that name is imported."""

    def __setattr__(self, name: str, value: Any) -> None:
        if not (name in _HOME and isinstance(value, types.ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
