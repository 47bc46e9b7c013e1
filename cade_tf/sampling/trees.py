"""What SAGB reads: features of sampled trees, every node of which may be shared."""

from typing import NamedTuple

import tensorflow as tf

from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.sampling.neighborhood import sample_neighborhood
from cade_tf.sampling.tables import Rows, distinct, slices


class Trees(NamedTuple):
    """Sampled trees as rows and positions; an instance is a (sampling, node) on a level.

    Attributes:
        features: `[m, width]`, dense or sparse: rows of nodes.
        self_index: `[n]`, row of each instance on levels 0..L-1, level 0 first.
        child_index: One per level, `[instances, fan-out]`: rows of the children.
        child_positions: One per level but the last, `[instances, fan-out]`: the children among
            the n instances.
        bias_rows: `[b]`, rows of the global bias, -1 for a node without one; None where no node
            has one.
        bias_index: `[n]`, which of `bias_rows` each instance has.
    """

    features: Rows
    self_index: tf.Tensor
    child_index: tuple[tf.Tensor, ...]
    child_positions: tuple[tf.Tensor, ...]
    bias_rows: tf.Tensor | None = None
    bias_index: tf.Tensor | None = None


class TreeShape(NamedTuple):
    """What a model wants to have drawn for it.

    Attributes:
        fanouts: Sampled neighbours of each hop, the root's first.
        samplings: K samplings of a root's neighbourhood (CADE-MS); 1 otherwise.
        distinct_rows: Whether each row of features must stand once, in the order of first use:
            wanted by whatever multiplies every row. A mean reads rows where they are.
        global_bias: Whether rows of the global bias are wanted.
        as_sets: Whether samplings that draw the same set of children are the same to the model.
    """

    fanouts: tuple[int, ...]
    samplings: int = 1
    distinct_rows: bool = False
    global_bias: bool = False
    as_sets: bool = False


def draw_trees(
    graph: GraphTables,
    roots: tf.Tensor,
    samplings: tf.Tensor,
    shape: TreeShape,
    key: tf.Tensor,
) -> Trees:
    """Algorithm 3, lines 1-4, for distinct (sampling, root) pairs, with what the layers read.

    Args:
        graph: Tables of the graph.
        roots: Integers [n], distinct together with `samplings`.
        samplings: Integers [n], which of the K samplings each root stands for.
        shape: What the model wants.
        key: Key of the neighbour stream; equal keys give equal draws.
    """
    several = shape.samplings > 1
    drawn = sample_neighborhood(
        graph, roots, samplings, shape.fanouts, key, several=several, as_sets=shape.as_sets
    )
    nodes = [drawn.nodes, *(tf.reshape(children, [-1]) for children in drawn.child_nodes)]
    features, index = features_of(graph, tf.concat(nodes, 0), distinct_rows=shape.distinct_rows)
    self_index, *child_index = slices(index, [tf.size(part) for part in nodes])
    bias_rows = bias_index = None
    if shape.global_bias:
        # Distinct rows travel and are updated once, however often a node stands in the trees.
        once, bias_index = distinct(drawn.nodes)
        bias_rows = bias_rows_of(graph, once)
    return Trees(
        features,
        self_index,
        tuple(
            tf.reshape(flat, [-1, fanout])
            for flat, fanout in zip(child_index, shape.fanouts, strict=True)
        ),
        drawn.child_positions,
        bias_rows,
        bias_index,
    )


def features_of(
    graph: GraphTables, nodes: tf.Tensor, *, distinct_rows: bool
) -> tuple[Rows, tf.Tensor]:
    """A matrix with the features of nodes, and their positions in it.

    Args:
        graph: Tables of the graph.
        nodes: Integers [n].
        distinct_rows: Whether each row must stand once, in the order of first use.
    """
    if not distinct_rows:
        return graph.features.compact(nodes)
    once, index = distinct(nodes)
    return graph.features.lookup(once), index


def bias_rows_of(graph: GraphTables, nodes: tf.Tensor) -> tf.Tensor:
    """Row of each node in the global bias, -1 for a node that training did not see."""
    return nodes if graph.bias_rows is None else graph.bias_rows.lookup(nodes)
