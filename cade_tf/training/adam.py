"""Adam of dense weights, one fused update a weight."""

from collections.abc import Sequence

import tensorflow as tf

# TensorFlow 1's and GraphSAGE's value; Keras defaults to 1e-7.
EPSILON = 1e-8


class Adam(tf.Module):
    """Adam with decoupled weight decay, for weights that every step reads whole.

    A Keras optimiser would do as well on one device; it cannot be called across replicas from
    inside a branch, which is where a step that found a number that is not finite leaves out its
    update.

    Args:
        weights: Variables to be updated.
        beta_1: Decay of the first moment.
        beta_2: Decay of the second moment.
        epsilon: Added to the root of the second moment.
        weight_decay: Share of the weights, times the learning rate, that a step takes away.

    Example:

    >>> weight = tf.Variable([1.0, 1.0])
    >>> adam = Adam([weight])
    >>> adam.apply([tf.constant([2.0, 0.0])], learning_rate=0.1, step=1)
    >>> weight.numpy().round(3)
    array([0.9, 1. ], dtype=float32)
    """

    def __init__(
        self,
        weights: Sequence[tf.Variable],
        *,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = EPSILON,
        weight_decay: float = 0.0,
    ) -> None:
        super().__init__(name="adam")
        self.weights = list(weights)
        # Kept, as updates may be traced outside of its scope.
        self._strategy = tf.distribute.get_strategy()
        self.beta_1 = beta_1
        self.beta_2 = beta_2
        self.epsilon = epsilon
        self.weight_decay = weight_decay
        self.first = [_zeros_like(w, "first") for w in self.weights]
        self.second = [_zeros_like(w, "second") for w in self.weights]

    def apply(
        self,
        gradients: Sequence[tf.Tensor],
        *,
        learning_rate: tf.Tensor | float,
        step: tf.Tensor | int,
    ) -> None:
        """Updates all weights.

        Args:
            gradients: One for each weight; under a strategy already added up over the replicas.
            learning_rate: Learning rate of this step.
            step: Number of this step, from 1.
        """
        extended = self._strategy.extended
        rate = tf.cast(learning_rate, tf.float32)
        number = tf.cast(step, tf.float32)
        powers = (self.beta_1**number, self.beta_2**number)
        for weight, *values in zip(self.weights, gradients, self.first, self.second, strict=True):
            extended.update(weight, self._update, args=(*values, rate, *powers))

    def _update(
        self,
        weight: tf.Variable,
        gradient: tf.Tensor,
        first: tf.Variable,
        second: tf.Variable,
        rate: tf.Tensor,
        power_1: tf.Tensor,
        power_2: tf.Tensor,
    ) -> None:
        if self.weight_decay:
            weight.assign_sub(rate * self.weight_decay * weight)
        tf.raw_ops.ResourceApplyAdam(
            var=weight.handle,
            m=first.handle,
            v=second.handle,
            beta1_power=power_1,
            beta2_power=power_2,
            lr=rate,
            beta1=self.beta_1,
            beta2=self.beta_2,
            epsilon=self.epsilon,
            grad=gradient,
            use_locking=True,
        )


def _zeros_like(weight: tf.Variable, name: str) -> tf.Variable:
    # An update can only touch what lies on one machine.
    with tf.distribute.get_strategy().extended.colocate_vars_with(weight):
        return tf.Variable(tf.zeros(weight.shape, weight.dtype), trainable=False, name=name)
