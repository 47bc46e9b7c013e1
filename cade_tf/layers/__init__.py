"""SAGB (Algorithm 3), bi-attention and DualENC (Algorithm 2), and what they are made of."""

from cade_tf.layers.aggregators import LSTMAggregator, MaxPoolAggregator, MeanAggregator
from cade_tf.layers.bi_attention import (
    DotProductBiAttention,
    DualPair,
    TanhBiAttention,
    VectorBiAttention,
)
from cade_tf.layers.dual_encoder import DualENC
from cade_tf.layers.global_bias import GlobalBias
from cade_tf.layers.parallel_dense import ParallelDense
from cade_tf.layers.sagb import SAGB
from cade_tf.layers.sage_layer import SageLayer

__all__ = [
    "SAGB",
    "DotProductBiAttention",
    "DualENC",
    "DualPair",
    "GlobalBias",
    "LSTMAggregator",
    "MaxPoolAggregator",
    "MeanAggregator",
    "ParallelDense",
    "SageLayer",
    "TanhBiAttention",
    "VectorBiAttention",
]
