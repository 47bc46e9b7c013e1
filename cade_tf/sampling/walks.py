"""Positive pairs: the start of a random walk with each node it visits."""

import dataclasses
from typing import NamedTuple

import tensorflow as tf

from cade_tf.sampling import random
from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.sampling.neighbors import draw_neighbors


class Pairs(NamedTuple):
    """Positive pairs (v, v_p).

    Attributes:
        nodes: int64 [pairs], v.
        partners: int64 [pairs], v_p.
        valid: bool [pairs]; False where the walk stood at its start again.
    """

    nodes: tf.Tensor
    partners: tf.Tensor
    valid: tf.Tensor


def walk(graph: GraphTables, starts: tf.Tensor, keys: tf.Tensor, length: int) -> tf.Tensor:
    """Random walks: nodes visited after 1..length steps, int64 [walks, length]."""
    visited = []
    node = starts
    for step in range(length):
        node = draw_neighbors(graph, node, random.fold_in(keys, step), 1)[:, 0]
        visited.append(node)
    return tf.stack(visited, axis=1)


@dataclasses.dataclass(frozen=True)
class PairStream:
    """An endless, repeatable stream of positive pairs.

    An epoch holds `walks_per_node` walks from every node that has a neighbour, each paired with
    all `length` positions, in a pseudo-random order of its own. Any part of the stream can be
    drawn by itself.

    Attributes:
        walks_per_node: Walks from each node in one epoch.
        length: Steps of a walk.
        seed: Seed.
        together: Whether the pairs of a walk follow each other in the stream, so that a batch
            has fewer distinct nodes; otherwise all pairs of an epoch are shuffled.
    """

    walks_per_node: int
    length: int
    seed: int
    together: bool

    def epoch_pairs(self, graph: GraphTables) -> int:
        """Pairs in one epoch."""
        return graph.walkers.num_rows * self.walks_per_node * self.length

    def draw(self, graph: GraphTables, first: tf.Tensor, count: int) -> Pairs:
        """Pairs number first..first+count-1 of the stream."""
        # A GPU would have the host wait in each turn of the loop that shuffles these few numbers.
        with tf.device("CPU:0"):
            number = tf.cast(first, tf.int64) + tf.range(count, dtype=tf.int64)
            total = self.epoch_pairs(graph)
            epoch = number // total
            within = number % total
            order = random.fold_in(random.make_key(self.seed, random.Stream.WALK_ORDER), epoch)
            if self.together:
                walk_number = random.permute(within // self.length, total // self.length, order)
                position = within % self.length
            else:
                shuffled = random.permute(within, total, order)
                walk_number, position = shuffled // self.length, shuffled % self.length
        starts = graph.walkers.lookup(walk_number % graph.walkers.num_rows)
        keys = random.fold_in(random.make_key(self.seed, random.Stream.WALK), epoch)
        visited = walk(graph, starts, random.fold_in(keys, walk_number), self.length)
        partners = tf.gather(visited, position, batch_dims=1)
        return Pairs(starts, partners, partners != starts)
