"""SAGB, Algorithm 3: sampling and aggregating with global bias."""

from typing import Any, NamedTuple

import keras
import tensorflow as tf

from cade_tf.layers.sage_layer import SageLayer, Shape
from cade_tf.layers.sparse_ops import Rows


class TreeInputs(NamedTuple):
    """Features of sampled trees, every node of which may be shared.

    Attributes:
        features: `[m, width]`, dense or sparse: rows of nodes.
        self_index: `[n]`, row of each instance on levels 0..L-1, level 0 first.
        child_index: A level each, `[instances, fan-out]`: rows of the children.
        child_positions: A level each but the last, `[instances, fan-out]`: the children among
            the n instances.
        bias: `[b, dim]`, rows of the global bias, or None.
        bias_index: `[n]`, row of each instance in `bias`; None where instance i has row i.
    """

    features: Rows
    self_index: tf.Tensor
    child_index: tuple[tf.Tensor, ...]
    child_positions: tuple[tf.Tensor, ...]
    bias: tf.Tensor | None = None
    bias_index: tf.Tensor | None = None


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
            # Line 9: the same bias in every hidden layer and every parameter set, added as the next
            # layer reads it; the last layer has none.
            hidden = self.rounds[level](
                hidden,
                inputs.child_positions[: self.depth - level],
                bias=inputs.bias,
                bias_index=inputs.bias_index,
            )
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
