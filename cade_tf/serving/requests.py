"""Functions with named, checked inputs, as signatures of a SavedModel want them."""

import inspect
from collections.abc import Callable, Sequence
from typing import Any

import tensorflow as tf

from cade_tf.config import LARGEST_SEED
from cade_tf.graph.features import LARGEST

Tensors = dict[str, tf.Tensor]

MAX_ROWS = 1 << 16
"""Nodes, pairs or trees of one request."""

MAX_NEIGHBORS = 1 << 22
"""Neighbours of all new nodes of one request."""


def request_function(
    work: Callable[[Tensors], Tensors],
    specs: Sequence[tf.TensorSpec],
    seed: int | None = None,
) -> Any:
    """A tf.function whose arguments have the names of the specs and whose outputs are finite.

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
        checks = [_require_shape(bound.arguments[spec.name], spec) for spec in specs]
        given = guarded(bound.arguments, checks)
        given = guarded(given, [_require_size(given[spec.name], spec) for spec in specs])
        return _require_finite(work(given), given[specs[0].name], specs[0].name)

    function.__signature__ = signature  # type: ignore[attr-defined]
    return tf.function(function, input_signature=specs, autograph=False)


def require(condition: tf.Tensor, message: str, *received: tf.Tensor) -> Any:
    """An error with a message and some tensors where a condition does not hold.

    Args:
        condition: Boolean scalar.
        message: Begins with the name of the input.
        received: What to show after the message.

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


def _require_size(value: tf.Tensor, spec: tf.TensorSpec) -> Any:
    """Bounds the work of a request, and the seed to what everything that draws takes."""
    if spec.name == "seed":
        return require(
            (value >= 0) & (value <= LARGEST_SEED),
            f"seed: expected a number from 0 to {LARGEST_SEED}, received",
            value,
        )
    most = MAX_ROWS
    if spec.name in ("neighbor_ids", "neighbor_weights"):
        most = MAX_NEIGHBORS
    elif spec.name == "neighbor_row_splits":
        most = MAX_ROWS + 1
    rows = tf.shape(value)[0]
    return require(
        rows <= most,
        f"{spec.name}: expected at most {most} rows in one request, received",
        rows,
        "Send several requests.",
    )


def _require_finite(outputs: Tensors, asked: tf.Tensor, name: str) -> Tensors:
    """Outputs, or an error that names the rows whose numbers are not finite.

    Args:
        outputs: Tensors with a row for each node, pair or tree.
        asked: The input that names the rows, where it is a list of ids; else rows are counted.
        name: Its name.
    """
    finite = [
        tf.reduce_all(tf.math.is_finite(value), axis=list(range(1, value.shape.rank)))
        for value in outputs.values()
    ]
    wrong = ~tf.reduce_all(tf.stack(finite), axis=0)
    shown = asked if name == "node_ids" else tf.range(tf.size(wrong))
    check = require(
        ~tf.reduce_any(wrong),
        f"{name}: expected numbers whose results are finite, received others for "
        + ("the ids" if name == "node_ids" else "the rows"),
        tf.boolean_mask(shown, wrong),
    )
    return guarded(outputs, [check])


def require_moderate(name: str, values: tf.Tensor) -> Any:
    """Numbers that are finite, and whose squares are."""
    # A comparison with NaN is false.
    return require(
        tf.reduce_all(tf.abs(values) <= LARGEST),
        f"{name}: expected finite numbers of at most {LARGEST:g}, received NaN, infinity or more.",
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
