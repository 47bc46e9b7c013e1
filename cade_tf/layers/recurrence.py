"""An LSTM that reads the children of each node, with a gradient of its own.

TensorFlow's gradient of the unrolled loop keeps every intermediate value, and for each position a
matrix as large as that of all children. Here a position keeps its gates and its memory, all else
is computed again, and one product brings the gradients of all positions to the children. The gates
are computed apart: a product for each takes less than one for all and a copy of its parts.

In half precision only the products are: states and memories stay float32, so that a node's children
are added up as they should be, and a CPU is fast at all else in float32 alone.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import tensorflow as tf

from cade_tf.layers.sparse_ops import scatter_rows


class Cell(NamedTuple):
    """What is kept of a position for the gradient, each `[K, n, units]`."""

    enter: tf.Tensor
    forget: tf.Tensor
    candidate: tf.Tensor
    leave: tf.Tensor
    memory: tf.Tensor

    def state(self) -> tf.Tensor:
        """The state after the child."""
        return self.leave * tf.tanh(self.memory)


def read_child(gates: Sequence[tf.Tensor], memory: tf.Tensor) -> Cell:
    """What becomes of nodes that read one child each.

    Args:
        gates: i, f, c, o before their activations, each `[..., units]`.
        memory: `[..., units]`, the memory before the child.
    """
    return Cell(*_cell(*gates, memory))


def split_gates(joined: tf.Tensor) -> list[tf.Tensor]:
    """i, f, c, o of `[..., 4 units]`."""
    return tf.split(joined, 4, axis=-1)


def last_states(inputs: tf.Tensor, index: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    """States after the last child of each node.

    Args:
        inputs: `[K, m, 4 units]`, a child's part of the gates i, f, c, o.
        index: Integers `[n, s]`, positions of each node's children in `inputs`.
        kernel: `[K, units, 4 units]`, the recurrent kernel.

    Returns:
        `[K, n, units]`.
    """
    by_position = tf.transpose(index)
    nothing = _no_state(index, kernel)

    @tf.custom_gradient
    def read(inputs: tf.Tensor, kernel: tf.Tensor) -> tuple[tf.Tensor, Any]:
        cells: list[Cell] = []
        state, memory = nothing, nothing
        parts, kernels = split_gates(inputs), split_gates(kernel)
        for position in range(index.shape[1]):
            of_children = (tf.gather(part, by_position[position], axis=1) for part in parts)
            gates = [tf.cast(gate, nothing.dtype) for gate in of_children]
            if position:
                gates = [
                    gate + _product(state, weights)
                    for gate, weights in zip(gates, kernels, strict=True)
                ]
            cells.append(read_child(gates, memory))
            memory = cells[-1].memory
            state = cells[-1].state()

        def gradient(d_state: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            d_state = tf.cast(d_state, nothing.dtype)
            d_memory, d_kernel = nothing, tf.zeros(kernel.shape, nothing.dtype)
            squashed = tf.tanh(cells[-1].memory)
            d_gates = []
            for position in reversed(range(len(cells))):
                before = cells[position - 1].memory if position else nothing
                found, d_memory, squashed_before = _cell_gradient(
                    *cells[position][:4], before, squashed, d_state, d_memory
                )
                d_gates.append(found)
                if position:
                    squashed = squashed_before
                    read_state = cells[position - 1].leave * squashed
                    narrow = tf.cast(found, kernel.dtype)
                    d_kernel += _product(read_state, narrow, transpose_a=True)
                    d_state = _product(found, kernel, transpose_b=True)
            order = tf.reshape(by_position, [-1])
            # Set by set, so that never more than the gradients of one stand twice in memory.
            sets = zip(*(tf.unstack(of_sets) for of_sets in reversed(d_gates)), strict=True)
            d_inputs = [scatter_rows(tf.concat(of_set, 0), order, inputs[0]) for of_set in sets]
            return tf.cast(tf.stack(d_inputs), inputs.dtype), tf.cast(d_kernel, kernel.dtype)

        return tf.cast(state, inputs.dtype), gradient

    return read(inputs, kernel)


def read_all(inputs: tf.Tensor, index: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    """As `last_states`, without a gradient of its own: for inference.

    Args:
        inputs: `[m, K, 4 units]`, sets second: only what a position reads is turned around.
        index: Integers `[n, s]`.
        kernel: `[K, units, 4 units]`.

    Returns:
        `[n, K, units]`.
    """
    state = memory = _no_state(index, kernel)
    for number, position in enumerate(tf.unstack(index, axis=1)):
        gates = tf.cast(tf.transpose(tf.gather(inputs, position), [1, 0, 2]), state.dtype)
        if number:
            gates += _product(state, kernel)
        cell = read_child(split_gates(gates), memory)
        state, memory = cell.state(), cell.memory
    return tf.cast(tf.transpose(state, [1, 0, 2]), inputs.dtype)


def _no_state(index: tf.Tensor, kernel: tf.Tensor) -> tf.Tensor:
    """What nodes remember before their first child."""
    wide = tf.float32 if kernel.dtype.size < 4 else kernel.dtype
    return tf.zeros([kernel.shape[0], tf.shape(index)[0], kernel.shape[1]], wide)


def _product(left: tf.Tensor, right: tf.Tensor, **transposed: bool) -> tf.Tensor:
    """Products set by set, in the type of `right`; the result has that of `left`.

    Those of a single set have two dimensions, which is faster.
    """
    wide, left = left.dtype, tf.cast(left, right.dtype)
    if left.shape[0] > 1:
        return tf.cast(tf.matmul(left, right, **transposed), wide)
    product = tf.matmul(tf.squeeze(left, 0), tf.squeeze(right, 0), **transposed)
    return tf.cast(tf.expand_dims(product, 0), wide)


# Functions, so that a saved graph holds their operations once.


@tf.function(autograph=False)
def _cell(
    enter: tf.Tensor,
    forget: tf.Tensor,
    candidate: tf.Tensor,
    leave: tf.Tensor,
    memory: tf.Tensor,
) -> tuple[tf.Tensor, ...]:
    enter, forget, leave = tf.sigmoid(enter), tf.sigmoid(forget), tf.sigmoid(leave)
    candidate = tf.tanh(candidate)
    return enter, forget, candidate, leave, forget * memory + enter * candidate


@tf.function(autograph=False, experimental_attributes={"_noinline": True})
def _cell_gradient(
    enter: tf.Tensor,
    forget: tf.Tensor,
    candidate: tf.Tensor,
    leave: tf.Tensor,
    before: tf.Tensor,
    squashed: tf.Tensor,
    d_state: tf.Tensor,
    d_memory: tf.Tensor,
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Gradients of the gates `[K, n, 4 units]` and of the memory before the child; its tanh.

    Not inlined: TensorFlow would find that it knows the tanh from the way forward, and keep it.

    Args:
        enter, forget, candidate, leave: What is kept of the position.
        before: The memory before the child.
        squashed: tanh of the memory after the child.
        d_state: Gradient of the state after the child.
        d_memory: Gradient of the memory after the child by the positions after it.
    """
    sigmoid, tanh = tf.raw_ops.SigmoidGrad, tf.raw_ops.TanhGrad
    d_memory += tanh(y=squashed, dy=d_state * leave)
    d_gates = (
        sigmoid(y=enter, dy=d_memory * candidate),
        sigmoid(y=forget, dy=d_memory * before),
        tanh(y=candidate, dy=d_memory * enter),
        sigmoid(y=leave, dy=d_state * squashed),
    )
    return tf.concat(d_gates, axis=-1), d_memory * forget, tf.tanh(before)
