"""Scores of pairs by their own dual representations, z_{v|u} . z_{u|v}; their attention."""

import math
from collections.abc import Callable
from functools import partial

import numpy as np
import tensorflow as tf

from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.graph.graph import Graph
from cade_tf.inference.algorithm1 import WHOLE_PASS_BYTES, passes_per_draw
from cade_tf.inference.on_demand import embed_pairs, neighbor_key
from cade_tf.inference.whole_pass import Candidates, WholePass, gather_candidates
from cade_tf.layers.bi_attention import entropy
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.progress import Shown, make_bar
from cade_tf.retracing import traced_for_each_model

BATCH_PAIRS = 4096

NODES_PER_PAIR = 3
"""So many nodes of a whole pass take the time of one pair by itself."""


def dual_affinities(
    model: DualEncoder,
    graph: Graph,
    pairs: np.ndarray,
    *,
    draws: int = 5,
    seed: int = 0,
    progress: Shown = True,
) -> np.ndarray:
    """How well two nodes match in the context of each other.

    What a dual encoder can say of a pair and two averaged embeddings cannot. For a model without
    attention it is the dot product of two sampled embeddings.

    Args:
        model: A trained model.
        graph: The graph.
        pairs: Integers [pairs, 2], positions of nodes.
        draws: Neighbourhoods are drawn this often; scores are means over them.
        seed: The same seed gives the same scores.
        progress: Whether to show progress.

    Returns:
        float32 [pairs].

    Raises:
        InputError: Something else than pairs of positions in the graph.

    Example:

    >>> from cade_tf.config import Config
    >>> from cade_tf.training.trainer import train
    >>> graph = Graph.from_edges([[0, 1], [1, 2]], features=[[1.0], [2.0], [3.0]])
    >>> config = Config(model="cade_ms", k=3, dim=4, fanouts=(2, 2), steps=1, batch_size=4)
    >>> model = train(graph, config, progress=False).model
    >>> dual_affinities(model, graph, np.array([[0, 1], [0, 2]]), progress=False).shape
    (2,)
    """
    pairs = _checked(pairs, graph)
    tables = model.tables(graph)
    whole = None
    fits = WholePass.memory(model, graph.num_nodes) <= WHOLE_PASS_BYTES
    if fits and graph.num_nodes <= NODES_PER_PAIR * len(pairs):
        whole = WholePass(model, tables)

    @traced_for_each_model
    @tf.function(reduce_retracing=True, autograph=False)
    def affinities(encoded: Candidates, ends: tf.Tensor, draw: tf.Tensor) -> tf.Tensor:
        if whole is None:
            pair = embed_pairs(model, tables, ends[:, 0], ends[:, 1], draw)
        else:
            both = gather_candidates(encoded, ends)
            pair = model.dual(both[:, 0], both[:, 1])
        return tf.reduce_sum(tf.cast(pair.nodes * pair.partners, tf.float32), axis=-1)

    total = np.zeros(len(pairs), np.float32)
    with make_bar(progress, "scoring", draws * len(pairs), "pairs") as bar:
        for number in range(draws):
            draw = tf.constant(seed + number)
            encoded = () if whole is None else whole.candidates(neighbor_key(draw))
            for first in range(0, len(pairs), BATCH_PAIRS):
                part = slice(first, first + BATCH_PAIRS)
                ends = tf.constant(pairs[part], tf.int64)
                total[part] += affinities(encoded, ends, draw).numpy()
                bar.advance(len(ends))
    return total / draws


def dual_scores(
    model: DualEncoder, config: Config, graph: Graph, *, progress: Shown = True
) -> Callable[[np.ndarray], np.ndarray]:
    """`dual_affinities` as a function of pairs, with the options of a training.

    Neighbourhoods are drawn about as often as Algorithm 1 draws them.
    """
    draws = max(config.embed_walks // passes_per_draw(config.embed_walks), 1)
    return partial(dual_affinities, model, graph, draws=draws, seed=config.seed, progress=progress)


def attention_flatness(
    model: DualEncoder, graph: Graph, pairs: np.ndarray, *, seed: int = 0
) -> float | None:
    """Mean entropy of the attention of pairs, as a share of the greatest there can be.

    At 1 all K x K candidates count alike and the attention does nothing; at 0 one of them is
    chosen.

    Args:
        model: A trained model.
        graph: The graph.
        pairs: Integers [pairs, 2], positions of nodes.
        seed: Seed of the neighbourhoods.

    Returns:
        A number between 0 and 1; None for a model with a single candidate.
    """
    if model.attention is None or model.k == 1:
        return None
    ends = tf.constant(_checked(pairs, graph), tf.int64)
    pair = embed_pairs(model, model.tables(graph), ends[:, 0], ends[:, 1], seed)
    return float(tf.reduce_mean(entropy(pair.attention))) / (2 * math.log(model.k))


def _checked(pairs: np.ndarray, graph: Graph) -> np.ndarray:
    pairs = np.asarray(pairs)
    if pairs.ndim != 2 or pairs.shape[1] != 2 or not np.issubdtype(pairs.dtype, np.integer):
        found = f"{pairs.dtype} of shape {pairs.shape}"
        raise InputError("pairs", "integers of shape [pairs, 2]", found, "Give two per row.")
    outside = pairs[(pairs < 0) | (pairs >= graph.num_nodes)]
    if outside.size:
        raise InputError(
            "pairs",
            f"positions from 0 to {graph.num_nodes - 1}",
            outside[0],
            "Use positions in the graph, not ids.",
        )
    return pairs
