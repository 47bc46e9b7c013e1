"""Algorithm 1: a node's embedding is the mean of its dual representations over all contexts."""

import itertools
from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import tensorflow as tf

from cade_tf import machine
from cade_tf.inference.candidates import sampled_candidates
from cade_tf.inference.finite import require_finite
from cade_tf.inference.whole_pass import Candidates, WholePass, gather_candidates
from cade_tf.layers.bi_attention import weighted_sum
from cade_tf.models.dual_encoder import UNIT_EPSILON, DualEncoder
from cade_tf.progress import Bar, Shown, make_bar
from cade_tf.retracing import traced_for_each_model
from cade_tf.sampling import random
from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.sampling.tables import distinct, slices
from cade_tf.sampling.walks import walk

# Up to this much memory all nodes of a pass are encoded together; beyond it, batch by batch.
WHOLE_PASS_BYTES = max(2 * 2**30, machine.memory_bytes() // 3)
CHUNK_WALKS = 65536
CHUNK_NODES = 8192

# Encoding is most of the work. Many passes share their neighbourhoods, but there are ten draws of
# them at least, where there are as many passes.
PASSES_PER_DRAW = 10
FEWEST_DRAWS = 10


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
    that meets nobody (an isolated one) is its own context. Neighbourhoods are drawn again for
    every `passes_per_draw` passes; within them a node keeps its draws. Memory is bounded by the
    batch, the result and `whole_pass_bytes`; neither changes the result but by rounding.

    Args:
        model: A trained model.
        graph: Tables of the whole graph, unseen nodes included.
        walks: Walks from each node.
        walk_length: Steps of a walk.
        seed: The same seed gives the same embeddings.
        batch_size: Walks whose pairs are attended together.
        whole_pass_bytes: Up to this much memory, nodes are encoded once per pass and not once per
            batch, which is several times as fast.
        ids: Ids of the nodes, for errors.
        progress: Whether to show progress.

    Returns:
        float32 [nodes, dim].

    Raises:
        InputError: A number is not finite; the message names the node.
    """
    whole = None
    together = depends_on_partner(model)
    if WholePass.memory(model, graph.num_nodes, together=together) <= whole_pass_bytes:
        whole = WholePass(model, graph)
    total = np.zeros((graph.num_nodes, model.dim), np.float32)  # line 2: the sum of Z_v
    contexts = np.zeros(graph.num_nodes, np.float32)
    attend = attend_batch(model, graph, walk_length, seed)
    weigh = weigh_batch(model, walk_length, WholePass.parts(model, graph.num_nodes))
    shared = passes_per_draw(walks)
    with make_bar(progress, "embedding", walks * graph.num_nodes, "walks") as bar:
        for draw in range(-(-walks // shared)):  # lines 1 and 3: the pairs of all walks
            key = random.make_key(seed, random.Stream.EMBEDDING_NEIGHBOR, draw)
            numbers = range(draw * shared, min((draw + 1) * shared, walks))
            if whole is not None:
                every_walk = _walks_of_passes(graph, numbers, walk_length, seed)
                contexts += _add_passes(total, whole, weigh, every_walk, key, batch_size, bar)
                continue
            for number, first in itertools.product(numbers, range(0, graph.num_nodes, batch_size)):
                last = min(first + batch_size, graph.num_nodes)
                batch = (tf.constant(n, tf.int64) for n in (first, last, number))
                nodes, sums, counts = attend(*batch, key)
                total[nodes] += sums
                contexts[nodes] += counts
                bar.advance(last - first)
    total /= contexts[:, None]  # lines 8-10: the mean of Z_v
    return require_finite(total, ids)


def passes_per_draw(walks: int) -> int:
    """How many passes, each with a walk from every node, share their neighbourhoods.

    Args:
        walks: Walks from each node.

    Example:

    >>> [passes_per_draw(walks) for walks in (1, 10, 20, 100)]
    [1, 1, 2, 10]
    """
    return min(max(walks // FEWEST_DRAWS, 1), PASSES_PER_DRAW)


def _add_passes(
    total: np.ndarray,
    whole: WholePass,
    weigh: Callable[["Walks", Candidates, tf.Tensor], tf.Tensor],
    every_walk: Iterator["Walks"],
    key: tf.Tensor,
    batch_size: int,
    bar: Bar,
) -> np.ndarray:
    """Lines 3-7 for the passes of one draw, whose nodes are all encoded at once.

    Returns:
        How many contexts each node is of.
    """
    model, size = whole.model, len(total)
    sides = np.zeros((2, size), np.float32)
    if not depends_on_partner(model):
        first = starts = 0
        for walks in every_walk:
            sides += walks.count_sides(walks.nodes(), size).numpy()
            starts += len(walks.starts)
        for encoded in whole.chunks(key):
            part = slice(first, first + len(encoded))
            total[part] += _by_sides(model, encoded, sides[:, part]).numpy()
            bar.advance(len(encoded) * (starts // size))
            first = part.stop
        return sides.sum(axis=0)
    encoded = whole.candidates(key)
    parts = [slice(first, first + CHUNK_NODES) for first in range(0, size, CHUNK_NODES)]
    dots = tf.concat([_dots(_part(encoded, part)) for part in parts], axis=0)
    # A variable adds to the rows that a batch names, and leaves the others where they are.
    shares = tf.Variable(tf.zeros([size, model.k]), trainable=False)
    for walks in every_walk:
        sides += walks.count_sides(walks.nodes(), size).numpy()
        for batch in walks.batches(batch_size):
            shares.scatter_add(tf.IndexedSlices(weigh(batch, encoded, dots), batch.nodes()))
            bar.advance(len(batch.starts))
    for part in parts:
        weights = tf.gather(shares, tf.range(part.start, min(part.stop, size)))
        total[part] += weighted_sum(weights, _part(encoded, part)).numpy()
    return sides.sum(axis=0)


def depends_on_partner(model: DualEncoder) -> bool:
    """Whether a node's representation differs from partner to partner."""
    return model.attention is not None and model.attention.depends_on_partner


def attend_batch(
    model: DualEncoder, graph: GraphTables, walk_length: int, seed: int
) -> Callable[..., tuple[tf.Tensor, tf.Tensor, tf.Tensor]]:
    """A function from starts of walks to sums of dual representations by distinct node.

    Its arguments: the first start and the one after the last, number of the pass, and key of the
    pass's neighbourhoods. It returns the distinct nodes, their sums and how many contexts they
    are of.
    """

    @traced_for_each_model
    @tf.function(reduce_retracing=True, autograph=False)
    def attend(
        first: tf.Tensor, last: tf.Tensor, number: tf.Tensor, key: tf.Tensor
    ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
        walks = _walks(graph, tf.range(first, last), number, walk_length, seed)
        once, position = distinct(walks.nodes())
        candidates = sampled_candidates(model, graph, once, key)
        count = tf.size(once)
        sides = walks.count_sides(position, count)
        if depends_on_partner(model):
            ends = slices(position, walks.sizes())
            weights = _weights(model, walks, (candidates,), _dots(candidates), *ends)
            shares = tf.math.unsorted_segment_sum(weights, position, count)
            sums = weighted_sum(shares, tf.cast(candidates, tf.float32))
        else:
            sums = _by_sides(model, candidates, sides)
        return once, sums, tf.reduce_sum(sides, axis=0)

    return attend


def weigh_batch(
    model: DualEncoder, walk_length: int, parts: int = 1
) -> Callable[["Walks", Candidates, tf.Tensor], tf.Tensor]:
    """As `attend_batch`, where the candidates of all nodes are at hand.

    The arguments are walks, those candidates and their dot products. In the place of sums it
    returns `[n, K]`, the weights of the K candidates of each of the walks' nodes in its sum:
    candidates are multiplied by them once per pass. `parts` tensors hold the candidates.
    """
    # Without it the last batch, which has fewer walks, would be traced by itself.
    signature = (
        Walks(
            tf.TensorSpec([None], tf.int64),
            tf.TensorSpec([None, walk_length], tf.int64),
            tf.TensorSpec([None, walk_length], tf.bool),
        ),
        (tf.TensorSpec([None, model.k // parts, model.dim], model.compute_dtype),) * parts,
        tf.TensorSpec([None, model.k, model.k]),
    )

    @traced_for_each_model
    @tf.function(input_signature=signature, autograph=False)
    def weigh(walks: Walks, encoded: Candidates, dots: tf.Tensor) -> tf.Tensor:
        return _weights(model, walks, encoded, dots, walks.starts, walks.visited)

    return weigh


class Walks(NamedTuple):
    """Walks from some nodes.

    Attributes:
        starts: int64 [walks].
        visited: int64 [walks, length].
        valid: bool [walks, length]: whether a node visited makes a pair with the start.
    """

    starts: tf.Tensor
    visited: tf.Tensor
    valid: tf.Tensor

    def nodes(self) -> tf.Tensor:
        """Starts, then all nodes visited."""
        return tf.concat([self.starts, tf.reshape(self.visited, [-1])], 0)

    def sizes(self) -> list[tf.Tensor]:
        """How many nodes are starts and how many were visited."""
        return [tf.size(self.starts), tf.size(self.visited)]

    def batches(self, size: int) -> Iterator["Walks"]:
        """The same walks, `size` after `size`."""
        for first in range(0, len(self.starts), size):
            yield Walks(*(column[first : first + size] for column in self))

    def count_sides(self, position: tf.Tensor, count: tf.Tensor | int) -> tf.Tensor:
        """How often each of `count` nodes is on either side of a pair, float32 [2, count].

        Args:
            position: Which of them each of `nodes()` is.
            count: Number of nodes.
        """
        valid = tf.cast(self.valid, tf.float32)
        pairs = (tf.reduce_sum(valid, axis=1), tf.reshape(valid, [-1]))
        ends = slices(position, self.sizes())
        return tf.stack(
            [
                tf.math.unsorted_segment_sum(times, side, count)
                for times, side in zip(pairs, ends, strict=True)
            ]
        )


def _walks(
    graph: GraphTables, starts: tf.Tensor, number: tf.Tensor, walk_length: int, seed: int
) -> Walks:
    """A pass's walks from some nodes; an isolated node's walk pairs it with itself."""
    walk_key = random.make_key(seed, random.Stream.EMBEDDING_WALK, number)
    visited = walk(graph, starts, random.fold_in(walk_key, starts), walk_length)
    alone = graph.spans.lookup(starts)[:, 1:] == 0
    return Walks(starts, visited, (visited != starts[:, None]) | alone)


def _walks_of_passes(
    graph: GraphTables, numbers: range, walk_length: int, seed: int
) -> Iterator[Walks]:
    """The walks of some passes from all nodes."""
    for number, first in itertools.product(numbers, range(0, graph.num_nodes, CHUNK_WALKS)):
        starts = tf.range(first, min(first + CHUNK_WALKS, graph.num_nodes), dtype=tf.int64)
        yield _walks(graph, starts, tf.constant(number, tf.int64), walk_length, seed)


def _weights(
    model: DualEncoder,
    walks: Walks,
    candidates: Candidates,
    dots: tf.Tensor,
    starts: tf.Tensor,
    visited: tf.Tensor,
) -> tf.Tensor:
    """Lines 4-6: weights of the K candidates in the sums of dual representations, [nodes, K].

    A dual representation is a weighted sum of candidates, scaled to unit length where the model
    asks for it; so is a sum of them. Its length is found from the dot products of the candidates,
    and the vectors themselves are never formed.

    Args:
        model: The model.
        walks: Walks.
        candidates: Of n nodes.
        dots: Their dot products, `[n, K, K]`.
        starts: Which of the candidates each start has.
        visited: Which of them each node visited has.

    Returns:
        A row for each of `walks.nodes()`, that of a start added up over its pairs.
    """
    visited = tf.reshape(visited, tf.shape(walks.visited))
    # [walks, 1, K, dim] and [walks, length, K, dim]
    attention = model.dual(
        tf.expand_dims(gather_candidates(candidates, starts), 1),
        gather_candidates(candidates, visited),
    ).attention
    attention = tf.cast(attention, tf.float32)
    of_starts, of_visited = tf.reduce_sum(attention, axis=-1), tf.reduce_sum(attention, axis=-2)
    if model.normalize in ("output", "both"):
        of_starts *= _inverse_length(of_starts, tf.expand_dims(tf.gather(dots, starts), 1))
        of_visited *= _inverse_length(of_visited, tf.gather(dots, visited))
    valid = tf.expand_dims(tf.cast(walks.valid, tf.float32), -1)
    of_starts = tf.reduce_sum(of_starts * valid, axis=1)
    return tf.concat([of_starts, tf.reshape(of_visited * valid, [-1, model.k])], 0)


def _part(candidates: Candidates, part: slice) -> tf.Tensor:
    """Candidates of some nodes in full precision, `[n, K, dim]`."""
    return tf.cast(tf.concat([sampling[part] for sampling in candidates], axis=1), tf.float32)


def _dots(candidates: tf.Tensor) -> tf.Tensor:
    wide = tf.cast(candidates, tf.float32)
    return tf.matmul(wide, wide, transpose_b=True)


def _inverse_length(weights: tf.Tensor, dots: tf.Tensor) -> tf.Tensor:
    """1 / |sum over k of weights_k h_k|, as `unit` has it."""
    squares = tf.reduce_sum(
        tf.expand_dims(weights, -1) * tf.expand_dims(weights, -2) * dots, axis=[-2, -1]
    )
    return tf.expand_dims(tf.math.rsqrt(tf.maximum(squares, UNIT_EPSILON)), -1)


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
