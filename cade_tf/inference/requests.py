"""Functions with named, checked inputs, as signatures of a SavedModel want them."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

Tensors = dict[str, tf.Tensor]


def request_function(
    work: Callable[[Tensors], Tensors],
    specs: Sequence[tf.TensorSpec],
    seed: int | None = None,
) -> Any:
    """A tf.function whose arguments have the names of the specs.

    Args:
        work: From inputs by name to outputs by name.
        specs: The inputs.
        seed: Default of a further input `seed`; None for a function that draws nothing.
    """
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    parameters = [inspect.Parameter(spec.name, kind) for spec in specs]
    specs = list(specs)
    if seed is not None:
        default = tf.constant(seed, tf.int64)
        parameters.append(inspect.Parameter("seed", kind, default=default))
        specs.append(tf.TensorSpec([], tf.int64, "seed"))
    signature = inspect.Signature(parameters)

    def function(*values: tf.Tensor, **named: tf.Tensor) -> Tensors:
        bound = signature.bind(*values, **named)
        bound.apply_defaults()
        return work(bound.arguments)

    function.__signature__ = signature  # type: ignore[attr-defined]
    return tf.function(function, input_signature=specs)


def require(condition: tf.Tensor, message: str, *received: tf.Tensor) -> None:
    """An error with a message and some tensors where a condition does not hold.

    Args:
        condition: Boolean scalar.
        message: Begins with the name of the input.
        received: What to show behind the message.
    """
    tf.debugging.Assert(condition, [message, *received], summarize=10)


def check_row_splits(splits: tf.Tensor, values: tf.Tensor, rows: tf.Tensor | None) -> None:
    """Checks the inputs `neighbor_row_splits` and `neighbor_ids` against each other.

    Args:
        splits: int64 [rows + 1].
        values: The neighbours.
        rows: Number of new nodes; None where the splits alone say it.
    """
    name = "neighbor_row_splits: expected"
    if rows is not None:
        require(
            tf.size(splits) == rows + 1,
            f"{name} one number more than rows of features, received (numbers, rows)",
            tf.size(splits),
            rows,
        )
    require(tf.size(splits) > 0, f"{name} at least the number 0, received nothing")
    require(splits[0] == 0, f"{name} 0 first, received", splits[0])
    require(
        splits[-1] == tf.size(values, tf.int64),
        f"{name} the number of neighbor_ids last, received (last, number)",
        splits[-1],
        tf.size(values),
    )
    require(tf.reduce_all(splits[1:] >= splits[:-1]), f"{name} ascending numbers, received", splits)


def check_weights(weights: tf.Tensor, neighbors: tf.Tensor) -> None:
    """Checks the input `neighbor_weights`."""
    require(
        tf.size(weights) == tf.size(neighbors),
        "neighbor_weights: expected as many as neighbor_ids, received",
        tf.size(weights),
    )
    require(
        tf.reduce_all((weights > 0) & tf.math.is_finite(weights)),
        "neighbor_weights: expected finite numbers above 0, received",
        weights,
    )
