"""Stopping without hiding a node: pairs of walks that training does not take.

Training steps draw their own walks; these come from another stream of random numbers. What the
encoder gains on them it gains on the graph, not on pairs it has met. Once the gain is small,
further steps only turn the start's directions away from what labels need.
"""

import numpy as np

from cade_tf.config import Config
from cade_tf.graph.graph import Graph
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.training.loop import Validate
from cade_tf.training.validation import WALKS, HeldOutRank

PAIRS = "pairs"
"""Choice of `--stop_on`, and the name of the score."""

PAIRS_EVERY = 30
"""Steps between two scores, where `--validate_every` does not say."""

SMALLEST_GAIN = 0.005
"""Rise of the score, as a share of it, that is worth more steps."""

NEGATIVES = 200
"""More than in training: the rank among few negatives depends on which they are."""


def with_pairs(graph: Graph, config: Config, validate: Validate | None) -> Validate:
    """A validation that scores held-out pairs besides what it did before.

    Args:
        graph: The training graph.
        config: Options.
        validate: Other scores, where there are some.

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
    rank = HeldOutRank(graph, nodes, config.replace(negatives=NEGATIVES))

    def scores(model: DualEncoder, step: int) -> dict[str, float]:
        others = {} if validate is None else validate(model, step)
        return {**others, PAIRS: rank(model)}

    return scores
