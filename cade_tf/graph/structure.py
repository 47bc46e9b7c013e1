"""Features of nodes that have none: where a node is in its graph, and its degree.

A node's position is a random projection of where short random walks from it end (as in FastRP).
The random vector of a node depends on its id alone, so that the position of a node that training
did not know follows from its neighbours'. Positions in graphs that share no node do not compare.
"""

import zlib
from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from cade_tf.graph.graph import Graph
from cade_tf.graph.shares import neighbor_shares

WIDTH = 256
HOPS = (3, 4)
"""Lengths of the walks whose ends are projected."""


def structural_features(graph: Graph) -> np.ndarray:
    """Position and degree of every node.

    Returns:
        float32 [nodes, 1 + WIDTH]: log(1 + degree), then the position.

    Example:

    >>> structural_features(Graph.from_edges([[0, 1], [1, 2]])).shape
    (3, 257)
    """
    walk = neighbor_shares(graph)
    position = np.zeros((graph.num_nodes, WIDTH), np.float32)
    for ends in _before_last_step(graph, walk):
        last = np.asarray(walk @ ends)
        # Walks of each length count alike, at every node.
        lengths = np.linalg.norm(last, axis=1, keepdims=True)
        position += last / np.where(lengths == 0, 1, lengths)
    degrees = np.log1p(graph.degrees.astype(np.float32))
    return np.concatenate([degrees[:, None], position], axis=1)


def before_last_step(graph: Graph) -> np.ndarray:
    """What a new node must know of its neighbours to find its own position.

    Its walks of some length end where those of its neighbours, one step shorter, do.

    Returns:
        float32 [nodes, lengths in `HOPS`, WIDTH]; the position of a node is the sum, over the
        lengths, of the mean over its neighbours, scaled to unit length.
    """
    return np.stack(list(_before_last_step(graph, neighbor_shares(graph))), axis=1)


def _before_last_step(graph: Graph, walk: sp.csr_array) -> Iterator[np.ndarray]:
    ends = random_signs(graph.ids)
    for hop in range(1, max(HOPS) + 1):
        if hop in HOPS:
            yield ends
        ends = np.asarray(walk @ ends)


def random_signs(ids: np.ndarray) -> np.ndarray:
    """A vector of +1 and -1 for every id, the same in every graph and process.

    Returns:
        float32 [ids, WIDTH].
    """
    if np.issubdtype(ids.dtype, np.integer):
        keys = ids.astype(np.int64).view(np.uint64)
    else:
        keys = np.array([zlib.crc32(str(name).encode()) for name in ids], np.uint64)
    words = np.arange(1, WIDTH // 64 + 1, dtype=np.uint64)
    mixed = _splitmix(_splitmix(keys)[:, None] + words)
    bits = np.unpackbits(mixed.view(np.uint8), axis=1)
    return bits.astype(np.float32) * 2 - 1


def _splitmix(keys: np.ndarray) -> np.ndarray:
    """SplitMix64's finaliser: neighbouring keys become unrelated ones."""
    mixed = keys + np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return mixed ^ (mixed >> np.uint64(31))
