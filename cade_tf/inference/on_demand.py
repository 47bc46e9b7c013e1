"""Embeddings of some nodes, when somebody asks for them.

Algorithm 1 embeds a whole graph: each walk serves its start and everyone it meets. Here the walks
of the nodes asked for serve those nodes alone, with every context in both roles, as v and as v_p.
All draws depend on the seed and the node only, so an answer does not depend on the company in
which a node is asked for.
"""

from collections.abc import Callable

import tensorflow as tf

from cade_tf.inference.candidates import sampled_candidates
from cade_tf.layers.bi_attention import DualPair
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.sampling import random
from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.sampling.tables import distinct
from cade_tf.sampling.walks import walk

BLOCK = 64
"""Nodes or pairs encoded together: memory does not grow with what is asked for at once."""


def embed_nodes(
    model: DualEncoder,
    graph: GraphTables,
    nodes: tf.Tensor,
    seed: tf.Tensor | int,
    *,
    walks: int,
    walk_length: int,
) -> tf.Tensor:
    """Means of the nodes' dual representations over the contexts of their own walks.

    Args:
        model: A trained model.
        graph: Tables of the graph.
        nodes: int64 [n], positions.
        seed: The same seed gives the same embeddings.
        walks: Walks from each node.
        walk_length: Steps of a walk.

    Returns:
        float32 [n, dim].
    """

    def embed(block: tf.Tensor) -> tf.Tensor:
        return _embed_block(model, graph, block, seed, walks, walk_length)

    return in_blocks(embed, nodes, tf.TensorSpec([None, model.dim], tf.float32))


def _embed_block(
    model: DualEncoder,
    graph: GraphTables,
    nodes: tf.Tensor,
    seed: tf.Tensor | int,
    walks: int,
    walk_length: int,
) -> tf.Tensor:
    count = tf.size(nodes)
    starts = tf.repeat(nodes, walks)
    number = tf.tile(tf.range(walks, dtype=tf.int64), [count])
    keys = random.fold_in(random.make_key(seed, random.Stream.EMBEDDING_WALK), number)
    visited = walk(graph, starts, random.fold_in(keys, starts), walk_length)
    owners = tf.repeat(tf.range(count), walks * walk_length)
    partners = tf.reshape(visited, [-1])
    # The walk of an isolated node stays; it is its own context.
    alone = tf.gather(graph.spans.lookup(nodes)[:, 1] == 0, owners)
    valid = (tf.gather(nodes, owners) != partners) | alone
    owners, partners = tf.boolean_mask(owners, valid), tf.boolean_mask(partners, valid)

    ends, position = distinct(tf.concat([nodes, partners], 0))
    candidates = sampled_candidates(model, graph, ends, neighbor_key(seed))
    own = tf.gather(candidates, tf.gather(position[:count], owners))
    contexts = tf.gather(candidates, position[count:])
    both = model.dual(own, contexts).nodes + model.dual(contexts, own).partners
    return tf.math.segment_mean(tf.cast(both, tf.float32) / 2, owners)


def embed_pairs(
    model: DualEncoder,
    graph: GraphTables,
    nodes: tf.Tensor,
    partners: tf.Tensor,
    seed: tf.Tensor | int,
) -> DualPair:
    """Algorithm 2 for some pairs: z_{v|u}, z_{u|v} and the attention between their candidates.

    Args:
        model: A trained model.
        graph: Tables of the graph.
        nodes: int64 [n], positions of the v.
        partners: int64 [n], positions of the u.
        seed: The same seed gives the same neighbourhoods.

    Returns:
        float32 [n, dim], [n, dim] and [n, K, K]; K is 1 for a model without attention.
    """

    def embed(pairs: tf.Tensor) -> tuple[tf.Tensor, ...]:
        ends, position = distinct(pairs)
        candidates = sampled_candidates(model, graph, ends, neighbor_key(seed))
        both = tf.gather(candidates, position)
        dual = model.dual(both[:, 0], both[:, 1])
        return tuple(tf.cast(part, tf.float32) for part in dual)

    vectors = tf.TensorSpec([None, model.dim], tf.float32)
    candidates = 1 if model.attention is None else model.k
    attention = tf.TensorSpec([None, candidates, candidates], tf.float32)
    pairs = tf.stack([nodes, partners], axis=1)
    return DualPair(*in_blocks(embed, pairs, (vectors, vectors, attention)))


def neighbor_key(seed: tf.Tensor | int) -> tf.Tensor:
    """Key of the neighbourhoods of nodes asked for."""
    return random.make_key(seed, random.Stream.EMBEDDING_NEIGHBOR)


def own_context(model: DualEncoder, candidates: tf.Tensor) -> tf.Tensor:
    """The embedding of nodes without any other context than themselves, float32 [n, dim]."""
    pair = model.dual(candidates, candidates)
    return tf.cast(pair.nodes + pair.partners, tf.float32) / 2


def in_blocks(
    function: Callable[[tf.Tensor], tf.Tensor | tuple[tf.Tensor, ...]],
    rows: tf.Tensor,
    specs: tf.TensorSpec | tuple[tf.TensorSpec, ...],
) -> tf.Tensor | tuple[tf.Tensor, ...]:
    """Applies a function of rows block by block, in a loop that a saved graph can hold.

    Args:
        function: From a block of rows to a tensor, or several, with as many rows.
        rows: Tensor with any number of rows, also none.
        specs: What the function returns.

    Returns:
        The results of all blocks, one after the other.
    """
    flat: list[tf.TensorSpec] = tf.nest.flatten(specs)
    count = tf.shape(rows)[0]
    done = tuple(tf.zeros([0, *spec.shape[1:]], spec.dtype) for spec in flat)
    arrays = tuple(
        tf.TensorArray(
            spec.dtype, 0, dynamic_size=True, infer_shape=False, element_shape=spec.shape
        )
        for spec in flat
    )

    def body(index: tf.Tensor, *written: tf.TensorArray) -> tuple[tf.Tensor | tf.TensorArray, ...]:
        results = tf.nest.flatten(function(rows[index * BLOCK : (index + 1) * BLOCK]))
        pairs = zip(written, results, strict=True)
        return index + 1, *(array.write(index, result) for array, result in pairs)

    blocks = (count + BLOCK - 1) // BLOCK
    _, *written = tf.while_loop(
        lambda index, *_: index < blocks, body, (0, *arrays), parallel_iterations=1
    )
    joined = [
        tf.cond(count > 0, array.concat, lambda empty=empty: empty)
        for array, empty in zip(written, done, strict=True)
    ]
    for tensor, spec in zip(joined, flat, strict=True):
        tensor.set_shape(spec.shape)
    return tf.nest.pack_sequence_as(specs, joined)
