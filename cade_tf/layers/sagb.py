"""SAGB, Algorithm 3: sampling and aggregating with global bias."""

from typing import Any, NamedTuple

import keras
import tensorflow as tf

from cade_tf.layers.aggregators import MeanAggregator, make_aggregator
from cade_tf.layers.parallel_dense import StackedGlorotUniform, parallel_matmul
from cade_tf.layers.sparse_ops import Rows, gather_mean, gather_rows

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
        project_first: Whether the mean applies W to each row before averaging: the same, and
            cheaper where rows are averaged often or are wider than the output. Rows must then
            stand in the order of first use, nodes before children.
        seed: Seed of the initial weights.

    Input shape:
        `rows`: `[m, width]` or `[m, K, width]`; `child_index`: a tuple of `[n_l, s_l]` whose n_l
        sum to n; `self_index`: `[n]`, or None where the nodes are the first n rows.

    Output shape:
        `[n, K, units]`.

    Example:

    >>> layer = SageLayer(4)
    >>> layer(tf.zeros([3, 2]), (tf.constant([[1, 2]]),)).shape
    TensorShape([1, 1, 4])
    """

    def __init__(
        self,
        units: int,
        *,
        aggregator: str = "mean",
        parameter_sets: int = 1,
        activation: str = "relu",
        project_first: bool = False,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.units = units
        self.aggregator = aggregator
        self.parameter_sets = parameter_sets
        self.activation = activation
        self.project_first = project_first
        self.seed = seed
        self.aggregate = make_aggregator(
            aggregator,
            parameter_sets=parameter_sets,
            seed=seed + 1,
            dtype=self.dtype_policy,
            name="aggregate",
        )

    def build(
        self,
        rows_shape: Shape,
        child_index_shape: tuple[Shape, ...],
        self_index_shape: Shape | None = None,
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
        self,
        rows: Rows,
        child_index: tuple[tf.Tensor, ...],
        self_index: tf.Tensor | None = None,
    ) -> tf.Tensor:
        """Aggregates the children and applies W and sigma."""
        if self_index is None:
            return self.combine(*_parted(rows, child_index))
        own_kernel, child_kernel = self.split_kernel()
        own = self._project_own(rows, self_index, own_kernel)
        return self._add_children(own, rows, child_index, child_kernel)

    def combine(
        self, own_rows: tf.Tensor, rows: Rows, child_index: tuple[tf.Tensor, ...]
    ) -> tf.Tensor:
        """The same where the nodes' own rows are apart from those that children are read from.

        Args:
            own_rows: `[n, width]` or `[n, K, width]`.
            rows: `[m, width]` or `[m, K, width]`.
            child_index: Positions of the children in `rows`, as in a call.
        """
        # Outside of `call` Keras casts neither inputs nor weights to the arithmetic of the layer.
        own_kernel, child_kernel, own_rows, rows = (
            tf.cast(values, self.compute_dtype) for values in (*self.split_kernel(), own_rows, rows)
        )
        own = parallel_matmul(own_rows, own_kernel)
        return self._add_children(own, rows, child_index, child_kernel)

    def _add_children(
        self,
        own: tf.Tensor,
        rows: Rows,
        child_index: tuple[tf.Tensor, ...],
        child_kernel: tf.Tensor,
    ) -> tf.Tensor:
        sparse = isinstance(rows, tf.SparseTensor)
        if isinstance(self.aggregate, MeanAggregator) and (sparse or self.project_first):
            # The mean is linear: W applied to each row before averaging gives the same.
            projected = parallel_matmul(rows, child_kernel)
            children = _joined([gather_mean(projected, index) for index in child_index])
        else:
            aggregated = _joined([self.aggregate(rows, index) for index in child_index])
            children = parallel_matmul(aggregated, child_kernel)
        return self.activate(own + children)

    def split_kernel(self) -> tuple[tf.Tensor, tf.Tensor]:
        """W's parts for the node itself and for its aggregated children."""
        own, children = tf.split(tf.convert_to_tensor(self.kernel), [self.own_width, -1], axis=1)
        return own, children

    def activate(self, outputs: tf.Tensor) -> tf.Tensor:
        """sigma."""
        return keras.activations.get(self.activation)(outputs)

    def _project_own(self, rows: Rows, self_index: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
        """The product of W's upper part with the nodes' own rows."""
        if isinstance(rows, tf.SparseTensor):
            return gather_rows(parallel_matmul(rows, kernel), self_index)
        if self.project_first:
            # A node that stands in several trees is multiplied once; rows behind the last node
            # are children only.
            nodes = rows[: tf.reduce_max(self_index) + 1]
            return gather_rows(parallel_matmul(nodes, kernel), self_index)
        return parallel_matmul(gather_rows(rows, self_index), kernel)

    def compute_output_shape(
        self,
        rows_shape: Shape,
        child_index_shape: tuple[Shape, ...],
        self_index_shape: Shape | None = None,
    ) -> Shape:
        """`[n, K, units]`."""
        counts = [shape[0] for shape in child_index_shape]
        nodes = None if None in counts else sum(n for n in counts if n is not None)
        return (nodes, self.parameter_sets, self.units)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {
            **super().get_config(),
            "units": self.units,
            "aggregator": self.aggregator,
            "parameter_sets": self.parameter_sets,
            "activation": self.activation,
            "project_first": self.project_first,
            "seed": self.seed,
        }


def _parted(
    rows: tf.Tensor, child_index: tuple[tf.Tensor, ...]
) -> tuple[tf.Tensor, tf.Tensor, tuple[tf.Tensor, ...]]:
    """Parts the rows that children are read from from the nodes' own, the first ones.

    The children of a single level all stand behind it. Reading them from a part of its own lets
    the two gradients be joined instead of padded and added.

    Returns:
        The nodes' own rows, rows to read children from, and the children's index there.
    """
    if len(child_index) == 1:
        (index,) = child_index
        nodes = tf.shape(index)[0]
        own, behind = tf.split(rows, [nodes, tf.shape(rows)[0] - nodes])
        return own, behind, (index - tf.cast(nodes, index.dtype),)
    nodes = tf.add_n([tf.shape(index)[0] for index in child_index])
    return rows[:nodes], rows, child_index


def _joined(parts: list[tf.Tensor]) -> tf.Tensor:
    return parts[0] if len(parts) == 1 else tf.concat(parts, axis=0)


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
        project_first: See `SageLayer`; for the first round.
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
        project_first: bool = False,
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
        self.project_first = project_first
        self.seed = seed
        self.rounds = [
            SageLayer(
                dim,
                aggregator=aggregator,
                parameter_sets=parameter_sets,
                activation=activation if round_ < depth else last_activation,
                project_first=project_first and round_ == 1,
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
            round_.build(rows, ((None, None),))
        super().build(inputs_shape)

    def call(self, inputs: TreeInputs) -> tf.Tensor:
        """Encodes the roots."""
        inputs = TreeInputs(*inputs)
        hidden = self.rounds[0](inputs.features, inputs.child_index, inputs.self_index)
        for level in range(1, self.depth):
            if inputs.bias is not None:
                # Line 9: the same bias in every hidden layer and every parameter set; the last
                # layer has none.
                bias = inputs.bias if level == 1 else inputs.bias[: tf.shape(hidden)[0]]
                hidden += tf.expand_dims(tf.cast(bias, hidden.dtype), 1)
            hidden = self.rounds[level](hidden, inputs.child_positions[: self.depth - level])
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
            "project_first": self.project_first,
            "seed": self.seed,
        }
