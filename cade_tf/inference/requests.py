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
        shapes = [_require_shape(bound.arguments[spec.name], spec) for spec in specs]
        return work(guarded(bound.arguments, shapes))

    function.__signature__ = signature  # type: ignore[attr-defined]
    return tf.function(function, input_signature=specs, autograph=False)


def require(condition: tf.Tensor, message: str, *received: tf.Tensor) -> Any:
    """An error with a message and some tensors where a condition does not hold.

    Args:
        condition: Boolean scalar.
        message: Begins with the name of the input.
        received: What to show behind the message.

    Returns:
        The operation to wait for; see `guarded`.
    """
    return tf.debugging.Assert(condition, [message, *received], summarize=10)


def guarded(inputs: Tensors, checks: Sequence[Any]) -> Tensors:
    """The inputs, for operations that must not run, and fail in their own words, before checks."""
    with tf.control_dependencies([check for check in checks if check is not None]):
        return {name: tf.identity(value) for name, value in inputs.items()}


def _require_shape(value: tf.Tensor, spec: tf.TensorSpec) -> Any:
    """A saved function does not compare shapes with its signature itself."""
    # TensorFlow would otherwise believe the signature, and drop the comparison.
    loose = tf.raw_ops.PlaceholderWithDefault(input=value, shape=tf.TensorShape(None))
    expected = [-1 if size is None else size for size in spec.shape]
    shape = tf.shape(loose)
    padded = tf.concat([shape, tf.zeros([len(expected)], tf.int32)], 0)[: len(expected)]
    sizes = tf.constant(expected, tf.int32, [len(expected)])
    return require(
        (tf.size(shape) == len(expected)) & tf.reduce_all((sizes == -1) | (sizes == padded)),
        f"{spec.name}: expected the shape {spec.shape}, received",
        shape,
    )


def check_row_splits(splits: tf.Tensor, values: tf.Tensor, rows: tf.Tensor | None) -> list[Any]:
    """Checks the inputs `neighbor_row_splits` and `neighbor_ids` against each other.

    Args:
        splits: int64 [rows + 1].
        values: The neighbours.
        rows: Number of new nodes; None where the splits alone say it.

    Returns:
        Operations to wait for.
    """
    name = "neighbor_row_splits: expected"
    count = tf.size(values, tf.int64)
    first, last = tf.concat([splits, [0]], 0)[0], tf.concat([[0], splits], 0)[-1]
    checks = [
        require(tf.size(splits) > 0, f"{name} at least the number 0, received nothing."),
        require(first == 0, f"{name} 0 first, received", first),
        require(
            last == count, f"{name} the number of neighbor_ids last, received (last, number)",
            last, count,
        ),
        require(
            tf.reduce_all(splits[1:] >= splits[:-1]), f"{name} ascending numbers, received", splits
        ),
    ]  # fmt: skip
    if rows is not None:
        message = f"{name} one number more than rows of features, received (numbers, rows)"
        checks.append(require(tf.size(splits) == rows + 1, message, tf.size(splits), rows))
    return checks


def check_weights(weights: tf.Tensor, neighbors: tf.Tensor) -> list[Any]:
    """Checks the input `neighbor_weights`; returns operations to wait for."""
    name = "neighbor_weights: expected"
    valid = (weights > 0) & tf.math.is_finite(weights)
    return [
        require(
            tf.size(weights) == tf.size(neighbors),
            f"{name} as many as neighbor_ids, received",
            tf.size(weights),
        ),
        require(tf.reduce_all(valid), f"{name} finite numbers above 0, received", weights),
    ]
