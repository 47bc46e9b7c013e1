"""SAGB, Algorithm 3: sampling and aggregating with global bias, from top to bottom.

Lines 1-4, the sampling, are `cade_tf.sampling`; what it hands over are `Trees`. `SageLayer` is one
round of lines 7 and 8 (equations 5 and 6), `SAGB` is the loop of lines 5-12 with the global bias
of line 9 (equations 7 and 8).
"""

from collections.abc import Sequence
from typing import Any

import keras
import tensorflow as tf

from cade_tf.errors import InputError
from cade_tf.layers.global_bias import GlobalBias
from cade_tf.layers.sage_layer import SageLayer, Shape
from cade_tf.sampling.trees import Trees


@keras.saving.register_keras_serializable("cade_tf")
class SAGB(keras.layers.Layer):
    """Algorithm 3: the base encoder.

    It encodes dense hop tensors, as a layer of any Keras model, or `Trees`, in which the nodes of
    a whole batch are shared.

    Args:
        dim: Width of hidden layers and of the output.
        depth: L, number of layers.
        aggregator: mean, pool or lstm.
        parameter_sets: K parallel parameter sets (CADE-MA); 1 otherwise.
        activation: Of hidden layers.
        last_activation: Of the last layer.
        num_nodes: Rows of the global bias B that the layer owns, one per known node; 0 for none.
        project_first: See `SageLayer`; for the first round on trees.
        seed: Seed of the initial weights.

    Input shape:
        A list of L + 1 hop tensors: `[n, width]`, `[n, s_1, width]`, `[n, s_1, s_2, width]` and so
        on, and optionally `ids`, the nodes' rows in B: a list of L integer tensors `[n]`,
        `[n, s_1]` and so on, -1 for a node without a row. Or `Trees` with L levels.

    Output shape:
        `[n, dim]`, with K > 1 parameter sets `[n, K, dim]`; of trees always `[roots, K, dim]`.

    Example:

    >>> hops = [keras.Input((8,)), keras.Input((5, 8)), keras.Input((5, 3, 8))]
    >>> SAGB(4)(hops).shape
    (None, 4)
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
        num_nodes: int = 0,
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
        self.num_nodes = num_nodes
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
        # No bias in the last layer: an encoder of one layer has none at all.
        self.bias: GlobalBias | None = None
        if num_nodes and depth > 1:
            self.bias = GlobalBias(num_nodes, dim, dtype=self.dtype_policy, name="global_bias")

    @property
    def project_first(self) -> bool:
        """Whether the first round applies W before it averages."""
        return self.rounds[0].project_first

    def build(self, inputs_shape: Any, ids_shape: Any = None, bias_shape: Any = None) -> None:
        """Builds the rounds: the first reads features, the others hidden vectors."""
        width = _first_shape(inputs_shape)[-1]
        for number, round_ in enumerate(self.rounds):
            rows = (None, width) if number == 0 else (None, self.parameter_sets, self.dim)
            round_.build(rows, ((None, None),))
        if self.bias is not None and not self.bias.built:
            self.bias.build((None,))
        super().build(inputs_shape)

    def call(
        self,
        inputs: Trees | Sequence[tf.Tensor],
        ids: Sequence[tf.Tensor] | None = None,
        bias: tf.Tensor | None = None,
    ) -> tf.Tensor:
        """Encodes the roots.

        Args:
            inputs: Hop tensors or `Trees`.
            ids: Rows of B of the nodes of hop tensors, all hops but the last.
            bias: `[b, dim]` in the place of the rows of B that `Trees.bias_index` counts, for
                callers that keep B themselves.
        """
        if isinstance(inputs, Trees):
            return self._encode(inputs, bias)
        self._check_hops(inputs)
        encoded = self._encode(trees_of_hops(inputs, ids), bias)
        return encoded if self.parameter_sets > 1 else tf.squeeze(encoded, axis=1)

    def _encode(self, trees: Trees, bias: tf.Tensor | None) -> tf.Tensor:
        if bias is None and self.bias is not None and trees.bias_rows is not None:
            # Equation 8: b_i = one_hot(i)^T B.
            bias = self.bias(trees.bias_rows)
        hidden = self.rounds[0](trees.features, trees.child_index, trees.self_index)
        for level in range(1, self.depth):
            # Line 9, equation 7: the same bias in every hidden layer and every parameter set,
            # added as the next layer reads it; the last layer has none.
            hidden = self.rounds[level](
                hidden,
                trees.child_positions[: self.depth - level],
                bias=bias,
                bias_index=None if bias is None else trees.bias_index,
            )
        return hidden

    def _check_hops(self, hops: Sequence[tf.Tensor]) -> None:
        ranks = [hop.shape.rank for hop in hops]
        if ranks != list(range(2, self.depth + 3)):
            raise InputError(
                "inputs",
                f"{self.depth + 1} hop tensors of ranks 2 to {self.depth + 2}",
                f"tensors of ranks {ranks}",
                "Give [n, width], [n, s_1, width] and so on, one per layer and the root's.",
            )

    def compute_output_shape(
        self, inputs_shape: Any, ids_shape: Any = None, bias_shape: Any = None
    ) -> Shape:
        """`[n, dim]` or `[n, K, dim]`."""
        if isinstance(inputs_shape, Trees):
            return (inputs_shape.child_index[0][0], self.parameter_sets, self.dim)
        roots = _first_shape(inputs_shape)[0]
        return (
            (roots, self.parameter_sets, self.dim)
            if self.parameter_sets > 1
            else (
                roots,
                self.dim,
            )
        )

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
            "num_nodes": self.num_nodes,
            "project_first": self.project_first,
            "seed": self.seed,
        }


def trees_of_hops(hops: Sequence[tf.Tensor], ids: Sequence[tf.Tensor] | None = None) -> Trees:
    """Dense trees, each place of which has features of its own, as SAGB reads them.

    Args:
        hops: `[n, width]`, then `[n, s_1, width]`, `[n, s_1, s_2, width]` and so on.
        ids: Rows of the global bias of all nodes but those of the last hop.
    """
    features = [tf.reshape(hop, [-1, hop.shape[-1]]) for hop in hops]
    starts = [tf.constant(0)]
    for rows in features:
        starts.append(starts[-1] + tf.shape(rows)[0])
    child_index = tuple(
        tf.reshape(tf.range(starts[hop], starts[hop + 1]), [-1, hops[hop].shape[hop]])
        for hop in range(1, len(hops))
    )
    instances = tf.range(starts[-2])
    bias_rows = bias_index = None
    if ids is not None:
        bias_rows = tf.concat([tf.reshape(rows, [-1]) for rows in ids], 0)
        bias_index = instances
    return Trees(
        tf.concat(features, 0), instances, child_index, child_index[:-1], bias_rows, bias_index
    )


def _first_shape(inputs_shape: Any) -> Shape:
    """Shape of the features, or of the root's hop."""
    return tuple(inputs_shape[0])
