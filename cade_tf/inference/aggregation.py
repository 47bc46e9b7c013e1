"""AGGREGATE of Algorithm 3 over all neighbours of a node, however many they are.

The layers' own aggregators take a fixed number of children; these read whole rows of a CSR, with
the same weights. What an aggregator does to each child is done once per node, then kept.
"""

import tempfile
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
import tensorflow as tf

from cade_tf.graph.graph import Features
from cade_tf.layers.aggregators import Aggregator, LSTMAggregator, MaxPoolAggregator
from cade_tf.layers.parallel_dense import parallel_matmul

MEMORY_BYTES = 2 << 30
"""Larger arrays of all nodes lie in a temporary file, not in memory."""

_GATHER_BYTES = 64 << 20


class FullAggregation:
    """The mean of all neighbours, weighted by their share; base of the others.

    Args:
        rows: `[nodes, width]`, dense or CSR, or `[nodes, K, width]`.
        shares: [nodes, nodes], the share of each neighbour, every row with at least one.
        chunk_nodes: Nodes aggregated together.

    Example:

    >>> shares = sp.csr_array(np.array([[0.5, 0.5], [1.0, 0.0]], np.float32))
    >>> FullAggregation(np.array([[2.0], [4.0]]), shares, 1).aggregate(np.array([0])).tolist()
    [[3.0]]
    """

    def __init__(self, rows: Features, shares: sp.csr_array, chunk_nodes: int) -> None:
        self.rows = rows
        self.shares = shares
        self.chunk_nodes = chunk_nodes

    def chunks(self) -> Iterator[np.ndarray]:
        """Positions of all nodes, in the portions that suit the aggregator."""
        return _portions(np.arange(self.shares.shape[0]), self.chunk_nodes)

    def aggregate(self, nodes: np.ndarray) -> Features:
        """What the nodes' neighbours come to: CSR, `[n, width]` or `[n, K, width]`."""
        if sp.issparse(self.rows):
            return self.shares[nodes] @ self.rows
        flat = self.rows.reshape(len(self.rows), -1)
        return (self.shares[nodes] @ flat).reshape(-1, *self.rows.shape[1:])


class FullMaxPool(FullAggregation):
    """The element-wise maximum of a dense layer with ReLU over all neighbours."""

    def __init__(
        self, layer: MaxPoolAggregator, rows: Features, shares: sp.csr_array, chunk_nodes: int
    ) -> None:
        super().__init__(rows, shares, chunk_nodes)
        self.pooled = scratch_array((shares.shape[0], layer.parameter_sets * layer.units))
        self.parameter_sets = layer.parameter_sets
        for nodes in self.chunks():
            self.pooled[nodes] = tf.reshape(
                tf.nn.relu(layer.dense(as_rows(rows[nodes]))), [len(nodes), -1]
            )

    def aggregate(self, nodes: np.ndarray) -> np.ndarray:
        """Maxima, `[n, K, units]`."""
        block = self.shares[nodes]
        owners = np.repeat(np.arange(len(nodes)), np.diff(block.indptr))
        maxima = np.full((len(nodes), self.pooled.shape[1]), -np.inf, np.float32)
        # A hub alone may have more neighbours than fit: its maximum is taken piece by piece.
        piece = max(_GATHER_BYTES // (4 * self.pooled.shape[1]), 1)
        for first in range(0, len(owners), piece):
            mine = owners[first : first + piece]
            values = self.pooled[block.indices[first : first + piece]]
            starts = np.flatnonzero(np.diff(mine, prepend=-1))
            partial = np.maximum.reduceat(values, starts, axis=0)
            maxima[mine[starts]] = np.maximum(maxima[mine[starts]], partial)
        return maxima.reshape(len(nodes), self.parameter_sets, -1)


class FullLSTM(FullAggregation):
    """The last state of an LSTM that reads all neighbours in one fixed pseudo-random order."""

    def __init__(
        self, layer: LSTMAggregator, rows: Features, shares: sp.csr_array, chunk_nodes: int
    ) -> None:
        super().__init__(rows, shares, chunk_nodes)
        self.layer = layer
        self.degrees = np.diff(shares.indptr)
        self.inputs = scratch_array((shares.shape[0], layer.parameter_sets, 4 * layer.units))
        for nodes in _portions(np.arange(shares.shape[0]), chunk_nodes):
            self.inputs[nodes] = layer.dense(as_rows(rows[nodes])) + layer.bias
        # Training reads draws, which come in random order; ids may follow the classes.
        rank = np.random.default_rng(0).permutation(shares.shape[0])
        owners = np.repeat(np.arange(shares.shape[0]), self.degrees)
        self.ordered = shares.indices[np.lexsort((rank[shares.indices], owners))]

    def chunks(self) -> Iterator[np.ndarray]:
        """Nodes of similar degree together, so that no step is spent on padding."""
        return _portions(np.argsort(-self.degrees, kind="stable"), self.chunk_nodes)

    def aggregate(self, nodes: np.ndarray) -> np.ndarray:
        """Last states, `[n, K, units]`; `nodes` by falling degree, as `chunks` gives them."""
        degrees, starts = self.degrees[nodes], self.shares.indptr[nodes]
        shape = (len(nodes), self.layer.parameter_sets, self.layer.units)
        state, memory = np.zeros(shape, np.float32), np.zeros(shape, np.float32)
        kernel = tf.convert_to_tensor(self.layer.recurrent_kernel)
        for step in range(degrees[0]):
            reading = np.count_nonzero(degrees > step)
            gates = self.inputs[self.ordered[starts[:reading] + step]]
            gates = gates + parallel_matmul(tf.constant(state[:reading]), kernel)
            enter, forget, candidate, leave = tf.split(gates, 4, axis=-1)
            kept = tf.sigmoid(forget) * memory[:reading] + tf.sigmoid(enter) * tf.tanh(candidate)
            memory[:reading] = kept
            state[:reading] = tf.sigmoid(leave) * tf.tanh(kept)
        return state


def make_aggregation(
    layer: Aggregator, rows: Features, shares: sp.csr_array, chunk_nodes: int
) -> FullAggregation:
    """The aggregation over all neighbours that has the weights of a layer's aggregator."""
    if isinstance(layer, MaxPoolAggregator):
        return FullMaxPool(layer, rows, shares, chunk_nodes)
    if isinstance(layer, LSTMAggregator):
        return FullLSTM(layer, rows, shares, chunk_nodes)
    return FullAggregation(rows, shares, chunk_nodes)


def as_rows(rows: Features) -> tf.Tensor | tf.SparseTensor:
    """Rows of features as TensorFlow takes them."""
    if not sp.issparse(rows):
        return tf.convert_to_tensor(rows)
    entries = sp.coo_array(rows)
    return tf.SparseTensor(np.stack(entries.coords, axis=1), entries.data, rows.shape)


def scratch_array(shape: tuple[int, ...]) -> np.ndarray:
    """An uninitialised float32 array, in a nameless temporary file where it is large."""
    if 4 * np.prod(shape, dtype=np.int64) <= MEMORY_BYTES:
        return np.empty(shape, np.float32)
    with tempfile.TemporaryFile() as file:
        return np.memmap(file, np.float32, "w+", shape=shape)


def _portions(nodes: np.ndarray, size: int) -> Iterator[np.ndarray]:
    return (nodes[first : first + size] for first in range(0, len(nodes), size))
