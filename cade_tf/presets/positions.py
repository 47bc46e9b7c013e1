"""How much of a node's position in the graph its embedding should start with.

Where features say little about edges, positions say what they leave out; where features say it,
positions only take their place. Some edges of the training graph are hidden, and told from pairs
without an edge by an untrained encoder: by features alone, and with positions of growing length.
"""

import math

import numpy as np

from cade_tf.config import Config
from cade_tf.graph.features import FeatureTransform
from cade_tf.graph.smoothing_start import SmoothingStart
from cade_tf.presets.hidden_edges import HiddenEdges

WEIGHTS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5)
"""Lengths of positions that are tried, as shares of the smoothed part."""

# Positions that tell edges from non-edges no better than this, alone, tell them by chance.
LEAST_AUC = 0.55
# A gain in AUC below this is not worth dimensions of the features.
SMALLEST_GAIN = 0.01
# The shortest positions are taken with which this share of the largest gain is won: the rest
# would cost more of what features tell about labels.
SHARE_OF_GAIN = 1 / 3


def position_weight(hidden: HiddenEdges, config: Config) -> float:
    """The length of positions that hidden edges ask for, 0 for none.

    Args:
        hidden: A training graph with features, and edges that it does not show.
        config: Options of the start, decided but for `position_weight`.

    Example:

    >>> from cade_tf.graph.graph import Graph
    >>> ring = [[i, (i + step) % 600] for i in range(600) for step in (1, 2)]
    >>> noise = np.random.default_rng(0).standard_normal((600, 4))
    >>> hidden = HiddenEdges.of(Graph.from_edges(ring, features=noise), seed=0)
    >>> position_weight(hidden, Config(dim=16)) > 0
    True
    """
    auc = auc_by_weight(hidden, config)
    gains = {weight: auc[weight] - auc[0.0] for weight in WEIGHTS}
    largest = max(gains.values())
    if largest < SMALLEST_GAIN or auc[math.inf] < LEAST_AUC:
        return 0.0
    return next(w for w in WEIGHTS if gains[w] >= SHARE_OF_GAIN * largest)


def auc_by_weight(hidden: HiddenEdges, config: Config) -> dict[float, float]:
    """How well an untrained encoder tells hidden edges, by the length of its positions.

    Args:
        hidden: A training graph with features, and edges that it does not show.
        config: Options of the start.

    Returns:
        AUC by weight: 0, those in `WEIGHTS`, and infinity, for positions alone.
    """
    from sklearn.metrics import roc_auc_score

    transform = FeatureTransform.fit(hidden.visible.features, config, config.seed)
    start = SmoothingStart.of(
        hidden.visible,
        transform.apply(hidden.visible.features),
        config.dim,
        self_weights=np.array(config.self_weights),
        depth=len(config.fanouts),
        own_weight=config.own_weight,
        position_weight=1.0,
        remove_mean=config.remove_mean,
        seed=config.seed,
    )
    first, second = np.concatenate([hidden.edges, hidden.non_edges]).T
    linked = np.arange(len(first)) < len(hidden.edges)
    parts = (start.by_features(), start.by_positions())
    products = [np.einsum("ij,ij->i", part[first], part[second]) for part in parts]
    squares = [np.einsum("ij,ij->i", part, part) for part in parts]

    def auc(of_features: float, of_positions: float) -> float:
        weights = (of_features**2, of_positions**2)
        lengths = np.sqrt(sum(w * square for w, square in zip(weights, squares, strict=True)))
        scale = np.maximum(lengths[first] * lengths[second], np.finfo(np.float32).tiny)
        scores = sum(w * product for w, product in zip(weights, products, strict=True)) / scale
        return float(roc_auc_score(linked, scores))

    found = {weight: auc(1.0, weight) for weight in (0.0, *WEIGHTS)}
    return found | {math.inf: auc(0.0, 1.0)}
