"""What the losses of this package have in common."""

from typing import Any

import keras
import tensorflow as tf


class AffinityLoss(keras.losses.Loss):
    """A loss of affinities `[pairs, m]` of which `y_true` says 1 (the partner) or 0 (a negative).

    A subclass says in `parts` what pulls a pair together and what pushes a node away from its
    negatives; the loss is their sum. With `sample_weight` the mean is over the weights, so that a
    pair of weight 0 does not count.

    Args:
        temperature: Affinities are divided by this.
        name: Name.
    """

    contrasts_batch = False
    """Whether the partners of the batch's other pairs are to be among the negatives."""

    def __init__(
        self,
        *,
        temperature: float = 1.0,
        name: str | None = None,
        reduction: str = "mean_with_sample_weight",
        **kwargs: Any,
    ) -> None:
        super().__init__(name=name, reduction=reduction, **kwargs)
        self.temperature = temperature

    def call(self, y_true: tf.Tensor, y_pred: tf.Tensor) -> tf.Tensor:
        """Loss of each pair, `[pairs]`."""
        return tf.add(*self.parts(y_true, y_pred))

    def parts(self, y_true: tf.Tensor, y_pred: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """What pulls together and what pushes away, each `[pairs]`."""
        raise TypeError(f"{type(self).__name__} does not say what its parts are.")

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), "temperature": self.temperature}


def divided(y_pred: tf.Tensor, temperature: float) -> tf.Tensor:
    """Affinities over the temperature, float32 whatever the model computes in."""
    return tf.cast(y_pred, tf.float32) / temperature
