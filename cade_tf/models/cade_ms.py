"""CADE-MS: the dual encoder with multi-sampling."""

import keras

from cade_tf.layers.bi_attention import BiAttention, DotProductBiAttention
from cade_tf.models.dual_encoder import DualEncoder


@keras.saving.register_keras_serializable("cade_tf")
class CadeMS(DualEncoder):
    """CADE-MS: K neighbourhood samplings, attended by dot products.

    See `DualEncoder` for the arguments.

    Example:

    >>> import tensorflow as tf
    >>> model = CadeMS(dim=8, fanouts=(3, 2), k=2)
    >>> model.dual(tf.zeros([6, 2, 8]), tf.zeros([6, 2, 8])).attention.shape
    TensorShape([6, 2, 2])
    """

    samplings_by_k = True

    def _make_attention(self) -> BiAttention:
        return DotProductBiAttention(
            temperature=self.attention_temperature, dtype=self.dtype_policy, name="attention"
        )
