"""SAGB, Algorithm 3: sampling and aggregating with global bias."""

from typing import Any, NamedTuple

import keras
import tensorflow as tf

from cade_tf.layers.aggregators import MeanAggregator, gather_mean, make_aggregator
from cade_tf.layers.parallel_dense import Rows, StackedGlorotUniform, parallel_matmul

Shape = tuple[int | None, ...]


class TreeInputs(NamedTuple):
    """Features of sampled trees, every node of which may be shared.

    Attributes:
        features: `[m, width]`, dense or sparse: rows of nodes.
        self_index: `[n]`, row of each instance on levels 0..L-1, level 0 first.
        child_index: A level each, `[instances, fan-out]`: rows of the children.
        child_positions: A level each but the last, `[instances, fan-out]`: the children among
            the n instances.
        bias: `[n, dim]`, global bias of each instance, or None.
    """

    features: Rows
    self_index: tf.Tensor
    child_index: tuple[tf.Tensor, ...]
    child_positions: tuple[tf.Tensor, ...]
    bias: tf.Tensor | None = None


@keras.saving.register_keras_serializable("cade_tf")
class SageLayer(keras.layers.Layer):
    """One round of Algorithm 3, lines 7 and 8: sigma(W [h || AGGREGATE(children)]).

    Args:
        units: Width of the output.
        aggregator: mean, pool or lstm.
        parameter_sets: K parallel sets of all parameters.
        activation: Name of sigma.
        seed: Seed of the initial weights.

    Input shape:
        `rows`: `[m, width]` or `[m, K, width]`; `self_index`: `[n]`; `child_index`: a tuple of
        `[n_l, s_l]` whose n_l sum to n.

    Output shape:
        `[n, K, units]`.

    Example:

    >>> layer = SageLayer(4)
    >>> layer(tf.zeros([3, 2]), tf.constant([0]), (tf.constant([[1, 2]]),)).shape
    TensorShape([1, 1, 4])
    """

    def __init__(
        self,
        units: int,
        *,
        aggregator: str = "mean",
        parameter_sets: int = 1,
        activation: str = "relu",
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units = units
        self.aggregator = aggregator
        self.parameter_sets = parameter_sets
        self.activation = activation
        self.seed = seed
        self.aggregate = make_aggregator(
            aggregator,
            parameter_sets=parameter_sets,
            seed=seed + 1,
            dtype=self.dtype_policy,
            name="aggregate",
        )

    def build(
        self, rows_shape: Shape, self_index_shape: Shape, child_index_shape: tuple[Shape, ...]
    ) -> None:
        """Creates W as `[K, own width + aggregated width, units]`."""
        self.own_width = rows_shape[-1]
        self.aggregate.build(rows_shape, child_index_shape[0])
        aggregated = self.aggregate.compute_output_shape(rows_shape, child_index_shape[0])
        self.kernel = self.add_weight(
            name="kernel",
            shape=(self.parameter_sets, self.own_width + aggregated[-1], self.units),
            initializer=StackedGlorotUniform(self.seed),
        )
        super().build(rows_shape)

    def call(
        self, rows: Rows, self_index: tf.Tensor, child_index: tuple[tf.Tensor, ...]
    ) -> tf.Tensor:
        """Aggregates the children and applies W and sigma."""
        if isinstance(rows, tf.SparseTensor) and isinstance(self.aggregate, MeanAggregator):
            outputs = self._project_then_average(rows, self_index, child_index)
        else:
            outputs = self._aggregate_then_project(rows, self_index, child_index)
        return keras.activations.get(self.activation)(outputs)

    def _aggregate_then_project(
        self, rows: Rows, self_index: tf.Tensor, child_index: tuple[tf.Tensor, ...]
    ) -> tf.Tensor:
        aggregated = tf.concat([self.aggregate(rows, index) for index in child_index], axis=0)
        if isinstance(rows, tf.SparseTensor):
            own = parallel_matmul(rows, self.kernel[:, : self.own_width])
            return tf.gather(own, self_index) + parallel_matmul(
                aggregated, self.kernel[:, self.own_width :]
            )
        own = tf.gather(rows, self_index)
        if own.shape.rank == aggregated.shape.rank:
            return parallel_matmul(tf.concat([own, aggregated], axis=-1), self.kernel)
        return parallel_matmul(own, self.kernel[:, : self.own_width]) + parallel_matmul(
            aggregated, self.kernel[:, self.own_width :]
        )

    def _project_then_average(
        self, rows: Rows, self_index: tf.Tensor, child_index: tuple[tf.Tensor, ...]
    ) -> tf.Tensor:
        """The mean is linear: W applied to each row before averaging gives the same."""
        own = parallel_matmul(rows, self.kernel[:, : self.own_width])
        neighbors = parallel_matmul(rows, self.kernel[:, self.own_width :])
        averaged = [gather_mean(neighbors, index) for index in child_index]
        return tf.gather(own, self_index) + tf.concat(averaged, axis=0)

    def compute_output_shape(
        self, rows_shape: Shape, self_index_shape: Shape, child_index_shape: tuple[Shape, ...]
    ) -> Shape:
        """`[n, K, units]`."""
        return (self_index_shape[0], self.parameter_sets, self.units)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {
            **super().get_config(),
            "units": self.units,
            "aggregator": self.aggregator,
            "parameter_sets": self.parameter_sets,
            "activation": self.activation,
            "seed": self.seed,
        }


@keras.saving.register_keras_serializable("cade_tf")
class SAGB(keras.layers.Layer):
    """Algorithm 3: the base encoder.

    Args:
        dim: Width of hidden layers and of the output.
        depth: L, number of layers.
        aggregator: mean, pool or lstm.
        parameter_sets: K parallel parameter sets (CADE-MA); 1 otherwise.
        activation: Of hidden layers.
        last_activation: Of the last layer.
        seed: Seed of the initial weights.

    Input shape:
        `TreeInputs` with L levels.

    Output shape:
        `[roots, K, dim]`.

    Example:

    >>> tree = TreeInputs(tf.zeros([3, 2]), tf.constant([0]), (tf.constant([[1, 2]]),), ())
    >>> SAGB(4, depth=1)(tree).shape
    TensorShape([1, 1, 4])
    """

    def __init__(
        self,
        dim: int,
        *,
        depth: int = 2,
        aggregator: str = "mean",
        parameter_sets: int = 1,
        activation: str = "relu",
        last_activation: str = "linear",
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.dim = dim
        self.depth = depth
        self.aggregator = aggregator
        self.parameter_sets = parameter_sets
        self.activation = activation
        self.last_activation = last_activation
        self.seed = seed
        self.rounds = [
            SageLayer(
                dim,
                aggregator=aggregator,
                parameter_sets=parameter_sets,
                activation=activation if round_ < depth else last_activation,
                seed=seed + 10 * round_,
                dtype=self.dtype_policy,
                name=f"round_{round_}",
            )
            for round_ in range(1, depth + 1)
        ]

    def build(self, inputs_shape: Any) -> None:
        """Builds the rounds: the first reads features, the others hidden vectors."""
        shapes = TreeInputs(*inputs_shape)
        width = shapes.features[-1]
        for number, round_ in enumerate(self.rounds):
            rows = (None, width) if number == 0 else (None, self.parameter_sets, self.dim)
            round_.build(rows, (None,), ((None, None),))
        super().build(inputs_shape)

    def call(self, inputs: TreeInputs) -> tf.Tensor:
        """Encodes the roots."""
        inputs = TreeInputs(*inputs)
        hidden = self.rounds[0](inputs.features, inputs.self_index, inputs.child_index)
        for level in range(1, self.depth):
            if inputs.bias is not None:
                # Line 9: the same bias in every hidden layer and every parameter set; the last
                # layer has none.
                hidden += tf.cast(inputs.bias[: tf.shape(hidden)[0], None], hidden.dtype)
            positions = inputs.child_positions[: self.depth - level]
            instances = tf.add_n([tf.shape(p)[0] for p in positions])
            hidden = self.rounds[level](hidden, tf.range(instances), positions)
        return hidden

    def compute_output_shape(self, inputs_shape: Any) -> Shape:
        """`[roots, K, dim]`."""
        roots = TreeInputs(*inputs_shape).child_index[0][0]
        return (roots, self.parameter_sets, self.dim)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {
            **super().get_config(),
            "dim": self.dim,
            "depth": self.depth,
            "aggregator": self.aggregator,
            "parameter_sets": self.parameter_sets,
            "activation": self.activation,
            "last_activation": self.last_activation,
            "seed": self.seed,
        }
