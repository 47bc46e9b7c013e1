"""Algorithm 1: a node's embedding is the mean of its dual representations over all contexts."""

import numpy as np
import tensorflow as tf

from cade_tf.cli.progress import Progress
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.sampling import random
from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.sampling.walks import walk


def embed_all_nodes(
    model: DualEncoder,
    graph: GraphTables,
    *,
    walks: int,
    walk_length: int,
    seed: int,
    batch_size: int = 1024,
    progress: bool = True,
) -> np.ndarray:
    """Embeds every node of a graph.

    Walks start at every node, `walks` times; each node visited makes a pair with the start, and
    both sides of a pair add their dual representation to their node's mean. A node that meets
    nobody (an isolated one) is its own context. Memory is bounded by the batch and the result.

    Args:
        model: A trained model.
        graph: Tables of the whole graph, unseen nodes included.
        walks: Walks from each node.
        walk_length: Steps of a walk.
        seed: The same seed gives the same embeddings.
        batch_size: Walks encoded together.
        progress: Whether to show progress.

    Returns:
        float32 [nodes, dim].
    """
    total = np.zeros((graph.num_nodes, model.dim), np.float32)
    contexts = np.zeros(graph.num_nodes, np.float32)
    encode = _batch_encoder(model, graph, walks * graph.num_nodes, walk_length, seed)
    with Progress("embedding", walks * graph.num_nodes, "walks", quiet=not progress) as bar:
        for first in range(0, walks * graph.num_nodes, batch_size):
            nodes, sums, counts = encode(
                tf.constant(first, tf.int64), tf.constant(batch_size, tf.int64)
            )
            total[nodes] += sums
            contexts[nodes] += counts
            bar.advance(min(batch_size, walks * graph.num_nodes - first))
    return total / contexts[:, None]


def _batch_encoder(
    model: DualEncoder, graph: GraphTables, items: int, walk_length: int, seed: int
) -> tf.types.experimental.PolymorphicFunction:
    """A function from a range of walks to sums of dual representations by distinct node."""

    @tf.function
    def encode(first: tf.Tensor, size: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        # All nodes once, then all nodes again: every pass draws its neighbourhoods anew.
        item = tf.range(first, tf.minimum(first + size, items))
        starts = item % graph.num_nodes
        keys = random.fold_in(random.make_key(seed, random.Stream.EMBEDDING_WALK), item)
        visited = walk(graph, starts, keys, walk_length)
        alone = graph.spans.lookup(starts)[:, 1] == 0
        nodes = tf.repeat(starts, walk_length)
        partners = tf.reshape(visited, [-1])
        valid = (nodes != partners) | tf.repeat(alone, walk_length)
        nodes, partners = tf.boolean_mask(nodes, valid), tf.boolean_mask(partners, valid)

        both = tf.concat([nodes, partners], 0)
        distinct, position = tf.unique(both)
        draw = random.make_key(seed, random.Stream.EMBEDDING_NEIGHBOR, first)
        candidates = model.candidates(graph, distinct, draw)
        of_nodes, of_partners = tf.split(position, 2)
        pair = model.dual(tf.gather(candidates, of_nodes), tf.gather(candidates, of_partners))
        vectors = tf.cast(tf.concat([pair.nodes, pair.partners], 0), tf.float32)
        count = tf.size(distinct)
        return (
            distinct,
            tf.math.unsorted_segment_sum(vectors, position, count),
            tf.math.unsorted_segment_sum(tf.ones_like(vectors[:, 0]), position, count),
        )

    return encode
