"""How well an encoder ranks the partners of nodes or pairs that training has not seen.

No label is needed.
"""

import numpy as np
import tensorflow as tf

from cade_tf.config import Config, TrainingOptions
from cade_tf.graph.graph import Graph
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.sampling import random
from cade_tf.sampling.batch import make_batch
from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.sampling.negatives import draw_negatives
from cade_tf.sampling.walks import walk
from cade_tf.training.loop import Validate
from cade_tf.training.metrics import masked_mean, reciprocal_ranks

WALKS = 256

PAIRS = "pairs"
"""Choice of `stop_on`, and the name of the score."""

PAIRS_EVERY = 30
"""Steps between two scores, where `validate_every` does not say."""

SMALLEST_GAIN = 0.005
"""Rise of the score, as a share of it, that is worth more steps."""

NEGATIVES = 200
"""More than in training: the rank among few negatives depends on which they are."""


class HeldOutRank:
    """Mean reciprocal rank of the partners of held-out nodes among negatives.

    Walks, negatives and neighbourhoods are the same at every call, so that scores of different
    steps compare.

    Args:
        graph: Graph of training and held-out nodes.
        nodes: Positions of the held-out nodes in it.
        options: Walks, negatives and seed.
        tables: Of the graph, where somebody has them already.

    Example:

    >>> from cade_tf.training.trainer import train
    >>> graph = Graph.from_edges([[0, 1], [1, 2], [2, 0], [2, 3]], features=np.eye(4))
    >>> config = Config(model="graphsage", dim=4, fanouts=(2,), steps=0)
    >>> model = train(graph.subgraph(np.arange(3)), config, progress=False).model
    >>> 0 < HeldOutRank(graph, np.array([3]), config)(model) <= 1
    True
    """

    def __init__(
        self,
        graph: Graph,
        nodes: np.ndarray,
        options: TrainingOptions,
        tables: GraphTables | None = None,
    ) -> None:
        self.graph = graph
        walkers = nodes[graph.degrees[nodes] > 0]
        # At least one walk from every node, or from as many as fit.
        self.starts = np.resize(walkers, WALKS) if len(walkers) else walkers
        self.options = options
        self._tables = tables

    def __call__(self, model: DualEncoder) -> float:
        """Scores a model; 0 where no held-out node has a neighbour."""
        if not len(self.starts):
            return 0.0
        if self._tables is None:
            self._tables = model.tables(self.graph)
        options, tables = self.options, self._tables
        starts = tf.constant(self.starts, tf.int64)
        keys = random.make_key(options.seed, random.Stream.EMBEDDING_WALK)
        keys = random.fold_in(keys, tf.range(len(self.starts)))
        partners = tf.reshape(walk(tables, starts, keys, options.walk_length), [-1])
        nodes = tf.repeat(starts, options.walk_length)
        negatives = draw_negatives(
            tables, random.make_key(options.seed, random.Stream.NEGATIVE), options.negatives
        )
        draw = random.make_key(options.seed, random.Stream.EMBEDDING_NEIGHBOR)
        batch = make_batch(
            tables, nodes, partners, nodes != partners, negatives, model.tree_shape, draw
        )
        return float(masked_mean(reciprocal_ranks(model.score_pairs(batch)), batch.valid))


def with_pairs(
    graph: Graph, config: Config, validate: Validate | None, tables: GraphTables | None = None
) -> Validate:
    """A validation that scores held-out pairs, and what it scored before.

    It stops a run without hiding a node: the pairs are of walks that training, which draws its own
    from another stream of random numbers, does not take. What the encoder gains on them it gains
    on the graph, not on pairs it has met. Once the gain is small, further steps only turn the
    start's directions away from what labels need.

    Args:
        graph: The training graph.
        config: Options.
        validate: Other scores, where there are some.
        tables: Of the graph, where somebody has them already.

    Returns:
        A function of model and step that gives `pairs`, the mean reciprocal rank of partners
        among negatives, and the other scores.

    Example:

    >>> from cade_tf.training.trainer import train
    >>> graph = Graph.from_edges([[0, 1], [1, 2], [2, 0], [2, 3]], features=np.eye(4))
    >>> config = Config(model="graphsage", dim=4, fanouts=(2,), steps=0)
    >>> model = train(graph, config, progress=False).model
    >>> 0 < with_pairs(graph, config, None)(model, 0)["pairs"] <= 1
    True
    """
    nodes = np.random.default_rng(config.seed).permutation(graph.num_nodes)[:WALKS]
    rank = HeldOutRank(graph, nodes, config.replace(negatives=NEGATIVES), tables)

    def scores(model: DualEncoder, step: int) -> dict[str, float]:
        others = {} if validate is None else validate(model, step)
        return {**others, PAIRS: rank(model)}

    return scores
