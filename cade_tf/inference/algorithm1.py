"""Algorithm 1: a node's embedding is the mean of its dual representations over all contexts."""

from collections.abc import Callable

import numpy as np
import tensorflow as tf

from cade_tf.inference.candidates import sampled_candidates
from cade_tf.inference.finite import require_finite
from cade_tf.inference.whole_pass import WholePass
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.progress import Shown, make_bar
from cade_tf.retracing import traced_for_each_model
from cade_tf.sampling import random
from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.sampling.tables import distinct, slices
from cade_tf.sampling.walks import walk

# Up to this much memory all nodes of a pass are encoded together; beyond it, batch by batch.
WHOLE_PASS_BYTES = 2 * 2**30
CHUNK_WALKS = 65536


def embed_all_nodes(
    model: DualEncoder,
    graph: GraphTables,
    *,
    walks: int,
    walk_length: int,
    seed: int,
    batch_size: int = 1024,
    whole_pass_bytes: int = WHOLE_PASS_BYTES,
    ids: np.ndarray | None = None,
    progress: Shown = True,
) -> np.ndarray:
    """Embeds every node of a graph.

    In each of `walks` passes a walk starts at every node; each node visited makes a pair with the
    start, and both sides of a pair add their dual representation to their node's mean. A node
    that meets nobody (an isolated one) is its own context. Every pass draws its neighbourhoods
    again; within a pass a node keeps its draws. Memory is bounded by the batch, the result and
    `whole_pass_bytes`; neither changes the result but by rounding.

    Args:
        model: A trained model.
        graph: Tables of the whole graph, unseen nodes included.
        walks: Walks from each node.
        walk_length: Steps of a walk.
        seed: The same seed gives the same embeddings.
        batch_size: Walks whose pairs are attended together.
        whole_pass_bytes: Up to this much memory, nodes are encoded once a pass and not once a
            batch, which is several times as fast.
        ids: Ids of the nodes, for errors.
        progress: Whether to show progress.

    Returns:
        float32 [nodes, dim].

    Raises:
        InputError: A number is not finite; the message names the node.
    """
    whole = None
    if WholePass.memory(model, graph.num_nodes) <= whole_pass_bytes:
        whole = WholePass(model, graph)
    total = np.zeros((graph.num_nodes, model.dim), np.float32)
    contexts = np.zeros(graph.num_nodes, np.float32)
    attend = attend_batch(model, graph, walk_length, seed)
    with make_bar(progress, "embedding", walks * graph.num_nodes, "walks") as bar:
        for number in range(walks):
            key = random.make_key(seed, random.Stream.EMBEDDING_NEIGHBOR, number)
            if whole is not None and not depends_on_partner(model):
                sides = count_contexts(graph, number, walk_length, seed)
                contexts += sides.sum(axis=0)
                first = 0
                for encoded in whole.chunks(key):
                    part = slice(first, first + len(encoded))
                    total[part] += _by_sides(model, encoded, sides[:, part]).numpy()
                    bar.advance(len(encoded))
                    first = part.stop
                continue
            encoded = tf.zeros([0, 1, 1]) if whole is None else whole.candidates(key)
            for first in range(0, graph.num_nodes, batch_size):
                last = min(first + batch_size, graph.num_nodes)
                batch = (tf.constant(n, tf.int64) for n in (first, last, number))
                nodes, sums, counts = attend(*batch, key, encoded, whole is not None)
                total[nodes] += sums
                contexts[nodes] += counts
                bar.advance(last - first)
    total /= contexts[:, None]
    return require_finite(total, ids)


def depends_on_partner(model: DualEncoder) -> bool:
    """Whether a node's representation differs from partner to partner."""
    return model.attention is not None and model.attention.depends_on_partner


def attend_batch(
    model: DualEncoder, graph: GraphTables, walk_length: int, seed: int
) -> Callable[..., tuple[tf.Tensor, tf.Tensor, tf.Tensor]]:
    """A function from starts of walks to sums of dual representations by distinct node.

    Its arguments: the first start and the one after the last, number of the pass, key of the
    pass's neighbourhoods, candidates of all nodes or anything, and whether these were given. It
    returns the distinct nodes, their sums and how many contexts they are of.
    """

    @traced_for_each_model
    @tf.function(reduce_retracing=True, autograph=False)
    def attend(
        first: tf.Tensor,
        last: tf.Tensor,
        number: tf.Tensor,
        key: tf.Tensor,
        encoded: tf.Tensor,
        given: bool,
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        nodes, partners = _pairs(graph, tf.range(first, last), number, walk_length, seed)
        ends, position = distinct(tf.concat([nodes, partners], 0))
        candidates = (
            tf.gather(encoded, ends) if given else sampled_candidates(model, graph, ends, key)
        )
        as_node, as_partner = slices(position, [tf.size(nodes), tf.size(partners)])
        count = tf.size(ends, position.dtype)
        sides = tf.stack(
            [
                tf.math.bincount(side, minlength=count, dtype=tf.float32)
                for side in (as_node, as_partner)
            ]
        )
        if depends_on_partner(model):
            pair = model.dual(tf.gather(candidates, as_node), tf.gather(candidates, as_partner))
            vectors = tf.concat([pair.nodes, pair.partners], 0)
            sums = tf.math.unsorted_segment_sum(tf.cast(vectors, tf.float32), position, count)
        else:
            sums = _by_sides(model, candidates, sides)
        return ends, sums, tf.reduce_sum(sides, axis=0)

    return attend


def count_contexts(graph: GraphTables, number: int, walk_length: int, seed: int) -> np.ndarray:
    """How often each node is on either side of the pairs of a pass, float32 [2, nodes]."""
    size = graph.num_nodes
    total = np.zeros((2, size), np.float32)
    for first in range(0, size, CHUNK_WALKS):
        starts = tf.range(first, min(first + CHUNK_WALKS, size), dtype=tf.int64)
        sides = _pairs(graph, starts, tf.constant(number, tf.int64), walk_length, seed)
        for count, side in zip(total, sides, strict=True):
            count += np.bincount(side, minlength=size)
    return total


def _pairs(
    graph: GraphTables, starts: tf.Tensor, number: tf.Tensor, walk_length: int, seed: int
) -> tuple[tf.Tensor, tf.Tensor]:
    """The pairs of a pass's walks from some nodes; an isolated node's walk pairs it with itself."""
    walk_key = random.make_key(seed, random.Stream.EMBEDDING_WALK, number)
    visited = walk(graph, starts, random.fold_in(walk_key, starts), walk_length)
    alone = graph.spans.lookup(starts)[:, 1] == 0
    nodes = tf.repeat(starts, walk_length)
    partners = tf.reshape(visited, [-1])
    valid = (nodes != partners) | tf.repeat(alone, walk_length)
    return tf.boolean_mask(nodes, valid), tf.boolean_mask(partners, valid)


def _by_sides(
    model: DualEncoder, candidates: tf.Tensor, sides: tf.Tensor | np.ndarray
) -> tf.Tensor:
    """Sums of dual representations where a node has one for each side, whatever its partner."""
    if model.attention is None:
        # Both sides are the encoder's one output.
        return (
            tf.cast(model.without_partner(candidates), tf.float32)
            * tf.reduce_sum(sides, 0)[:, None]
        )
    pair = model.dual(candidates, candidates)
    return (
        tf.cast(pair.nodes, tf.float32) * sides[0][:, None]
        + tf.cast(pair.partners, tf.float32) * sides[1][:, None]
    )
