"""Adam for dense weights and for tables of which a step reads few rows."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from cade_tf.sampling.tables import distinct

# TensorFlow 1's and GraphSAGE's value; Keras defaults to 1e-7.
EPSILON = 1e-8


@keras.saving.register_keras_serializable("cade_tf")
class Adam(keras.optimizers.Adam):
    """Keras' Adam with one fused update per dense weight, and row-sparse updates of tables.

    A gradient that is rows of a table (`tf.IndexedSlices`, as that of the global bias) changes
    those rows and their moments alone, so that a step costs in proportion to what it has read,
    however large the table. Bias correction uses the number of steps of the run. Keras' own Adam
    would make the gradient dense and move every row.

    Args:
        learning_rate: A number, or one of Keras' schedules.
        beta_1: Decay of the first moment.
        beta_2: Decay of the second moment.
        epsilon: Added to the root of the second moment.
        weight_decay: Share of a dense weight, times the learning rate, that a step takes away.
        row_learning_rate: Learning rate of rows, as a multiple of `learning_rate`.
        row_weight_decay: As `weight_decay`, for the rows that a step has read.
        name: Name.

    Other arguments are those of `keras.optimizers.Adam`.

    Example:

    >>> table = keras.Variable(tf.zeros([3, 2]))
    >>> gradient = tf.IndexedSlices(tf.ones([1, 2]), tf.constant([1]), tf.constant([3, 2]))
    >>> Adam(0.1).apply([gradient], [table])
    >>> table.numpy()[:2].round(3)
    array([[ 0. ,  0. ],
           [-0.1, -0.1]], dtype=float32)
    """

    def __init__(
        self,
        learning_rate: Any = 1e-3,
        beta_1: float = 0.9,
        beta_2: float = 0.999,
        epsilon: float = EPSILON,
        *,
        weight_decay: float | None = None,
        row_learning_rate: float = 1.0,
        row_weight_decay: float = 0.0,
        name: str = "adam",
        **kwargs: Any,
    ) -> None:
        super().__init__(
            learning_rate=learning_rate,
            beta_1=beta_1,
            beta_2=beta_2,
            epsilon=epsilon,
            name=name,
            **kwargs,
        )
        self.decay = weight_decay or 0.0
        self.row_learning_rate = row_learning_rate
        self.row_weight_decay = row_weight_decay

    def apply_across(
        self, gradients: Sequence[tf.Tensor | tf.IndexedSlices], variables: Sequence[Any]
    ) -> None:
        """As `apply`, outside of the replicas, for gradients that are added up already.

        Keras' own `apply` wants to be called by every replica, which it cannot be from within a
        branch of a compiled function: where a step leaves out its update.

        Args:
            gradients: One per variable, the same for all replicas.
            variables: Variables that the optimiser was built with.
        """
        extended = tf.distribute.get_strategy().extended
        rate = tf.convert_to_tensor(self.learning_rate)

        def update(variable: tf.Variable, gradient: Any, rate: tf.Tensor) -> None:
            self.update_step(gradient, variable, rate)

        for gradient, variable in zip(gradients, variables, strict=True):
            extended.update(variable.value, update, args=(gradient, rate), group=False)
        self.iterations.assign_add(1)

    def update_step(
        self, gradient: tf.Tensor | tf.IndexedSlices, variable: Any, learning_rate: Any
    ) -> None:
        """Updates one weight."""
        number = tf.cast(self.iterations, tf.float32) + 1.0
        rate = tf.cast(learning_rate, tf.float32)
        index = self._get_variable_index(variable)
        first, second = self._momentums[index].value, self._velocities[index].value
        weight = variable.value if isinstance(variable, keras.Variable) else variable
        if isinstance(gradient, tf.IndexedSlices):
            self._update_rows(gradient, weight, first, second, rate, number)
            return
        if self.decay:
            weight.assign_sub(rate * self.decay * weight)
        tf.raw_ops.ResourceApplyAdam(
            var=weight.handle,
            m=first.handle,
            v=second.handle,
            beta1_power=self.beta_1**number,
            beta2_power=self.beta_2**number,
            lr=rate,
            beta1=self.beta_1,
            beta2=self.beta_2,
            epsilon=self.epsilon,
            grad=tf.cast(gradient, weight.dtype),
            use_locking=True,
        )

    def _update_rows(
        self,
        gradient: tf.IndexedSlices,
        table: tf.Variable,
        first: tf.Variable,
        second: tf.Variable,
        rate: tf.Tensor,
        number: tf.Tensor,
    ) -> None:
        rows, values = distinct_rows(gradient.indices, gradient.values)
        change, new_first, new_second = self.row_change(
            tf.gather(table, rows),
            tf.gather(first, rows),
            tf.gather(second, rows),
            values,
            rate,
            number,
        )
        first.scatter_update(tf.IndexedSlices(new_first, rows))
        second.scatter_update(tf.IndexedSlices(new_second, rows))
        table.scatter_sub(tf.IndexedSlices(change, rows))

    def row_change(
        self,
        values: tf.Tensor,
        first: tf.Tensor,
        second: tf.Tensor,
        gradients: tf.Tensor,
        rate: tf.Tensor,
        number: tf.Tensor,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        """What is taken off some rows, and their new moments.

        Args:
            values: `[n, width]`, the rows.
            first: Their first moments.
            second: Their second moments.
            gradients: Their gradients.
            rate: Learning rate of this step.
            number: Number of this step, from 1.
        """
        rate = rate * self.row_learning_rate
        corrected = rate * tf.sqrt(1.0 - self.beta_2**number) / (1.0 - self.beta_1**number)
        first = self.beta_1 * first + (1 - self.beta_1) * gradients
        second = self.beta_2 * second + (1 - self.beta_2) * tf.square(gradients)
        change = corrected * first / (tf.sqrt(second) + self.epsilon)
        if self.row_weight_decay:
            change += rate * self.row_weight_decay * values
        return change, first, second

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        config = super().get_config()
        config.pop("amsgrad")
        return {
            **config,
            "weight_decay": self.decay,
            "row_learning_rate": self.row_learning_rate,
            "row_weight_decay": self.row_weight_decay,
        }


def distinct_rows(rows: tf.Tensor, gradients: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
    """Adds up the gradients of each row; a row then stands once."""
    once, position = distinct(rows)
    return once, tf.math.unsorted_segment_sum(gradients, position, tf.size(once))
