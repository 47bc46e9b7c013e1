"""Dropout as a view of the graph: a step reads tables in which something is missing.

What is missing is a function of seed, step and node, as all draws are: the same for every place
of a node in a batch, on every replica, and in a resumed run.
"""

import dataclasses

import tensorflow as tf

from cade_tf.sampling import random
from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.sampling.tables import Rows, RowSource, Table, distinct

NO_ROW = -1
"""Row of a node without a global bias."""


def with_dropout(
    graph: GraphTables,
    feature_dropout: float,
    bias_dropout: float,
    seed: int,
    step: tf.Tensor,
) -> GraphTables:
    """The graph as one step of training sees it.

    Args:
        graph: Tables of the graph.
        feature_dropout: Share of a node's features that are missing.
        bias_dropout: Share of nodes whose global bias is missing.
        seed: Seed of the run.
        step: Number of the step.
    """
    if feature_dropout:
        key = random.make_key(seed, random.Stream.FEATURE_DROPOUT, step)
        graph = dataclasses.replace(
            graph, features=DroppedFeatures(graph.features, key, feature_dropout)
        )
    if bias_dropout:
        key = random.make_key(seed, random.Stream.BIAS_DROPOUT, step)
        rows = DroppedBiasRows(graph.bias_rows, graph.num_nodes, key, bias_dropout)
        graph = dataclasses.replace(graph, bias_rows=rows)
    return graph


class DroppedFeatures:
    """Rows of features of which a random share is zero, the others scaled up to make up for it.

    Args:
        source: The features.
        key: Key of the step.
        rate: Share of the entries that are zero.

    Example:

    >>> from cade_tf.sampling.tables import TensorTable
    >>> features = DroppedFeatures(
    ...     TensorTable(tf.ones([1, 1000])), random.make_key(0, random.Stream.FEATURE_DROPOUT), 0.5
    ... )
    >>> sorted(set(features.lookup(tf.constant([0])).numpy()[0].tolist()))
    [0.0, 2.0]
    """

    def __init__(self, source: RowSource, key: tf.Tensor, rate: float) -> None:
        self.source = source
        self.key = key
        self.rate = rate

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return self.source.num_rows

    def lookup(self, ids: tf.Tensor) -> Rows:
        """Rows of the given ids, something of each missing."""
        rows = self.source.lookup(ids)
        keys = random.fold_in(self.key, ids)
        if isinstance(rows, tf.SparseTensor):
            own = random.fold_in(tf.gather(keys, rows.indices[:, 0]), rows.indices[:, 1])
            kept = self._kept(random.uniform(own, 1)[:, 0], rows.values.dtype)
            return tf.SparseTensor(rows.indices, rows.values * kept, rows.dense_shape)
        return rows * self._kept(random.uniform(keys, rows.shape[-1]), rows.dtype)

    def compact(self, ids: tf.Tensor) -> tuple[Rows, tf.Tensor]:
        """The distinct rows, and where in them those of `ids` stand."""
        once, position = distinct(ids)
        return self.lookup(once), position

    def _kept(self, chances: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
        return tf.cast(chances >= self.rate, dtype) / (1.0 - self.rate)


class DroppedBiasRows:
    """Rows of nodes in the global bias; none for a random share of the nodes.

    Args:
        source: Row of each node; None where node i has row i.
        num_rows: Number of nodes.
        key: Key of the step.
        rate: Share of the nodes that have none.

    Example:

    >>> rows = DroppedBiasRows(None, 3, random.make_key(0, random.Stream.BIAS_DROPOUT), 1.0)
    >>> rows.lookup(tf.constant([0, 2])).numpy().tolist()
    [-1, -1]
    """

    def __init__(self, source: Table | None, num_rows: int, key: tf.Tensor, rate: float) -> None:
        self.source = source
        self.num_rows = num_rows
        self.key = key
        self.rate = rate

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        """Row of each node, -1 where it has none in this step."""
        rows = ids if self.source is None else self.source.lookup(ids)
        chances = random.uniform(random.fold_in(self.key, ids), 1)[..., 0]
        return tf.where(chances >= self.rate, rows, tf.constant(NO_ROW, rows.dtype))

    def compact(self, ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The rows of `ids`, in their order."""
        return self.lookup(tf.reshape(ids, [-1])), tf.reshape(
            tf.range(tf.size(ids, ids.dtype)), tf.shape(ids)
        )

    def search(self, values: tf.Tensor) -> tf.Tensor:
        """Not for this table, whose rows are in no order."""
        raise TypeError("Rows of the global bias are not ordered.")
