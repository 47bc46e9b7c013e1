"""K linear maps as one product."""

from typing import Any

import keras
import tensorflow as tf

from cade_tf.errors import InputError
from cade_tf.layers.sparse_ops import Rows, sparse_matmul


@keras.saving.register_keras_serializable("cade_tf")
class ParallelDense(keras.layers.Layer):
    """K linear maps of the same shape, without bias unless asked for.

    Args:
        units: Width of each map's output.
        parameter_sets: K.
        use_bias: Whether each map adds a vector.
        seed: Seed of the initial kernels.

    Input shape:
        `[n, width]`, dense or a `tf.SparseTensor`: every map gets the same rows; or
        `[n, K, width]`: each map gets its own.

    Output shape:
        `[n, K, units]`.

    Example:

    >>> ParallelDense(4, parameter_sets=3)(tf.zeros([2, 5])).shape
    TensorShape([2, 3, 4])
    """

    def __init__(
        self,
        units: int,
        *,
        parameter_sets: int = 1,
        use_bias: bool = False,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        if units < 1 or parameter_sets < 1:
            raise InputError(
                "units, parameter_sets", "at least 1", (units, parameter_sets), "Raise them."
            )
        self.units = units
        self.parameter_sets = parameter_sets
        self.use_bias = use_bias
        self.seed = seed

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Creates the kernel `[K, width, units]`."""
        # Each of the K kernels is initialised as if it stood alone (Glorot over its own fans).
        self.kernel = self.add_weight(
            name="kernel",
            shape=(self.parameter_sets, input_shape[-1], self.units),
            initializer=StackedGlorotUniform(self.seed),
        )
        if self.use_bias:
            self.bias = self.add_weight(
                name="bias", shape=(self.parameter_sets, self.units), initializer="zeros"
            )
        super().build(input_shape)

    def call(self, inputs: Rows) -> tf.Tensor:
        """Applies the K maps."""
        outputs = parallel_matmul(inputs, self.kernel)
        return outputs + self.bias if self.use_bias else outputs

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """`[n, K, units]`."""
        return (input_shape[0], self.parameter_sets, self.units)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {
            **super().get_config(),
            "units": self.units,
            "parameter_sets": self.parameter_sets,
            "use_bias": self.use_bias,
            "seed": self.seed,
        }


def parallel_matmul(inputs: Rows, kernel: tf.Tensor) -> tf.Tensor:
    """`[n, in]` or `[n, K, in]` times `[K, in, out]` -> `[n, K, out]`, as one matrix product."""
    sets, width, units = kernel.shape
    kernel = tf.convert_to_tensor(kernel)
    if isinstance(inputs, tf.SparseTensor):
        return tf.stack(sparse_matmul(inputs, tf.unstack(kernel)), axis=1)
    if inputs.shape.rank == 2:
        flat = tf.reshape(tf.transpose(kernel, [1, 0, 2]), [width, sets * units])
        return tf.reshape(tf.matmul(inputs, flat), [-1, sets, units])
    if sets == 1:
        # Reshapes, not slices: the gradient of a slice pads with zeros.
        product = tf.matmul(tf.reshape(inputs, [-1, width]), tf.reshape(kernel, [width, units]))
        return tf.reshape(product, [-1, 1, units])
    by_set = tf.matmul(tf.transpose(inputs, [1, 0, 2]), kernel)
    return tf.transpose(by_set, [1, 0, 2])


@keras.saving.register_keras_serializable("cade_tf")
class StackedGlorotUniform(keras.initializers.Initializer):
    """Glorot's uniform initialiser for a stack of kernels `[K, in, out]`.

    Args:
        seed: The same seed gives the same kernels.

    Example:

    >>> StackedGlorotUniform(1)((2, 3, 4)).shape
    TensorShape([2, 3, 4])
    """

    def __init__(self, seed: int = 0) -> None:
        self.seed = seed

    def __call__(self, shape: tuple[int, ...], dtype: Any = None) -> tf.Tensor:
        """Kernels `[K, in, out]`, each as if it stood alone."""
        limit = (6.0 / (shape[-2] + shape[-1])) ** 0.5
        return keras.random.uniform(shape, -limit, limit, dtype=dtype, seed=self.seed)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {"seed": self.seed}
