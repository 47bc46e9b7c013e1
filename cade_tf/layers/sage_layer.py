"""One round of Algorithm 3: a node's own row beside its aggregated children."""

from typing import Any

import keras
import tensorflow as tf

from cade_tf.layers.aggregators import MeanAggregator, make_aggregator
from cade_tf.layers.parallel_dense import StackedGlorotUniform, parallel_matmul
from cade_tf.layers.sparse_ops import Rows, gather_rows, gather_self_and_mean

Shape = tuple[int | None, ...]


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
                return self.activate(self._mean_of_projected(rows, child_index, self_index))
            if self_index is None:
                self_index = tf.range(_count(child_index))
            joined = _self_beside_mean(rows, self_index, child_index)
            if bias is not None:
                # The mean is linear: the bias takes the same way beside the rows, and is never
                # spread over all of them.
                if bias_index is not None:
                    self_index = tf.gather(bias_index, self_index)
                    child_index = tuple(tf.gather(bias_index, index) for index in child_index)
                added = _self_beside_mean(bias, self_index, child_index)
                joined += tf.expand_dims(tf.cast(added, joined.dtype), 1)
            return self.activate(parallel_matmul(joined, self.kernel))
        if bias is not None:
            of_rows = bias if bias_index is None else gather_rows(bias, bias_index)
            rows += tf.expand_dims(tf.cast(of_rows[: tf.shape(rows)[0]], rows.dtype), 1)
        if self_index is None:
            return self.combine(*_parted(rows, child_index))
        own_kernel, child_kernel = self.split_kernel()
        if isinstance(rows, tf.SparseTensor):
            own = gather_rows(parallel_matmul(rows, own_kernel), self_index)
        else:
            own = parallel_matmul(gather_rows(rows, self_index), own_kernel)
        return self._with_children(own, rows, child_index, child_kernel)

    def combine(
        self, own_rows: tf.Tensor, rows: tf.Tensor, child_index: tuple[tf.Tensor, ...]
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
        return self._with_children(own, rows, child_index, child_kernel)

    def _with_children(
        self,
        own: tf.Tensor,
        rows: Rows,
        child_index: tuple[tf.Tensor, ...],
        child_kernel: tf.Tensor,
    ) -> tf.Tensor:
        aggregated = [self.aggregate(rows, index) for index in child_index]
        joined = aggregated[0] if len(aggregated) == 1 else tf.concat(aggregated, axis=0)
        return self.activate(own + parallel_matmul(joined, child_kernel))

    def _mean_of_projected(
        self, rows: Rows, child_index: tuple[tf.Tensor, ...], self_index: tf.Tensor
    ) -> tf.Tensor:
        """The mean is linear: W applied to each row before averaging gives the same."""
        own_kernel, child_kernel = self.split_kernel()
        # Rows behind the last node are children only.
        nodes = rows
        if not isinstance(rows, tf.SparseTensor):
            nodes = rows[: tf.reduce_max(self_index) + 1]
        own = parallel_matmul(nodes, own_kernel)
        behind = tf.shape(own)[0]
        return gather_self_and_mean(
            tf.concat([own, parallel_matmul(rows, child_kernel)], axis=0),
            self_index,
            tuple(index + tf.cast(behind, index.dtype) for index in child_index),
        )

    def split_kernel(self) -> tuple[tf.Tensor, tf.Tensor]:
        """W's parts for the node itself and for its aggregated children."""
        own, children = tf.split(tf.convert_to_tensor(self.kernel), [self.own_width, -1], axis=1)
        return own, children

    def activate(self, outputs: tf.Tensor) -> tf.Tensor:
        """sigma."""
        return keras.activations.get(self.activation)(outputs)

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
    return rows[: _count(child_index)], rows, child_index


def _count(child_index: tuple[tf.Tensor, ...]) -> tf.Tensor:
    return tf.add_n([tf.shape(index)[0] for index in child_index])


def _self_beside_mean(
    rows: tf.Tensor, self_index: tf.Tensor, child_index: tuple[tf.Tensor, ...]
) -> tf.Tensor:
    """[h || mean of the children]: `[n, 2 width]`, or `[n, K, 2 width]` of `[m, K, width]`."""
    both = gather_self_and_mean(rows, self_index, child_index, beside=True)
    if rows.shape.rank == 3:
        both = both if rows.shape[1] == 1 else tf.transpose(both, [0, 2, 1, 3])
    return tf.reshape(both, [-1, *rows.shape[1:-1], 2 * rows.shape[-1]])
