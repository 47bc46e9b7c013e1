"""How much a step asks of the tables: look-ups, rows and bytes that would travel."""

import dataclasses
from functools import partial
from typing import Any

import tensorflow as tf

from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.sampling.tables import SparseTable, Table
from cade_tf.training.step import TrainingStep

ID_BYTES = 8


@dataclasses.dataclass
class Traffic:
    """What one step of one worker moves.

    Attributes:
        lookups: Requests to tables; each goes to every server at once.
        rows: Distinct rows that were asked for.
        asked: Rows asked for before ids were made distinct.
        bytes: Ids and rows of the graph's tables and the bias, there and back, and the gradient
            of the bias.
        weight_bytes: Dense weights and their gradients.
    """

    lookups: int = 0
    rows: int = 0
    asked: int = 0
    bytes: int = 0
    weight_bytes: int = 0

    def add(self, ids: tf.Tensor, row_bytes: int) -> None:
        """Counts one request."""
        distinct = int(tf.size(tf.unique(tf.reshape(ids, [-1]))[0]))
        self.lookups += 1
        self.asked += int(tf.size(ids))
        self.rows += distinct
        self.bytes += distinct * (ID_BYTES + row_bytes)


class CountingTable:
    """A table that counts what is asked of it; not for compiled functions.

    Args:
        table: The table.
        traffic: Where it is counted.
    """

    def __init__(self, table: Table, traffic: Traffic) -> None:
        self.table = table
        self.traffic = traffic

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return self.table.num_rows

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        """Rows of the given ids."""
        rows = self.table.lookup(ids)
        self.traffic.add(ids, _bytes_of_row(rows, ids))
        return rows

    def compact(self, ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The rows and their positions."""
        rows, position = self.table.compact(ids)
        self.traffic.add(ids, _bytes_of_row(rows, tf.range(tf.shape(rows)[0])))
        return rows, position

    def search(self, values: tf.Tensor) -> tf.Tensor:
        """First row above each value; every number travels and comes back as another."""
        self.traffic.add(tf.range(tf.size(values)), ID_BYTES)
        return self.table.search(values)


def _bytes_of_row(rows: tf.Tensor, ids: tf.Tensor) -> int:
    return int(tf.size(rows)) * rows.dtype.size // max(int(tf.size(ids)), 1)


class _CountingStore:
    """A store of the global bias that counts; a row travels there, back, and its gradient."""

    def __init__(self, bias: Any, traffic: Traffic) -> None:
        self.table, self.watched = bias.variable, bias.watched
        plain = partial(tf.gather, self.table)
        self._lookup = plain if bias.store is None else bias.store.lookup
        self._traffic = traffic

    def lookup(self, rows: tf.Tensor) -> tf.Tensor:
        width = self.table.shape[1] * self.table.dtype.size
        self._traffic.add(rows, 2 * width + ID_BYTES)
        return self._lookup(rows)

    def update(
        self, rows: tf.Tensor, gradients: tf.Tensor, optimizer: Any, number: tf.Tensor
    ) -> None:
        raise TypeError("A store that counts is not trained.")


def count_step(step: TrainingStep) -> Traffic:
    """Does the forward pass of the next step once more, counting."""
    traffic = Traffic()
    weights = [weight.value for weight in step.dense_weights]
    traffic.weight_bytes = 2 * sum(w.shape.num_elements() * w.dtype.size for w in weights)
    sampler, bias = step.sampler, step.model.bias
    store = None if bias is None else bias.store
    try:
        step.sampler = dataclasses.replace(sampler, graph=_counting(sampler.graph, traffic))
        if bias is not None:
            bias.store = _CountingStore(bias, traffic)
        step.look(sampler.batch_size)
    finally:
        step.sampler = sampler
        if bias is not None:
            bias.store = store
    return traffic


def _counting(graph: GraphTables, traffic: Traffic) -> GraphTables:
    features = graph.features
    tables: dict[str, Any] = {
        name: CountingTable(table, traffic)
        for name, table in vars(graph).items()
        if hasattr(table, "lookup") and table is not features
    }
    if isinstance(features, SparseTable):
        parts = (features.spans, features.columns, features.entries)
        spans, columns, entries = (CountingTable(part, traffic) for part in parts)
        tables["features"] = SparseTable.of_tables(spans, columns, entries, features.width)
    else:
        tables["features"] = CountingTable(features, traffic)  # type: ignore[arg-type]
    return dataclasses.replace(graph, **tables)
