"""CADE-MA: the dual encoder with multi-aggregating."""

import keras
import tensorflow as tf

from cade_tf.layers.bi_attention import (
    BiAttention,
    DualPair,
    SupportAttention,
    TanhBiAttention,
    VectorBiAttention,
    affinities,
)
from cade_tf.models.dual_encoder import DualEncoder


@keras.saving.register_keras_serializable("cade_tf")
class CadeMA(DualEncoder):
    """CADE-MA: K aggregator parameter sets, attended by the vector A.

    See `DualEncoder` for the arguments.

    Example:

    >>> from cade_tf.sampling.trees import Trees
    >>> trees = Trees(tf.zeros([4, 5]), tf.constant([0]), (tf.constant([[1, 2, 3]]),), ())
    >>> model = CadeMA(dim=8, fanouts=(3,), k=2)
    >>> model.build_for(feature_width=5, num_known=4)
    >>> model(trees).shape
    TensorShape([1, 2, 8])
    """

    parameter_sets_by_k = True

    def _make_attention(self) -> BiAttention:
        kind = TanhBiAttention if self.attention_score == "tanh" else VectorBiAttention
        return kind(
            temperature=self.attention_temperature,
            seed=self.seed + 5,
            dtype=self.dtype_policy,
            name="attention",
        )

    def negative_affinities(
        self, nodes: tf.Tensor, dual: DualPair, negatives: tf.Tensor
    ) -> tf.Tensor:
        """Equations 2-4: support embeddings through A*."""
        attention = self.attention
        if not isinstance(attention, SupportAttention):
            raise TypeError("CADE-MA needs an attention with parameters.")
        support, others = attention.support(nodes, negatives)
        return affinities(self._output(support), self._output(others))
