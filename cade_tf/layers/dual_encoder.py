"""DualENC, Algorithm 2, as a layer: the candidates of two nodes, attended by each other."""

from typing import Any, TypeAlias

import keras
import tensorflow as tf

from cade_tf.errors import InputError
from cade_tf.layers.bi_attention import (
    BiAttention,
    DotProductBiAttention,
    DualPair,
    SupportAttention,
    TanhBiAttention,
    VectorBiAttention,
    affinities,
)
from cade_tf.layers.sagb import SAGB

ATTENTIONS: dict[str, type[BiAttention]] = {
    "dot": DotProductBiAttention,
    "vector": VectorBiAttention,
    "tanh": TanhBiAttention,
}

Side: TypeAlias = Any
"""Candidates, or a list of hop tensors."""


@keras.saving.register_keras_serializable("cade_tf")
class DualENC(keras.layers.Layer):
    """Algorithm 2: dual representations z_v, z_{v_p} of pairs of nodes, and their attention.

    Args:
        attention: dot (CADE-MS), vector (CADE-MA: the vector A), or tanh (an extension).
        encoder: A `SAGB` that makes candidates of hop tensors (line 1); None where candidates are
            given. With K parameter sets it makes the K candidates of CADE-MA. The hops of CADE-MS
            have one axis more after the first, K samplings of each root: `[n, K, s_1, width]`.
        temperature: Scores are divided by this before the softmax (paper: 1).
        seed: Seed of the attention's initial weights.

    Input shape:
        `nodes`, `partners`: candidates `[n, K, dim]` of v and of v_p, or a list of hop tensors of
        each.

    Output shape:
        `DualPair`: z_v `[n, dim]`, z_{v_p} `[n, dim]`, attention `[n, K, K]`.

    Example:

    >>> pair = DualENC("vector")(tf.ones([7, 3, 4]), tf.ones([7, 3, 4]))
    >>> pair.nodes.shape, pair.attention.shape
    (TensorShape([7, 4]), TensorShape([7, 3, 3]))
    """

    def __init__(
        self,
        attention: str = "dot",
        *,
        encoder: SAGB | None = None,
        temperature: float = 1.0,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if attention not in ATTENTIONS:
            raise InputError("attention", "one of " + ", ".join(ATTENTIONS), attention, "Choose.")
        self.attention = attention
        self.encoder = encoder
        self.temperature = temperature
        self.seed = seed
        seeded = {} if attention == "dot" else {"seed": seed}
        self.bi_attention = ATTENTIONS[attention](
            temperature=temperature, dtype=self.dtype_policy, name="bi_attention", **seeded
        )

    def build(self, nodes_shape: Any, partners_shape: Any) -> None:
        """Builds the encoder and the attention."""
        shape = nodes_shape
        if self.encoder is not None:
            if not self.encoder.built:
                self.encoder.build([tuple(nodes_shape[0])])
            shape = (None, None, self.encoder.dim)
        self.bi_attention.build(shape, shape)
        super().build(nodes_shape)

    def call(self, nodes: Side, partners: Side) -> DualPair:
        """Dual representations of pairs."""
        return self.bi_attention(self.candidates(nodes), self.candidates(partners))

    def candidates(self, side: Side) -> tf.Tensor:
        """Line 1: K candidates of each node, `[n, K, dim]`."""
        if self.encoder is None or tf.is_tensor(side):
            return side
        root, *hops = (tf.convert_to_tensor(hop) for hop in side)
        if hops[0].shape.rank == 3:
            encoded = self.encoder([root, *hops])
            return encoded if encoded.shape.rank == 3 else tf.expand_dims(encoded, 1)
        samplings = tf.shape(hops[0])[1]
        merged = [tf.reshape(hop, [-1, *hop.shape[2:]]) for hop in hops]
        encoded = self.encoder([tf.repeat(root, samplings, axis=0), *merged])
        return tf.reshape(encoded, [tf.shape(root)[0], -1, self.encoder.dim])

    def negative_affinities(self, nodes: Side, pair: DualPair, negatives: tf.Tensor) -> tf.Tensor:
        """z_v . z_{v_n} of every pair with its negatives, `[n, Q]`.

        With dot products the negative is the encoder's direct output (equation 1); an attention
        with parameters of its own finds support embeddings by A*, through which no gradient flows
        to A (equations 2 to 4).

        Args:
            nodes: Candidates or hop tensors of v.
            pair: What a call returned for them.
            negatives: `[Q, K, dim]` shared by all pairs, or `[n, Q, K, dim]`.
        """
        if isinstance(self.bi_attention, SupportAttention):
            return affinities(*self.bi_attention.support(self.candidates(nodes), negatives))
        return affinities(pair.nodes, negatives[..., 0, :])

    def compute_output_shape(self, nodes_shape: Any, partners_shape: Any) -> DualPair:
        """Shapes of the pair and of the attention."""
        if self.encoder is None:
            return self.bi_attention.compute_output_shape(nodes_shape, partners_shape)
        roots, first = nodes_shape[0][0], nodes_shape[1]
        k = first[1] if len(first) == 4 else self.encoder.parameter_sets
        output = (roots, self.encoder.dim)
        return DualPair(output, output, (roots, k, k))

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        encoder = self.encoder
        return {
            **super().get_config(),
            "attention": self.attention,
            "encoder": None if encoder is None else keras.saving.serialize_keras_object(encoder),
            "temperature": self.temperature,
            "seed": self.seed,
        }

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "DualENC":
        """The layer that `get_config` describes."""
        encoder = config.pop("encoder")
        if encoder is not None:
            encoder = keras.saving.deserialize_keras_object(encoder)
        return cls(encoder=encoder, **config)
