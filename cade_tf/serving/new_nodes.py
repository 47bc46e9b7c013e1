"""Nodes that come with a request, added after the nodes of a graph without copying it.

A new node sees its neighbours and, through them, the graph; the nodes of the graph keep the
neighbourhoods they have, so that requests do not change each other's answers.
"""

import dataclasses
from typing import Any

import tensorflow as tf

from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.sampling.tables import RowSource, SparseTable, Table, distinct
from cade_tf.serving.requests import MAX_ROWS


def with_new_nodes(
    graph: GraphTables,
    features: tf.Tensor,
    row_splits: tf.Tensor,
    neighbors: tf.Tensor,
    weights: tf.Tensor | None = None,
) -> GraphTables:
    """Tables of a graph and of new nodes, at positions `graph.num_nodes` and on.

    Args:
        graph: Tables of the known nodes.
        features: float32 [new nodes, width], scaled.
        row_splits: int64 [new nodes + 1], where each node's neighbours begin in `neighbors`.
        neighbors: int64, positions of known nodes.
        weights: Weight of each neighbour, for graphs with weights.
    """
    lengths = row_splits[1:] - row_splits[:-1]
    edges = graph.neighbors.num_rows
    changed: dict[str, Any] = {
        "num_nodes": graph.num_nodes + MAX_ROWS,
        "spans": ExtendedTable(graph.spans, tf.stack([edges + row_splits[:-1], lengths], axis=1)),
        "neighbors": ExtendedTable(graph.neighbors, neighbors),
        "features": (
            ExtendedSparseTable(graph.features, features)
            if isinstance(graph.features, SparseTable)
            else ExtendedTable(graph.features, features)
        ),
    }
    if graph.bias_rows is not None:
        unseen = tf.fill([tf.shape(features)[0]], tf.constant(-1, tf.int64))
        changed["bias_rows"] = ExtendedTable(graph.bias_rows, unseen)
    if graph.edge_chances is not None:
        chances = _chances(lengths, tf.ones_like(neighbors) if weights is None else weights)
        changed["edge_chances"] = ExtendedTable(
            graph.edge_chances, chances, searched_from=graph.num_nodes
        )
    return dataclasses.replace(graph, **changed)


def _chances(lengths: tf.Tensor, weights: tf.Tensor) -> tf.Tensor:
    """Cumulative shares of each new node's weights, shifted by its number."""
    owners = tf.repeat(tf.range(tf.size(lengths)), lengths)
    weights = tf.cast(weights, tf.float64)
    total = tf.math.unsorted_segment_sum(weights, owners, tf.size(lengths))
    before = tf.cumsum(total, exclusive=True)
    running = tf.cumsum(weights) - tf.gather(before, owners)
    return tf.cast(owners, tf.float64) + running / tf.gather(total, owners)


class ExtendedTable:
    """A dense table with further rows after its own.

    Args:
        base: The table.
        extra: Rows after it, also none.
        searched_from: For a table of ascending numbers: what the extra ones are shifted by.

    Example:

    >>> from cade_tf.sampling.tables import TensorTable
    >>> table = ExtendedTable(TensorTable(tf.constant([5, 6])), tf.constant([7]))
    >>> table.lookup(tf.constant([2, 0])).numpy().tolist()
    [7, 5]
    """

    def __init__(self, base: RowSource, extra: tf.Tensor, searched_from: int = 0) -> None:
        self.base = base
        self.extra = extra
        self.searched_from = searched_from

    @property
    def num_rows(self) -> int:
        """Rows of the table itself; how many follow is known when the graph runs."""
        return self.base.num_rows

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        """Rows of the given ids."""
        old = self.base.lookup(tf.minimum(ids, self.num_rows - 1))
        # One row more, because a gather needs something to gather even where nothing is chosen.
        one = tf.zeros([1, *self.extra.shape[1:]], old.dtype)
        extra = tf.concat([tf.cast(self.extra, old.dtype), one], 0)
        new = tf.gather(extra, tf.maximum(ids - self.num_rows, 0))
        known = ids < self.num_rows
        for _ in range(old.shape.rank - ids.shape.rank):
            known = tf.expand_dims(known, -1)
        return tf.where(known, old, new)

    def compact(self, ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The distinct rows, in the order in which their ids first appear."""
        once, position = distinct(ids)
        return self.lookup(once), position

    def search(self, values: tf.Tensor) -> tf.Tensor:
        """First row above each value."""
        base: Table = self.base  # type: ignore[assignment]
        shift = tf.cast(self.searched_from, values.dtype)
        flat = tf.reshape(values - shift, [-1])
        new = tf.searchsorted(self.extra, flat, side="right", out_type=tf.int64)
        new = tf.reshape(new, tf.shape(values)) + self.num_rows
        return tf.where(values < shift, base.search(tf.minimum(values, shift)), new)


class ExtendedSparseTable:
    """A table of sparse rows with dense rows after its own.

    Args:
        base: The table.
        extra: float32 [rows, width].
    """

    def __init__(self, base: SparseTable, extra: tf.Tensor) -> None:
        self.base = base
        self.extra = extra

    @property
    def num_rows(self) -> int:
        """Rows of the table itself."""
        return self.base.num_rows

    def lookup(self, ids: tf.Tensor) -> tf.SparseTensor:
        """Rows of the given ids as one sparse matrix."""
        known = ids < self.num_rows
        old = self.base.lookup(tf.minimum(ids, self.num_rows - 1))
        old = tf.sparse.retain(old, tf.gather(known, old.indices[:, 0]))
        places = tf.where(~known)[:, 0]
        new = tf.sparse.from_dense(tf.gather(self.extra, tf.gather(ids, places) - self.num_rows))
        moved = tf.stack([tf.gather(places, new.indices[:, 0]), new.indices[:, 1]], axis=1)
        joined = tf.SparseTensor(
            tf.concat([old.indices, moved], 0),
            tf.concat([old.values, tf.cast(new.values, old.values.dtype)], 0),
            old.dense_shape,
        )
        return tf.sparse.reorder(joined)

    def compact(self, ids: tf.Tensor) -> tuple[tf.SparseTensor, tf.Tensor]:
        """The distinct rows, in the order in which their ids first appear."""
        once, position = distinct(ids)
        return self.lookup(once), position
