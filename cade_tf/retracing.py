"""Hides TensorFlow's warnings about retracing where every model has to trace a function.

TensorFlow counts how often a function of one name is traced. A function that belongs to a model is
traced once for each model, as it should be; after some trainings in one process TensorFlow takes
that for a mistake and says so.
"""

import logging
from typing import Any

_SIGN = "triggered tf.function retracing"


class _ForEachModel(logging.Filter):
    """Drops the warning for functions that are traced for each model."""

    def __init__(self) -> None:
        super().__init__()
        self.names: set[str] = set()

    def filter(self, record: logging.LogRecord) -> bool:
        """Whether a message is shown."""
        message = record.getMessage()
        return _SIGN not in message or not any(name in message for name in self.names)


_filter = _ForEachModel()
logging.getLogger("tensorflow").addFilter(_filter)


def traced_for_each_model(function: Any) -> Any:
    """Decorates a `tf.function` that every model traces again: nobody is warned of that.

    Example:

    >>> import tensorflow as tf
    >>> @traced_for_each_model
    ... @tf.function
    ... def twice(value):
    ...     return 2 * value
    >>> int(twice(tf.constant(2)))
    4
    """
    _filter.names.add(f" {function.python_function.__qualname__} ")
    return function
