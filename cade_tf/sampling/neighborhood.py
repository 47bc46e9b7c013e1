"""Neighbourhood trees of a batch (Algorithm 3, lines 1-4), each distinct node once per level.

The paper draws a tree for every root. Here a node that stands several times on one level of one
sampling shares its draw, so a level is a list of distinct (sampling, node) pairs and a tree is
read off by following positions. Each single tree keeps the paper's distribution. On the last level
samplings share a node where what they draw for it is the same to the model.
"""

import functools
from typing import NamedTuple

import tensorflow as tf

from cade_tf.sampling import random
from cade_tf.sampling.graph_tables import GraphTables, node_dtype
from cade_tf.sampling.neighbors import draw_neighbors, draw_places
from cade_tf.sampling.tables import distinct

SET_BITS = 20
"""Sets of at most so many neighbours are compared."""


class Neighborhood(NamedTuple):
    """Sampled trees with shared nodes; an instance is a (sampling, node) on a level.

    Attributes:
        nodes: [instances], node of each instance, levels 0..L-1 one after the other; level 0 are
            the roots in the order given.
        child_nodes: A level each, [instances of the level, fan-out]: sampled children.
        child_positions: A level each but the last, [instances of the level, fan-out]: where the
            children stand in `nodes`.
    """

    nodes: tf.Tensor
    child_nodes: tuple[tf.Tensor, ...]
    child_positions: tuple[tf.Tensor, ...]


def sample_neighborhood(
    graph: GraphTables,
    roots: tf.Tensor,
    samplings: tf.Tensor,
    fanouts: tuple[int, ...],
    key: tf.Tensor,
    *,
    several: bool = True,
    as_sets: bool = False,
) -> Neighborhood:
    """Draws the trees of some roots.

    Args:
        graph: Tables of the graph.
        roots: Integers [n], distinct together with `samplings`.
        samplings: Integers [n], which of the K samplings each root stands for.
        fanouts: Neighbours drawn on each level, the root's first.
        key: Key of the neighbour stream of this step.
        several: Whether there is more than one sampling, so that some can share.
        as_sets: Whether samplings in which a node of the last level draws the same children, in
            whatever order and number, share it.

    Returns:
        The neighbourhood.
    """
    nodes, sampling = roots, samplings
    all_nodes: list[tf.Tensor] = []
    child_nodes: list[tf.Tensor] = []
    child_positions: list[tf.Tensor] = []
    before = tf.constant(0)
    for level, fanout in enumerate(fanouts):
        children = draw_children(graph, nodes, sampling, key, level, fanout)
        all_nodes.append(nodes)
        child_nodes.append(children)
        before += tf.size(nodes)
        if level + 1 < len(fanouts):
            of = tf.broadcast_to(sampling[:, None], tf.shape(children))
            last = level + 2 == len(fanouts)
            if last and several:
                # A node with a single neighbour draws it in every sampling.
                single = graph.spans.lookup(children)[..., 1] <= 1
                of = tf.where(single, tf.zeros_like(of), of)
            nodes, sampling, position = distinct_instances(children, of, graph.num_nodes)
            if last and as_sets:
                keys = draw_keys(nodes, sampling, key, level + 1)
                nodes, sampling, same = _distinct_sets(graph, nodes, sampling, keys, fanouts[-1])
                position = tf.gather(same, position)
            child_positions.append(position + tf.cast(before, position.dtype))
    return Neighborhood(tf.concat(all_nodes, 0), tuple(child_nodes), tuple(child_positions))


def _distinct_sets(
    graph: GraphTables, nodes: tf.Tensor, samplings: tf.Tensor, keys: tf.Tensor, fanout: int
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Instances that draw different children; as `distinct_instances`.

    A set of a few neighbours is a number with a bit for each; of many, two are seldom the same.
    """
    spans = graph.spans.lookup(nodes)
    places = draw_places(graph, nodes, spans, keys, fanout)
    bits = tf.bitwise.left_shift(tf.ones_like(places), tf.clip_by_value(places, 0, SET_BITS))
    drawn = functools.reduce(tf.bitwise.bitwise_or, (bits[:, draw] for draw in range(fanout)))
    number = tf.where(spans[:, 1] <= SET_BITS, drawn, tf.cast(samplings, drawn.dtype))
    once, same = distinct(tf.cast(nodes, tf.int64) * 2**SET_BITS + number)
    # Any of the samplings stands for all that drew the same.
    sampling = tf.tensor_scatter_nd_update(
        tf.zeros_like(once, samplings.dtype), tf.expand_dims(same, 1), samplings
    )
    return tf.cast(once // 2**SET_BITS, nodes.dtype), sampling, same


def draw_children(
    graph: GraphTables,
    nodes: tf.Tensor,
    samplings: tf.Tensor,
    key: tf.Tensor,
    level: tf.Tensor | int,
    fanout: int,
) -> tf.Tensor:
    """Children `[n, fanout]` of nodes on a level: a function of the key, level, sampling, node."""
    return draw_neighbors(graph, nodes, draw_keys(nodes, samplings, key, level), fanout)


def draw_keys(
    nodes: tf.Tensor, samplings: tf.Tensor, key: tf.Tensor, level: tf.Tensor | int
) -> tf.Tensor:
    """Keys of the draws of nodes on a level, uint32 [n]."""
    return random.fold_in(random.fold_in(random.fold_in(key, level), samplings), nodes)


def distinct_instances(
    nodes: tf.Tensor, samplings: tf.Tensor, num_nodes: int, max_samplings: int = 256
) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
    """Distinct (sampling, node) pairs in the order of their first appearance.

    Returns:
        Nodes, samplings, and the position of each input pair among them (shape of the input).
    """
    dtype = node_dtype(num_nodes, max_samplings)
    code = tf.cast(samplings, dtype) * num_nodes + tf.cast(nodes, dtype)
    once, position = distinct(code)
    return once % num_nodes, once // num_nodes, position
