"""Embeddings without sampling: every layer over all neighbours, once per node.

Where Algorithm 3 samples, the mean, the maximum or the LSTM here runs over the whole
neighbourhood (an isolated node's is itself; edge weights weigh the mean as they weigh draws). So
the cost is linear in edges and nothing is random. Then all K samplings of CADE-MS coincide, and
whatever the attention weighs, every dual representation is the encoder's one output.

Algorithm 1 averages over contexts that walks find. Here a node's contexts are its neighbours,
each in both roles, as v and as v_p; an isolated node is its own context. Only the tanh score of
CADE-MA makes the contexts matter; the paper's linear one gives a node one vector for each role.
"""

from collections.abc import Callable, Iterator

import keras
import numpy as np
import scipy.sparse as sp
import tensorflow as tf

from cade_tf.cli.progress import Progress
from cade_tf.graph.graph import Features, Graph
from cade_tf.inference.aggregation import as_rows, make_aggregation, scratch_array
from cade_tf.layers.bi_attention import TanhBiAttention
from cade_tf.layers.parallel_dense import parallel_matmul
from cade_tf.layers.sage_layer import SageLayer
from cade_tf.models.dual_encoder import DualEncoder, unit

CHUNK_NODES = 4096
CHUNK_PAIRS = 2048


def embed_full_neighborhood(
    model: DualEncoder,
    graph: Graph,
    features: Features,
    *,
    bias_rows: np.ndarray | None = None,
    chunk_nodes: int = CHUNK_NODES,
    progress: bool = True,
) -> np.ndarray:
    """Embeds every node of a graph from its full neighbourhood.

    Beside the graph, memory holds one layer's output of all nodes (for CADE-MA K vectors a node)
    and what a chunk needs.

    Args:
        model: A trained model.
        graph: The graph.
        features: Its features, already scaled, dense or CSR.
        bias_rows: Row of each node in the global bias, -1 for none; None where node i has row i.
        chunk_nodes: Nodes computed together.
        progress: Whether to show progress.

    Returns:
        float32 [nodes, dim].
    """
    candidates = full_candidates(
        model, graph, features, bias_rows=bias_rows, chunk_nodes=chunk_nodes, progress=progress
    )
    result = np.empty((graph.num_nodes, model.dim), np.float32)
    if not isinstance(model.attention, TanhBiAttention):
        for nodes, vectors in candidates:
            pair = model.dual(vectors, vectors)
            result[nodes] = (pair.nodes + pair.partners) / 2
        return result
    stored = scratch_array((graph.num_nodes, model.parameter_sets, model.dim))
    for nodes, vectors in candidates:
        stored[nodes] = vectors
    return _mean_over_contexts(model, neighbor_shares(graph), stored, result)


def full_candidates(
    model: DualEncoder,
    graph: Graph,
    features: Features,
    *,
    bias_rows: np.ndarray | None = None,
    chunk_nodes: int = CHUNK_NODES,
    progress: bool = True,
) -> Iterator[tuple[np.ndarray, tf.Tensor]]:
    """The encoder's outputs of all nodes, chunk by chunk; arguments as above.

    Yields:
        Positions of nodes, and their candidates `[nodes, parameter sets, dim]`.
    """
    shares = neighbor_shares(graph)
    rounds = model.sagb.rounds
    hidden: Features = features
    with Progress("layers", len(rounds) * graph.num_nodes, "nodes", quiet=not progress) as bar:
        for round_ in rounds[:-1]:
            after = scratch_array((graph.num_nodes, model.parameter_sets, model.dim))
            for nodes, vectors in _layer(round_, hidden, shares, chunk_nodes):
                after[nodes] = vectors + _bias(model, nodes, bias_rows)
                bar.advance(len(nodes))
            hidden = after
        for nodes, vectors in _layer(rounds[-1], hidden, shares, chunk_nodes):
            yield nodes, unit(vectors) if model.normalize in ("encoder", "both") else vectors
            bar.advance(len(nodes))


def neighbor_shares(graph: Graph) -> sp.csr_array:
    """Chance of each neighbour to be the next draw; an isolated node draws itself."""
    isolated = np.flatnonzero(graph.degrees == 0)
    ones = np.ones(len(isolated), np.float32)
    shape = (graph.num_nodes, graph.num_nodes)
    loops = sp.csr_array((ones, (isolated, isolated)), shape=shape)
    weights = sp.csr_array(graph.adjacency() + loops)
    totals = np.asarray(weights.sum(axis=1, dtype=np.float64)).ravel()
    data = weights.data / np.repeat(totals, np.diff(weights.indptr))
    return sp.csr_array((data.astype(np.float32), weights.indices, weights.indptr), shape=shape)


def _layer(
    layer: SageLayer, rows: Features, shares: sp.csr_array, chunk_nodes: int
) -> Iterator[tuple[np.ndarray, tf.Tensor]]:
    """Algorithm 3, lines 7 and 8, for all nodes."""
    kernel = tf.convert_to_tensor(layer.kernel)
    own, others = kernel[:, : layer.own_width], kernel[:, layer.own_width :]
    activation: Callable[[tf.Tensor], tf.Tensor] = keras.activations.get(layer.activation)
    aggregation = make_aggregation(layer.aggregate, rows, shares, chunk_nodes)
    for nodes in aggregation.chunks():
        aggregated = parallel_matmul(as_rows(aggregation.aggregate(nodes)), others)
        yield nodes, activation(parallel_matmul(as_rows(rows[nodes]), own) + aggregated)


def _bias(
    model: DualEncoder, nodes: np.ndarray, bias_rows: np.ndarray | None
) -> np.ndarray | float:
    """Line 9: the global bias, the same for all parameter sets."""
    if model.bias is None:
        return 0.0
    rows = nodes if bias_rows is None else bias_rows[nodes]
    return model.bias(tf.constant(rows)).numpy()[:, None]


def _mean_over_contexts(
    model: DualEncoder, shares: sp.csr_array, candidates: np.ndarray, result: np.ndarray
) -> np.ndarray:
    """Mean of both roles' dual representations over all neighbours, pair by pair."""
    result[:] = 0
    owners = np.repeat(np.arange(len(result)), np.diff(shares.indptr))
    for first in range(0, len(owners), CHUNK_PAIRS):
        part = slice(first, first + CHUNK_PAIRS)
        nodes = tf.constant(candidates[owners[part]])
        contexts = tf.constant(candidates[shares.indices[part]])
        both = model.dual(nodes, contexts).nodes + model.dual(contexts, nodes).partners
        np.add.at(result, owners[part], both * shares.data[part, None] / 2)
    return result
