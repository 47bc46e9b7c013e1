"""Embeddings without sampling: every layer over all neighbours, once per node.

Where Algorithm 3 samples, the mean, the maximum or the LSTM here runs over the whole
neighbourhood (an isolated node's is itself; edge weights weigh the mean as they weigh draws). So
the cost is linear in edges and nothing is random. Then all K samplings of CADE-MS coincide, and
whatever the attention weighs, every dual representation is the encoder's one output.

Algorithm 1 averages over contexts that walks find. Here a node's contexts are its neighbours,
each in both roles, as v and as v_p; an isolated node is its own context. Only the tanh score of
CADE-MA makes the contexts matter; the paper's linear one gives a node one vector for each role.
"""

import tempfile
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
import tensorflow as tf

from cade_tf.errors import InputError
from cade_tf.graph.graph import Features, Graph
from cade_tf.graph.shares import neighbor_shares
from cade_tf.inference.finite import require_finite
from cade_tf.layers.aggregators import MeanAggregator
from cade_tf.layers.bi_attention import TanhBiAttention
from cade_tf.layers.sage_layer import SageLayer
from cade_tf.layers.sparse_ops import Segments
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.progress import Shown, make_bar

CHUNK_NODES = 4096
CHUNK_PAIRS = 2048
CHUNK_EDGES = 1 << 16
MEMORY_BYTES = 2 << 30
"""Larger arrays of all nodes lie in a temporary file, not in memory."""


def embed_full_neighborhood(
    model: DualEncoder,
    graph: Graph,
    features: Features,
    *,
    bias_rows: np.ndarray | None = None,
    chunk_nodes: int = CHUNK_NODES,
    progress: Shown = True,
) -> np.ndarray:
    """Embeds every node of a graph from its full neighbourhood.

    Apart from the graph, memory holds one layer's output of all nodes (for CADE-MA K vectors per
    node) and what a chunk needs.

    Args:
        model: A trained model.
        graph: The graph.
        features: Its features, already scaled, dense or CSR.
        bias_rows: Row of each node in the global bias, -1 for none; None where node i has row i.
        chunk_nodes: Nodes computed together.
        progress: Whether to show progress.

    Returns:
        float32 [nodes, dim].

    Raises:
        InputError: The graph has no nodes, or a number is not finite; the message names the node.
    """
    if not graph.num_nodes:
        raise InputError("graph", "at least one node", "none", "Give a graph with nodes.")
    candidates = full_candidates(
        model, graph, features, bias_rows=bias_rows, chunk_nodes=chunk_nodes, progress=progress
    )
    result = np.empty((graph.num_nodes, model.dim), np.float32)
    if model.parameter_sets == 1:
        for nodes, vectors in candidates:
            result[nodes] = model.without_partner(vectors)
        return require_finite(result, graph.ids)
    if not isinstance(model.attention, TanhBiAttention):
        for nodes, vectors in candidates:
            pair = model.dual(vectors, vectors)
            result[nodes] = (pair.nodes + pair.partners) / 2
        return require_finite(result, graph.ids)
    stored = scratch_array((graph.num_nodes, model.parameter_sets, model.dim))
    for nodes, vectors in candidates:
        stored[nodes] = vectors
    result = _mean_over_contexts(model, neighbor_shares(graph), stored, result)
    return require_finite(result, graph.ids)


def full_candidates(
    model: DualEncoder,
    graph: Graph,
    features: Features,
    *,
    bias_rows: np.ndarray | None = None,
    chunk_nodes: int = CHUNK_NODES,
    progress: Shown = True,
) -> Iterator[tuple[np.ndarray, tf.Tensor]]:
    """The encoder's outputs of all nodes, chunk by chunk; arguments as above.

    Yields:
        Positions of nodes, and their candidates `[nodes, parameter sets, dim]`.
    """
    shares = neighbor_shares(graph)
    rounds = model.sagb.rounds
    hidden: Features = features
    with make_bar(progress, "layers", len(rounds) * graph.num_nodes, "nodes") as bar:
        for round_ in rounds[:-1]:
            after = scratch_array((graph.num_nodes, model.parameter_sets, model.dim))
            for nodes, vectors in _layer(round_, hidden, shares, chunk_nodes):
                after[nodes] = vectors + _bias(model, nodes, bias_rows)
                bar.advance(len(nodes))
            hidden = after
        for nodes, vectors in _layer(rounds[-1], hidden, shares, chunk_nodes):
            yield nodes, model.normalized(vectors)
            bar.advance(len(nodes))


def _layer(
    layer: SageLayer, rows: Features, shares: sp.csr_array, chunk_nodes: int
) -> Iterator[tuple[np.ndarray, tf.Tensor]]:
    """Algorithm 3, lines 7 and 8, for all nodes: the layer itself, on segments of a CSR."""
    if isinstance(layer.aggregate, MeanAggregator):
        # Features may be sparse, and wider than anything that could be kept.
        for nodes in _portions(np.arange(shares.shape[0]), chunk_nodes):
            part = slice(nodes[0], nodes[-1] + 1)  # consecutive rows are not copied
            flat = rows if sp.issparse(rows) else rows.reshape(len(rows), -1)
            means = shares[part] @ flat
            if not sp.issparse(rows):
                means = means.reshape(-1, *rows.shape[1:])
            yield nodes, layer.finish(as_rows(rows[part]), as_rows(means))
        return
    # What an aggregator does to each child is done once per node, then kept.
    first = layer.aggregate.transform(as_rows(rows[:1]))
    kept = scratch_array((shares.shape[0], *first.shape[1:]))
    for nodes in _portions(np.arange(shares.shape[0]), chunk_nodes):
        kept[nodes] = layer.aggregate.transform(as_rows(rows[nodes]))
    ordered = _shuffled(shares)
    # By falling degree, so that an LSTM reads nodes of similar degree together.
    order = np.argsort(-np.diff(shares.indptr), kind="stable")
    for nodes in _portions(order, chunk_nodes, np.diff(shares.indptr), CHUNK_EDGES):
        block = ordered[nodes]
        distinct, columns = np.unique(block.indices, return_inverse=True)
        segments = Segments(
            tf.constant(columns.astype(np.int32)),
            tf.constant(block.indptr.astype(np.int32)),
            tf.constant(block.data),
            tf.constant(np.repeat(np.arange(len(nodes)), np.diff(block.indptr))),
        )
        aggregated = layer.aggregate.reduce(tf.constant(kept[distinct]), segments)
        yield nodes, layer.finish(as_rows(rows[nodes]), aggregated)


def _shuffled(shares: sp.csr_array) -> sp.csr_array:
    """Neighbours in one fixed pseudo-random order, as training reads draws in random order.

    Ids may follow the classes, and an LSTM would then read class by class.
    """
    size = shares.shape[0]
    rank = np.random.default_rng(0).permutation(size)
    owners = np.repeat(np.arange(size), np.diff(shares.indptr))
    order = np.lexsort((rank[shares.indices], owners))
    return sp.csr_array(
        (shares.data[order], shares.indices[order], shares.indptr), shape=shares.shape
    )


def _portions(
    nodes: np.ndarray, size: int, degrees: np.ndarray | None = None, most_edges: int = 0
) -> Iterator[np.ndarray]:
    """Nodes in portions of at most `size`, and of at most so many edges unless one has more."""
    if degrees is None:
        yield from (nodes[first : first + size] for first in range(0, len(nodes), size))
        return
    ends = np.cumsum(degrees[nodes])
    first = 0
    while first < len(nodes):
        before = ends[first] - degrees[nodes[first]]
        fitting = int(np.searchsorted(ends, before + most_edges, side="right"))
        last = min(max(fitting, first + 1), first + size)
        yield nodes[first:last]
        first = last


def as_rows(rows: Features) -> tf.Tensor | tf.SparseTensor:
    """Rows of features as TensorFlow takes them."""
    if not sp.issparse(rows):
        return tf.convert_to_tensor(rows)
    entries = sp.coo_array(rows)
    return tf.SparseTensor(np.stack(entries.coords, axis=1), entries.data, rows.shape)


def scratch_array(shape: tuple[int, ...]) -> np.ndarray:
    """An uninitialised float32 array, in a nameless temporary file where it is large."""
    if 4 * np.prod(shape, dtype=np.int64) <= MEMORY_BYTES:
        return np.empty(shape, np.float32)
    with tempfile.TemporaryFile() as file:
        return np.memmap(file, np.float32, "w+", shape=shape)


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
