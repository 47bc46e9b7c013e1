"""AGGREGATE of Algorithm 3, line 7 (equation 5): mean, max-pool and LSTM.

An aggregator takes a matrix of rows and, for each node, the positions of its children in it. What
it does to each child (`transform`) is done once per row, however many nodes share that child; then
`reduce` brings the children of each node together. The same weights serve sampled trees, where
every node has the same number of children, and whole neighbourhoods, where it has not.
"""

from typing import Any

import keras
import numpy as np
import tensorflow as tf

from cade_tf.errors import InputError
from cade_tf.layers.parallel_dense import ParallelDense, Rows, StackedGlorotUniform, parallel_matmul
from cade_tf.layers.recurrence import last_states, read_all, read_child, split_gates
from cade_tf.layers.sparse_ops import (
    Children,
    Segments,
    gather_max,
    gather_mean,
    running_max,
    segment_max,
    segment_mean,
)

Shape = tuple[int | None, ...]


class Aggregator(keras.layers.Layer):
    """Base of the aggregators.

    Input shape:
        `values`: `[m, width]`, the same for all parameter sets, or `[m, K, width]`;
        `index`: integers `[n, s]`, positions of each node's children in `values`.

    Output shape:
        `[n, width]` (mean of shared rows) or `[n, K, width]`.
    """

    def __init__(self, *, parameter_sets: int = 1, seed: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.parameter_sets = parameter_sets
        self.seed = seed
        # XLA knows no sparse products. On a GPU Keras would compile models with this layer.
        self.supports_jit = False

    def build(self, values_shape: Shape, index_shape: Shape) -> None:
        """Creates what weights the aggregator has."""
        super().build(values_shape)

    def call(self, values: Rows, index: tf.Tensor) -> tf.Tensor:
        """Aggregates the children of each node."""
        return self.reduce(self.transform(values), index)

    def transform(self, values: Rows) -> tf.Tensor:
        """What is done to each child by itself."""
        return values

    def reduce(self, values: tf.Tensor, index: Children) -> tf.Tensor:
        """What the transformed children of each node come to."""
        raise TypeError(f"{type(self).__name__} does not say how children are brought together.")

    def reduce_drawn(self, values: tf.Tensor, index: tf.Tensor) -> tf.Tensor:
        """As `reduce`, of drawn children and without a gradient, which may be faster."""
        return self.reduce(values, index)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {
            **super().get_config(),
            "parameter_sets": self.parameter_sets,
            "seed": self.seed,
        }


@keras.saving.register_keras_serializable("cade_tf")
class MeanAggregator(Aggregator):
    """Element-wise mean of the children.

    Example:

    >>> MeanAggregator()(tf.constant([[1.0], [3.0]]), tf.constant([[0, 1]])).numpy().tolist()
    [[2.0]]
    """

    def reduce(self, values: tf.Tensor, index: Children) -> tf.Tensor:
        """Means of the children's rows."""
        if isinstance(index, Segments):
            return segment_mean(values, index)
        return gather_mean(values, index)

    def compute_output_shape(self, values_shape: Shape, index_shape: Shape) -> Shape:
        """The children's own width."""
        return (index_shape[0], *values_shape[1:])


@keras.saving.register_keras_serializable("cade_tf")
class MaxPoolAggregator(Aggregator):
    """A dense layer with ReLU for each child, then the element-wise maximum.

    Args:
        units: Width of the dense layer (GraphSAGE: 512).
        parameter_sets: K.
        seed: Seed of the initial weights.

    Example:

    >>> MaxPoolAggregator(8)(tf.zeros([5, 3]), tf.constant([[0, 1], [2, 3]])).shape
    TensorShape([2, 1, 8])
    """

    def __init__(self, units: int = 512, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units = units
        self.dense = ParallelDense(
            units,
            parameter_sets=self.parameter_sets,
            use_bias=True,
            seed=self.seed,
            dtype=self.dtype_policy,
            name="dense",
        )

    def build(self, values_shape: Shape, index_shape: Shape) -> None:
        """Builds the dense layer."""
        self.dense.build(values_shape)
        super().build(values_shape, index_shape)

    def transform(self, values: Rows) -> tf.Tensor:
        """The product of the dense layer; the rest of it is the same before and after a maximum."""
        return parallel_matmul(values, tf.cast(self.dense.kernel, self.compute_dtype))

    def reduce(self, values: tf.Tensor, index: Children) -> tf.Tensor:
        """Maxima of the transformed children."""
        largest = segment_max if isinstance(index, Segments) else gather_max
        return self._finish(largest(values, index))

    def reduce_drawn(self, values: tf.Tensor, index: tf.Tensor) -> tf.Tensor:
        """Maxima of the transformed children, without a gradient."""
        return self._finish(running_max(values, index))

    def _finish(self, found: tf.Tensor) -> tf.Tensor:
        """The rest of the dense layer."""
        return tf.nn.relu(found + tf.cast(self.dense.bias, found.dtype))

    def compute_output_shape(self, values_shape: Shape, index_shape: Shape) -> Shape:
        """`[n, K, units]`."""
        return (index_shape[0], self.parameter_sets, self.units)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), "units": self.units}


@keras.saving.register_keras_serializable("cade_tf")
class LSTMAggregator(Aggregator):
    """The last state of an LSTM that reads the children in random order.

    Neighbours are drawn independently, so the order in which they were drawn is a random
    permutation already.

    Args:
        units: Width of the state (GraphSAGE: 128).
        parameter_sets: K.
        seed: Seed of the initial weights.

    Example:

    >>> LSTMAggregator(8)(tf.zeros([5, 3]), tf.constant([[0, 1], [2, 3]])).shape
    TensorShape([2, 1, 8])
    """

    def __init__(self, units: int = 128, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units = units
        self.dense = ParallelDense(
            4 * units,
            parameter_sets=self.parameter_sets,
            seed=self.seed,
            dtype=self.dtype_policy,
            name="dense",
        )

    def build(self, values_shape: Shape, index_shape: Shape) -> None:
        """Creates the recurrent kernel `[K, units, 4 units]` and bias, gates i, f, c, o."""
        self.dense.build(values_shape)
        self.recurrent_kernel = self.add_weight(
            name="recurrent_kernel",
            shape=(self.parameter_sets, self.units, 4 * self.units),
            initializer=StackedGlorotUniform(self.seed + 1),
        )
        self.bias = self.add_weight(
            name="bias",
            shape=(self.parameter_sets, 4 * self.units),
            initializer=UnitForgetBias(),
        )
        super().build(values_shape, index_shape)

    def transform(self, values: Rows) -> tf.Tensor:
        """A child's input product, which is the same for every parent."""
        inputs = self.dense(values)
        return inputs + tf.cast(self.bias, inputs.dtype)

    def reduce(self, values: tf.Tensor, index: Children) -> tf.Tensor:
        """Reads the children one after the other."""
        kernel = tf.cast(self.recurrent_kernel, values.dtype)
        if isinstance(index, Segments):
            return self._reduce_segments(values, index, kernel)
        inputs = tf.transpose(values, [1, 0, 2])
        return tf.transpose(last_states(inputs, index, kernel), [1, 0, 2])

    def reduce_drawn(self, values: tf.Tensor, index: tf.Tensor) -> tf.Tensor:
        """Reads the children one after the other, without a gradient."""
        return read_all(values, index, tf.cast(self.recurrent_kernel, values.dtype))

    def _reduce_segments(
        self, values: tf.Tensor, segments: Segments, kernel: tf.Tensor
    ) -> tf.Tensor:
        """Nodes leave when their children are read; not for compiled functions."""
        splits, columns = np.asarray(segments.row_splits), np.asarray(segments.columns)
        degrees = np.diff(splits)
        # By falling degree, so that those who still read are the first ones.
        order = np.argsort(-degrees, kind="stable")
        starts = splits[:-1][order]
        shape = (len(order), self.parameter_sets, self.units)
        state, memory = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        for position in range(degrees.max(initial=0)):
            reading = np.count_nonzero(degrees > position)
            gates = tf.gather(values, columns[starts[:reading] + position])
            gates += parallel_matmul(tf.cast(state[:reading], values.dtype), kernel)
            read = read_child(split_gates(gates), tf.cast(memory[:reading], values.dtype))
            state[:reading], memory[:reading] = read.state(), read.memory
        result = np.empty_like(state)
        result[order] = state
        return tf.constant(result)

    def compute_output_shape(self, values_shape: Shape, index_shape: Shape) -> Shape:
        """`[n, K, units]`."""
        return (index_shape[0], self.parameter_sets, self.units)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), "units": self.units}


@keras.saving.register_keras_serializable("cade_tf")
class UnitForgetBias(keras.initializers.Initializer):
    """Zeros, but ones for the forget gate, as Keras' LSTM."""

    def __call__(self, shape: tuple[int, ...], dtype: Any = None) -> tf.Tensor:
        """Bias `[K, 4 units]`."""
        sets, width = shape
        quarter = width // 4
        bias = tf.concat([tf.zeros(quarter), tf.ones(quarter), tf.zeros(2 * quarter)], 0)
        return tf.cast(tf.tile(bias[None], [sets, 1]), dtype or "float32")

    def get_config(self) -> dict[str, Any]:
        """No arguments."""
        return {}


_AGGREGATORS = {"mean": MeanAggregator, "pool": MaxPoolAggregator, "lstm": LSTMAggregator}


def make_aggregator(kind: str, **kwargs: Any) -> Aggregator:
    """An aggregator by its name: mean, pool or lstm."""
    if kind not in _AGGREGATORS:
        raise InputError("aggregator", "one of " + ", ".join(_AGGREGATORS), kind, "Choose one.")
    return _AGGREGATORS[kind](**kwargs)
