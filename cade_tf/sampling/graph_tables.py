"""A graph as the tables that sampling and encoding read."""

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import tensorflow as tf

from cade_tf.errors import InputError
from cade_tf.graph.graph import Features, Graph
from cade_tf.sampling.tables import RowSource, SparseTable, Table, TensorTable, index_dtype

NEGATIVE_POWER = 0.75
"""Nodes are drawn as negatives in proportion to this power of their degree."""

DENSE_SHARE = 0.08
"""From this share of entries on, a dense product takes less time than a sparse one."""
DENSE_BYTES = 2**30
"""Larger tables stay sparse, however many entries they have."""


@dataclasses.dataclass(frozen=True)
class GraphTables:
    """What a step may look up about a graph.

    Attributes:
        num_nodes: Number of nodes.
        spans: [nodes, 2], start of a node's neighbours and their number.
        neighbors: [2 x edges], neighbours of all nodes, node after node.
        features: Scaled features, dense or sparse rows.
        walkers: [nodes with a neighbour], where a walk can start.
        negatives: Cumulative degree^0.75 of all nodes, scaled to end at 1.
        edge_chances: For weighted graphs [2 x edges]: node position plus the cumulative share of
            its neighbours, ascending over the whole array; None for graphs without weights.
        bias_rows: [nodes], row of each node in the global bias, -1 for an unseen node; None where
            node i has row i.
    """

    num_nodes: int
    spans: Table
    neighbors: Table
    features: RowSource
    walkers: Table
    negatives: Table
    edge_chances: Table | None = None
    bias_rows: Table | None = None


def make_graph_tables(
    graph: Graph,
    features: Features,
    *,
    known: np.ndarray | None = None,
    make_table: Callable[[np.ndarray], Table] = TensorTable,
) -> GraphTables:
    """Lays a graph out for sampling.

    Args:
        graph: The graph.
        features: Its features, already scaled; one row per node.
        known: Row of each node in the global bias, -1 for none; None where node i has row i.
        make_table: Keeps an array as a table; in this process by default.

    Raises:
        InputError: There are no nodes, or features of another number of nodes.
    """
    if graph.num_nodes == 0:
        raise InputError("graph", "at least one node", "none", "Load a graph with nodes.")
    if features.shape[0] != graph.num_nodes:
        raise InputError(
            "features", f"{graph.num_nodes} rows", features.shape[0], "Give every node a row."
        )
    weights = np.maximum(graph.degrees, 1).astype(np.float64) ** NEGATIVE_POWER
    cumulative = np.cumsum(weights)
    walkers = np.flatnonzero(graph.degrees)
    # A table without rows cannot be read; nothing ever reads these placeholders.
    neighbors = graph.indices if len(graph.indices) else np.zeros(1, graph.indices.dtype)
    if index_dtype() == tf.int64:
        # As int32 the host would keep them, and send all of them to the GPU in every step.
        neighbors = neighbors.astype(np.int64)
    return GraphTables(
        num_nodes=graph.num_nodes,
        spans=make_table(np.stack([graph.indptr[:-1], graph.degrees], axis=1)),
        neighbors=make_table(neighbors),
        features=_feature_table(features, make_table),
        walkers=make_table(walkers.astype(np.int64)),
        negatives=make_table(cumulative / cumulative[-1]),
        edge_chances=None if graph.edge_weights is None else make_table(_edge_chances(graph)),
        bias_rows=None if known is None else make_table(known.astype(np.int64)),
    )


def _feature_table(features: Features, make_table: Callable[[np.ndarray], Table]) -> RowSource:
    """Features as a sparse table where sparse products are worth it; the numbers are the same."""
    if isinstance(features, np.ndarray):
        return make_table(features)
    entries = math.prod(features.shape)
    if features.nnz < DENSE_SHARE * entries or 4 * entries > DENSE_BYTES:
        return SparseTable(features, make_table)
    return make_table(features.toarray())


def _edge_chances(graph: Graph) -> np.ndarray:
    """Cumulative shares of each node's edge weights, shifted by its position to ascend globally."""
    if graph.edge_weights is None or not len(graph.edge_weights):
        return np.zeros(1)
    running = np.cumsum(graph.edge_weights.astype(np.float64))
    rows = np.repeat(np.arange(graph.num_nodes), graph.degrees)
    before = np.concatenate([[0.0], running])[graph.indptr[:-1]]
    total = np.concatenate([[0.0], running])[graph.indptr[1:]] - before
    return rows + (running - before[rows]) / total[rows]


def node_dtype(num_nodes: int, samplings: int = 1) -> tf.DType:
    """Integer type for ids of (sampling, node): small ones make `tf.unique` faster."""
    return index_dtype() if num_nodes * samplings <= tf.int32.max else tf.int64
