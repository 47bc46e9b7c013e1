"""The memorable global bias B: one trainable row per known node."""

from collections.abc import Callable
from typing import Any, Protocol

import keras
import tensorflow as tf


class RowStore(Protocol):
    """Rows of B that are kept outside of the layer, as on parameter servers or on disk.

    Attributes:
        table: The variable, sharded variable or file of the rows.
        watched: What a gradient tape watches in the place of the table.
    """

    table: Any
    watched: tf.Variable

    def lookup(self, rows: tf.Tensor) -> tf.Tensor:
        """Rows by number; their gradient is that of `watched`, as IndexedSlices."""

    def update(
        self, rows: tf.Tensor, gradients: tf.Tensor, optimizer: Any, number: tf.Tensor
    ) -> None:
        """Updates distinct rows as an `Adam` does, in the step of a number, from 1."""


def lookup_with_gradient(
    store: RowStore, rows: tf.Tensor, fetch: Callable[[tf.Tensor], tf.Tensor]
) -> tf.Tensor:
    """What `fetch` finds, with a gradient that goes to one scalar in the place of the table.

    The gradient is rows of the table by their numbers: exactly what a plain variable would get.

    Args:
        store: Whose rows they are.
        rows: Integers [n].
        fetch: Reads rows by number.
    """

    @tf.custom_gradient
    def read(watched: tf.Tensor) -> tuple[tf.Tensor, Any]:
        def gradient(upstream: tf.Tensor) -> tf.IndexedSlices:
            shape = tf.constant(list(store.table.shape), tf.int64)
            return tf.IndexedSlices(upstream, rows, shape)

        return fetch(rows), gradient

    return read(store.watched)


@keras.saving.register_keras_serializable("cade_tf")
class GlobalBias(keras.layers.Layer):
    """A row of B for each node, exactly zero for nodes that training never saw.

    Rows are read by look-up, so that the gradient is row-sparse; `cade_tf.optimizers.Adam` updates
    only the rows that were read.

    Args:
        num_nodes: Number of known nodes.
        dim: Width of a row.

    Input shape:
        Integers `[n]`; -1 stands for an unseen node.

    Output shape:
        `[n, dim]`.

    Example:

    >>> GlobalBias(3, 2)(tf.constant([0, -1])).shape
    TensorShape([2, 2])
    """

    def __init__(self, num_nodes: int, dim: int, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.num_nodes = num_nodes
        self.dim = dim
        self.store: RowStore | None = None

    def keep_in(self, store: RowStore) -> None:
        """Keeps the rows in a store instead of a weight; to be called before `build`."""
        self.store = store

    @property
    def weight(self) -> Any:
        """The table as a weight; None where a store keeps it."""
        return self.table if self.store is None else None

    @property
    def variable(self) -> Any:
        """The table itself, wherever it is kept."""
        return self.table.value if self.store is None else self.store.table

    @property
    def watched(self) -> tf.Variable:
        """What a gradient tape watches to get the gradient of the rows that were read."""
        return self.table.value if self.store is None else self.store.watched

    def build(self, input_shape: tuple[int | None, ...]) -> None:
        """Creates the table, zero at first."""
        # Without autocast `call` reads the variable itself, also in mixed precision: a cast of the
        # whole table would cost its size every step and make the gradient dense.
        if self.store is None:
            self.table = self.add_weight(
                name="table",
                shape=(self.num_nodes, self.dim),
                initializer="zeros",
                autocast=False,
            )
        super().build(input_shape)

    def call(self, rows: tf.Tensor) -> tf.Tensor:
        """Looks the rows up."""
        known = tf.maximum(rows, 0)
        if self.store is None:
            found = tf.gather(self.table.value, known)
        else:
            found = self.store.lookup(known)
        bias = tf.where(tf.expand_dims(rows >= 0, 1), found, tf.zeros_like(found))
        return tf.cast(bias, self.compute_dtype)

    def compute_output_shape(self, input_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """`[n, dim]`."""
        return (*input_shape, self.dim)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), "num_nodes": self.num_nodes, "dim": self.dim}
