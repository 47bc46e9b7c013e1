"""A layer of SAGB: Algorithm 3, lines 7 and 8 (equations 5 and 6)."""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from cade_tf.layers.aggregators import MeanAggregator, make_aggregator
from cade_tf.layers.parallel_dense import StackedGlorotUniform, parallel_matmul
from cade_tf.layers.sparse_ops import (
    Children,
    Rows,
    SelfAndMean,
    block_diagonal,
    first_rows,
    gather_rows,
    sparse_matmul,
)

Shape = tuple[int | None, ...]


@keras.saving.register_keras_serializable("cade_tf")
class SageLayer(keras.layers.Layer):
    """One round of Algorithm 3, lines 7 and 8: sigma(W [h || AGGREGATE(children)]).

    `combine` is the arithmetic itself: own rows, rows that children are read from, and an index.
    A call does the same for trees whose nodes and children share one matrix of rows, in the order
    of operations that suits the aggregator.

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
        sum to n; `self_index`: `[n]`, or None where the nodes are the first n rows. What is to be
        added to rows `[m, K, width]`: `bias` `[b, width]` and `bias_index` `[m]`, or None where
        row i has bias i.

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
        bias_shape: Shape | None = None,
        bias_index_shape: Shape | None = None,
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

    # --- the arithmetic ----------------------------------------------------------------------

    def combine(self, own_rows: Rows, rows: tf.Tensor, children: Sequence[Children]) -> tf.Tensor:
        """Lines 7 and 8 for nodes whose own rows are apart from those that children are read from.

        Args:
            own_rows: `[n, width]` or `[n, K, width]`.
            rows: `[m, width]` or `[m, K, width]`.
            children: Positions of the children in `rows`, as in a call.
        """
        return self.finish(own_rows, self._aggregated(rows, children))

    def _aggregated(self, rows: Rows, children: Sequence[Children]) -> tf.Tensor:
        """Equation 5; what is done to each child is done once for all levels."""
        transformed = self.transform(rows)
        parts = [self.aggregate.reduce(transformed, index) for index in children]
        return parts[0] if len(parts) == 1 else tf.concat(parts, axis=0)

    def transform(self, rows: Rows) -> tf.Tensor:
        """The part of equation 5 that is done to each child by itself."""
        # Outside of `call` Keras does not cast inputs to the arithmetic of the layer.
        return self.aggregate.transform(tf.cast(rows, self.compute_dtype))

    def finish(self, own_rows: Rows, aggregated: Rows) -> tf.Tensor:
        """Equation 6, where the children of each node are aggregated already."""
        own, others = (
            parallel_matmul(tf.cast(rows, self.compute_dtype), kernel)
            for rows, kernel in zip((own_rows, aggregated), self.split_kernel(), strict=True)
        )
        return self.activate(own + others)

    def split_kernel(self) -> tuple[tf.Tensor, tf.Tensor]:
        """W's parts for the node itself and for its aggregated children."""
        kernel = tf.cast(self.kernel, self.compute_dtype)
        own, children = tf.split(kernel, [self.own_width, -1], axis=1)
        return own, children

    def activate(self, outputs: tf.Tensor) -> tf.Tensor:
        """sigma."""
        return keras.activations.get(self.activation)(outputs)

    # --- the same for nodes and children that share one matrix of rows -------------------------

    def call(
        self,
        rows: Rows,
        child_index: tuple[tf.Tensor, ...],
        self_index: tf.Tensor | None = None,
        bias: tf.Tensor | None = None,
        bias_index: tf.Tensor | None = None,
    ) -> tf.Tensor:
        """Aggregates the children and applies W and sigma."""
        if isinstance(self.aggregate, MeanAggregator):
            if isinstance(rows, tf.SparseTensor) or self.project_first:
                return self._mean_of_projected(rows, child_index, self_index)
            return self._projected_mean(rows, child_index, self_index, bias, bias_index)
        if bias is not None:
            of_rows = bias if bias_index is None else gather_rows(bias, bias_index)
            rows += tf.expand_dims(tf.cast(of_rows[: tf.shape(rows)[0]], rows.dtype), 1)
        if self_index is None:
            return self.combine(*_split_levels(rows, child_index))
        # W is applied to each node once, however many samplings it stands in.
        own_kernel, child_kernel = self.split_kernel()
        own = gather_rows(parallel_matmul(_until_last(rows, self_index), own_kernel), self_index)
        others = parallel_matmul(self._aggregated(rows, child_index), child_kernel)
        return self.activate(own + others)

    def _projected_mean(
        self,
        rows: tf.Tensor,
        child_index: tuple[tf.Tensor, ...],
        self_index: tf.Tensor | None,
        bias: tf.Tensor | None,
        bias_index: tf.Tensor | None,
    ) -> tf.Tensor:
        """Means first, as one sparse product with the nodes' own rows, then W."""
        if self_index is None:
            self_index = tf.range(_count(child_index))
        joined = _self_and_mean(rows, self_index, child_index)
        if bias is not None:
            # The mean is linear: the bias takes the same way as the rows, and is never spread
            # over all of them.
            if bias_index is not None:
                self_index = tf.gather(bias_index, self_index)
                child_index = tuple(tf.gather(bias_index, index) for index in child_index)
            added = _self_and_mean(bias, self_index, child_index)
            joined += tf.expand_dims(tf.cast(added, joined.dtype), 1)
        return self.activate(parallel_matmul(joined, self.kernel))

    def _mean_of_projected(
        self, rows: Rows, child_index: tuple[tf.Tensor, ...], self_index: tf.Tensor
    ) -> tf.Tensor:
        """W first: the mean is linear, so W applied to each row before averaging is the same."""
        # One parameter set after the other: the rows of one stay in the cache while they are read.
        kernels = tf.unstack(tf.cast(self.kernel, self.compute_dtype))
        own = _until_last(rows, self_index)
        first_child = tf.shape(own)[0]
        if isinstance(rows, tf.SparseTensor):
            projected = sparse_matmul(block_diagonal(own, rows), kernels)
        else:
            projected = [
                tf.concat([tf.matmul(own, mine), tf.matmul(rows, others)], axis=0)
                for mine, others in (tf.split(k, [self.own_width, -1]) for k in kernels)
            ]
        children = tuple(index + tf.cast(first_child, index.dtype) for index in child_index)
        gather = SelfAndMean(self_index, children, self.compute_dtype)
        return self.activate(tf.stack([gather(of_set) for of_set in projected], axis=1))

    def compute_output_shape(
        self,
        rows_shape: Shape,
        child_index_shape: tuple[Shape, ...],
        self_index_shape: Shape | None = None,
        bias_shape: Shape | None = None,
        bias_index_shape: Shape | None = None,
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


def _until_last(rows: Rows, self_index: tf.Tensor) -> Rows:
    """The rows up to that of the last node; those after it are children only."""
    count = tf.reduce_max(self_index) + 1
    return first_rows(rows, count) if isinstance(rows, tf.SparseTensor) else rows[:count]


def _split_levels(
    rows: tf.Tensor, child_index: tuple[tf.Tensor, ...]
) -> tuple[tf.Tensor, tf.Tensor, tuple[tf.Tensor, ...]]:
    """The nodes' own rows, rows to read children from, and the children's positions there.

    The nodes are the first rows. The children of a single level are all among the others; reading
    them from those alone lets the two gradients be joined instead of padded and added.
    """
    if len(child_index) == 1:
        (index,) = child_index
        nodes = tf.shape(index)[0]
        own, others = tf.split(rows, [nodes, tf.shape(rows)[0] - nodes])
        return own, others, (index - tf.cast(nodes, index.dtype),)
    return rows[: _count(child_index)], rows, child_index


def _count(child_index: tuple[tf.Tensor, ...]) -> tf.Tensor:
    return tf.add_n([tf.shape(index)[0] for index in child_index])


def _self_and_mean(
    rows: tf.Tensor, self_index: tf.Tensor, child_index: tuple[tf.Tensor, ...]
) -> tf.Tensor:
    """[h || mean of the children]: `[n, 2 width]`, or `[n, K, 2 width]` of `[m, K, width]`."""
    both = SelfAndMean(self_index, child_index, rows.dtype, stacked=True)(rows)
    if rows.shape.rank == 3:
        both = both if rows.shape[1] == 1 else tf.transpose(both, [0, 2, 1, 3])
    return tf.reshape(both, [-1, *rows.shape[1:-1], 2 * rows.shape[-1]])
