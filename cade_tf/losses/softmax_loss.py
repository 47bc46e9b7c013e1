"""A softmax over the batch (InfoNCE), an extension and not the paper's."""

import keras
import tensorflow as tf

from cade_tf.losses.affinity_loss import AffinityLoss, divided


@keras.saving.register_keras_serializable("cade_tf")
class SoftmaxLoss(AffinityLoss):
    """Which of these is my partner? -log softmax of the partner's affinity.

    A node's partner stands against the sampled negatives and against the partners of the batch's
    other pairs. An affinity of minus infinity does not count.

    Args:
        temperature: Affinities are divided by this.
        name: Name.

    Example:

    >>> round(float(SoftmaxLoss()([[1.0, 0.0]], [[0.0, 0.0]])), 4)
    0.6931
    """

    contrasts_batch = True

    def parts(self, y_true: tf.Tensor, y_pred: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Minus the partner's affinity, and the logarithm of the sum over all."""
        scores = divided(y_pred, self.temperature)
        # Not a product with y_true: minus infinity times zero is no number.
        partner = tf.where(tf.cast(y_true, tf.bool), scores, tf.zeros_like(scores))
        return -tf.reduce_sum(partner, axis=-1), tf.reduce_logsumexp(scores, axis=-1)
