"""From (graph, step) to a batch: a plain structure of tensors that a model scores."""

import dataclasses
from typing import NamedTuple

import tensorflow as tf

from cade_tf.errors import InputError
from cade_tf.sampling import dropout, random
from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.sampling.negatives import draw_negatives
from cade_tf.sampling.neighborhood import distinct_instances
from cade_tf.sampling.trees import Trees, TreeShape, draw_trees
from cade_tf.sampling.walks import Pairs, PairStream


class PairBatch(NamedTuple):
    """Positive pairs, their negatives, and the trees of all of them.

    Attributes:
        nodes: int64 [pairs], v.
        partners: int64 [pairs], v_p.
        valid: bool [pairs]; False for a pair that does not count (a walk back at its start).
        trees: Trees of the distinct (sampling, node) roots.
        node_index: [pairs x samplings], root of each candidate of v.
        partner_index: [pairs x samplings], root of each candidate of v_p.
        negative_index: [negatives], shared by all pairs, or [pairs, negatives]: root of each v_n.
    """

    nodes: tf.Tensor
    partners: tf.Tensor
    valid: tf.Tensor
    trees: Trees
    node_index: tf.Tensor
    partner_index: tf.Tensor
    negative_index: tf.Tensor


def make_batch(
    graph: GraphTables,
    nodes: tf.Tensor,
    partners: tf.Tensor,
    valid: tf.Tensor,
    negatives: tf.Tensor,
    shape: TreeShape,
    key: tf.Tensor,
) -> PairBatch:
    """The batch of given pairs and negatives.

    Args:
        graph: Tables of the graph.
        nodes: Integers [pairs], v.
        partners: Integers [pairs], v_p.
        valid: bool [pairs].
        negatives: Integers [negatives] shared by the batch, or [pairs, negatives].
        shape: What the model wants to have drawn.
        key: Key of the neighbour stream.
    """
    nodes, partners, negatives = (tf.cast(ids, tf.int64) for ids in (nodes, partners, negatives))
    both, of_both = every_sampling(tf.concat([nodes, partners], 0), shape.samplings)
    # A negative needs one sampling; it shares the first one's draws.
    every = tf.concat([both, tf.reshape(negatives, [-1])], 0)
    of = tf.concat([of_both, tf.zeros([tf.size(negatives)], tf.int64)], 0)
    roots, samplings, position = distinct_instances(every, of, graph.num_nodes)
    half = tf.size(nodes) * shape.samplings
    negative_index = tf.reshape(position[2 * half :], tf.shape(negatives))
    negative_index.set_shape(negatives.shape)
    return PairBatch(
        nodes,
        partners,
        valid,
        draw_trees(graph, roots, samplings, shape, key),
        position[:half],
        position[half : 2 * half],
        negative_index,
    )


def every_sampling(nodes: tf.Tensor, count: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Each node `count` times in a row, and the samplings 0..count-1 it stands for."""
    repeated = tf.repeat(tf.reshape(nodes, [-1]), count)
    return repeated, tf.range(tf.size(repeated, nodes.dtype), dtype=nodes.dtype) % count


@dataclasses.dataclass(frozen=True, kw_only=True)
class PairSampler:
    """An endless, repeatable stream of batches: batch number i is a function of seed and i.

    Args:
        graph: Tables of the training graph.
        shape: What the model wants to have drawn: `model.tree_shape`.
        batch_size: Positive pairs per batch.
        walks_per_node: Random walks from each node in one pass over all walks.
        walk_length: Steps of a walk; the start is paired with every node visited.
        shuffled: Whether all pairs of a pass are shuffled; otherwise the pairs of a walk stay in
            one batch, which then has fewer distinct nodes and is faster.
        negatives: Q, negatives per batch (or per pair).
        negatives_per_pair: Whether every pair draws negatives of its own.
        feature_dropout: Share of a node's features that a batch does not show.
        bias_dropout: Share of nodes whose global bias a batch does not show.
        seed: Seed of walks, negatives and neighbourhoods.

    Example:

    >>> import cade_tf
    >>> graph = cade_tf.digits()
    >>> model = cade_tf.CadeMS(dim=8, k=2, fanouts=(3, 2))
    >>> model.adapt(graph)
    >>> sampler = PairSampler(graph=model.tables(graph), shape=model.tree_shape, batch_size=16)
    >>> model.score_pairs(sampler.batch(0)).affinities.shape
    TensorShape([16, 21])
    """

    graph: GraphTables
    shape: TreeShape
    batch_size: int = 512
    walks_per_node: int = 100
    walk_length: int = 4
    shuffled: bool = False
    negatives: int = 20
    negatives_per_pair: bool = False
    feature_dropout: float = 0.0
    bias_dropout: float = 0.0
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("batch_size", "walks_per_node", "walk_length", "negatives"):
            if getattr(self, name) < 1:
                raise InputError(name, "at least 1", getattr(self, name), "Raise it.")

    @property
    def stream(self) -> PairStream:
        """The positive pairs."""
        return PairStream(
            walks_per_node=self.walks_per_node,
            length=self.walk_length,
            seed=self.seed,
            together=not self.shuffled,
        )

    @property
    def pairs_per_pass(self) -> int:
        """Positive pairs in one pass over all walks."""
        return self.stream.epoch_pairs(self.graph)

    def batch(
        self,
        number: tf.Tensor | int,
        *,
        first: tf.Tensor | int = 0,
        count: int | None = None,
        drops: bool = True,
    ) -> PairBatch:
        """A batch by its number, or a part of it.

        Args:
            number: From 0; training takes the number of its step.
            first: First pair of the part, for replicas that share a batch.
            count: Pairs of the part; all by default.
            drops: Whether dropout applies.
        """
        number = tf.cast(number, tf.int64)
        count = self.batch_size if count is None else count
        start = number * self.batch_size + tf.cast(first, tf.int64)
        pairs = self.stream.draw(self.graph, start, count)
        key = random.make_key(self.seed, random.Stream.NEGATIVE, number)
        if self.negatives_per_pair:
            key = random.fold_in(key, tf.range(count) + tf.cast(first, tf.int32))
        negatives = draw_negatives(self.graph, key, self.negatives)
        key = random.make_key(self.seed, random.Stream.NEIGHBOR, number)
        graph = self.graph
        if drops:
            graph = dropout.with_dropout(
                graph, self.feature_dropout, self.bias_dropout, self.seed, number
            )
        return self.assemble(graph, pairs, negatives, key)

    def assemble(
        self, graph: GraphTables, pairs: Pairs, negatives: tf.Tensor, key: tf.Tensor
    ) -> PairBatch:
        """The batch of given pairs and negatives; see `make_batch`."""
        return make_batch(graph, *pairs, negatives, self.shape, key)
