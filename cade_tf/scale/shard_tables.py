"""The tables of a sharded graph: mapped from its files, or filled into sharded variables."""

import tempfile
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import numpy as np
import tensorflow as tf

from cade_tf.graph.features import FeatureTransform
from cade_tf.graph.readers.shards import CHUNK_BYTES, ShardedGraph
from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.sampling.tables import RowSource, SparseTable, Table
from cade_tf.scale.distant_tables import MappedTable, Residency, ShardedTable, parts_of

OpenTable: TypeAlias = Callable[[str], Table]
"""Finds a table by the name of its array; calls with one name give one table."""


def make_shard_tables(graph: ShardedGraph, open_table: OpenTable, *, training: bool) -> GraphTables:
    """Lays a sharded graph out for sampling; ids of nodes are their positions in all shards.

    Args:
        graph: The graph.
        open_table: Where its tables are.
        training: Whether only what training may see is there, or all nodes and edges.
    """
    view = "training_" if training else ""
    features: RowSource
    if graph.sparse:
        spans, columns, entries = (
            open_table(f"feature_{part}") for part in ("spans", "columns", "entries")
        )
        features = SparseTable.of_tables(spans, columns, entries, graph.width)
    else:
        features = open_table("features")
    return GraphTables(
        num_nodes=graph.num_nodes,
        spans=open_table(f"{view}spans"),
        neighbors=open_table("neighbors"),
        features=features,
        walkers=open_table("walkers"),
        negatives=open_table("negatives"),
        edge_chances=open_table(f"{view}chances") if graph.weighted else None,
    )


class MappedTables:
    """Opens tables that stay in the files of a sharded graph.

    Args:
        graph: The graph.
        transform: Scaling of its features.
        resident_bytes: How much of the files may count as memory of this process.
    """

    def __init__(
        self, graph: ShardedGraph, transform: FeatureTransform, resident_bytes: int
    ) -> None:
        self.graph = graph
        self.transform = transform
        self.residency = Residency(resident_bytes)
        self._tables: dict[str, Table] = {}

    def __call__(self, name: str) -> Table:
        """The table of an array."""
        if name not in self._tables:
            self._tables[name] = self._open(name)
        return self._tables[name]

    def _open(self, name: str) -> Table:
        if name == "feature_entries":
            # An entry can only be scaled with the rest of its row at hand.
            return MappedTable([self._scaled_entries()], residency=self.residency)
        change = self.transform.apply if name == "features" else None
        return MappedTable(self.graph.parts(name), change, self.residency)

    def _scaled_entries(self) -> np.ndarray:
        with tempfile.TemporaryFile() as file:
            for rows in self.graph.features():
                file.write(np.asarray(self.transform.apply(rows).data, np.float32).tobytes())
            return np.memmap(file, np.float32, mode="r")


class ShardedTables:
    """Opens tables that lie in pieces on the parameter servers, filled chunk by chunk.

    Args:
        graph: The graph.
        transform: Scaling of its features.
        make_variable: Makes a variable of zeros, of a shape and type.
        filled: Called after each chunk.
    """

    def __init__(
        self,
        graph: ShardedGraph,
        transform: FeatureTransform,
        make_variable: Callable[[tuple[int, ...], tf.DType], Any],
        filled: Callable[[], None] = lambda: None,
    ) -> None:
        self.graph = graph
        self.transform = transform
        self.make_variable = make_variable
        self.filled = filled
        self.bytes = 0
        self._tables: dict[str, Table] = {}

    def __call__(self, name: str) -> Table:
        """The table of an array."""
        if name not in self._tables:
            self._tables[name] = self._fill(name)
        return self._tables[name]

    def _fill(self, name: str) -> Table:
        stored = self.graph.parts(name)
        shape = (sum(map(len, stored)), *stored[0].shape[1:])
        if name == "features":
            shape = (shape[0], self.transform.output_width)
        parts = parts_of(self.make_variable(shape, tf.as_dtype(stored[0].dtype)))
        ends = np.cumsum([part.shape[0] for part in parts])
        row = 0
        for chunk in self._chunks(name):
            self.bytes += chunk.nbytes
            first = 0
            while first < len(chunk):
                number = int(np.searchsorted(ends, row, side="right"))
                count = min(len(chunk) - first, int(ends[number]) - row)
                start = row - int(ends[number] - parts[number].shape[0])
                tf.raw_ops.ResourceStridedSliceAssign(
                    ref=parts[number].handle,
                    begin=[start],
                    end=[start + count],
                    strides=[1],
                    value=chunk[first : first + count],
                )
                first, row = first + count, row + count
            self.filled()
        return ShardedTable(parts)

    def _chunks(self, name: str) -> Iterator[np.ndarray]:
        if name in ("features", "feature_entries"):
            for rows in self.graph.features():
                scaled = self.transform.apply(rows)
                yield np.asarray(scaled.data if self.graph.sparse else scaled, np.float32)
            return
        for number in range(self.graph.num_shards):
            # A mapping of its own, given up with the shard: pages that were read would stay.
            array = self.graph.part(name, number)
            step = max(1, CHUNK_BYTES // max(1, array[:1].nbytes))
            for first in range(0, len(array), step):
                yield np.asarray(array[first : first + step])
