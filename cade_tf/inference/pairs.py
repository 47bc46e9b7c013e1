"""The dual representations of one pair of nodes, and what the attention between them chose."""

import dataclasses

import numpy as np
import tensorflow as tf

from cade_tf.graph.graph import Graph
from cade_tf.graph.preparation import positions_of
from cade_tf.inference.on_demand import embed_pairs, neighbor_key
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.sampling.neighborhood import sample_neighborhood


@dataclasses.dataclass(frozen=True, eq=False)
class PairEmbedding:
    """Algorithm 2 of one pair (v, u).

    Args:
        ids: Ids of v and of u.
        vectors: z_{v|u} and z_{u|v}, each float32 [dim].
        attention: float32 [K, K], rows belong to v; it sums to 1.
        drawn: For v and for u, each sampling's drawn neighbours: ids, with repetitions.
    """

    ids: tuple[object, object]
    vectors: tuple[np.ndarray, np.ndarray]
    attention: np.ndarray
    drawn: tuple[list[np.ndarray], list[np.ndarray]]

    @property
    def weights(self) -> tuple[np.ndarray, np.ndarray]:
        """What each candidate of v and of u contributes: sums of rows and of columns, [K]."""
        return self.attention.sum(axis=1), self.attention.sum(axis=0)

    @property
    def cosine(self) -> float:
        """Cosine of the two vectors."""
        first, second = self.vectors
        lengths = np.linalg.norm(first) * np.linalg.norm(second)
        return float(first @ second / max(lengths, np.finfo(np.float32).tiny))


def embed_pair(
    model: DualEncoder, graph: Graph, node: object, partner: object, *, seed: int = 0
) -> PairEmbedding:
    """Embeds two nodes in the context of each other.

    Args:
        model: A trained model.
        graph: The graph.
        node: Id of v.
        partner: Id of u.
        seed: The same seed gives the same neighbourhoods.

    Returns:
        Vectors, attention and the neighbours that were drawn.

    Raises:
        InputError: An id that the graph does not have.

    Example:

    >>> from cade_tf.config import Config
    >>> from cade_tf.training.trainer import train
    >>> graph = Graph.from_edges([[0, 1], [1, 2]], features=[[1.0], [2.0], [3.0]])
    >>> config = Config(model="cade_ms", k=3, dim=4, fanouts=(2, 2), steps=1, batch_size=4)
    >>> model = train(graph, config, progress=False).model
    >>> embed_pair(model, graph, 0, 2).attention.shape
    (3, 3)
    """
    positions = positions_of(graph, [node, partner])
    tables = model.tables(graph)
    ends = tf.constant(positions[:, None])
    pair = embed_pairs(model, tables, ends[0], ends[1], seed)
    return PairEmbedding(
        (graph.ids[positions[0]], graph.ids[positions[1]]),
        (pair.nodes[0].numpy(), pair.partners[0].numpy()),
        pair.attention[0].numpy(),
        (
            _drawn(model, graph, tables, positions[0], seed),
            _drawn(model, graph, tables, positions[1], seed),
        ),
    )


def _drawn(
    model: DualEncoder, graph: Graph, tables: GraphTables, position: int, seed: int
) -> list[np.ndarray]:
    """The neighbours each sampling of a node drew: the same draws as the encoder's own."""
    samplings = model.samplings
    roots = tf.fill([samplings], tf.constant(position, tf.int64))
    trees = sample_neighborhood(
        tables,
        roots,
        tf.range(samplings, dtype=tf.int64),
        model.fanouts[:1],
        neighbor_key(seed),
    )
    return [graph.ids[row] for row in trees.child_nodes[0].numpy()]
