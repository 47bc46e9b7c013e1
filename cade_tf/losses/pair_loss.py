"""The pair reconstruction loss with negative sampling, equations 1 and 2."""

from typing import Any

import keras
import tensorflow as tf

from cade_tf.losses.affinity_loss import AffinityLoss, divided


@keras.saving.register_keras_serializable("cade_tf")
class PairLoss(AffinityLoss):
    """-log sigma(z_v . z_{v_p}) - Q E[log sigma(-z_v . z_{v_n})].

    Equation 1 takes the affinities with the encoder's direct outputs of the negatives, equation 2
    those of support embeddings by A*: `DualENC.negative_affinities` gives the right ones for
    either attention, and `score_pairs` of every model does.

    Args:
        negative_weight: Factor before the expectation over negatives; None for Q, the number of
            negatives, which is the paper's.
        temperature: Affinities are divided by this (paper: 1).
        name: Name.

    Example:

    >>> loss = PairLoss()
    >>> round(float(loss([[1.0, 0.0, 0.0]], [[2.0, -1.0, 0.0]])), 4)
    1.1333
    """

    def __init__(self, negative_weight: float | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.negative_weight = negative_weight

    def parts(self, y_true: tf.Tensor, y_pred: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Both terms of equations 1 and 2, of positives and of negatives, each `[pairs]`."""
        scores = divided(y_pred, self.temperature)
        positive = tf.cast(y_true, scores.dtype)
        negative = 1.0 - positive
        pulls = tf.reduce_sum(positive * tf.nn.softplus(-scores), axis=-1)
        pushes = tf.reduce_sum(negative * tf.nn.softplus(scores), axis=-1)
        if self.negative_weight is not None:
            count = tf.reduce_sum(negative, axis=-1)
            pushes = self.negative_weight * tf.math.divide_no_nan(pushes, count)
        return pulls, pushes

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), "negative_weight": self.negative_weight}
