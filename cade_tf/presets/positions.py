"""How much of a node's position in the graph its embedding should start with.

Where features say little about edges, positions say what they leave out; where features say it,
positions only take their place. Some edges of the training graph are hidden, and told from pairs
without an edge by an untrained encoder: by features alone, and with positions of growing length.
"""

import numpy as np

from cade_tf.config import Config
from cade_tf.graph.features import FeatureTransform
from cade_tf.graph.smoothing_start import SmoothingStart
from cade_tf.presets.hidden_edges import HiddenEdges

WEIGHTS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5)
"""Lengths of positions that are tried, as shares of the smoothed part."""

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
    >>> ring = [[i, (i + step) % 60] for i in range(60) for step in (1, 2)]
    >>> noise = np.random.default_rng(0).standard_normal((60, 4))
    >>> hidden = HiddenEdges.of(Graph.from_edges(ring, features=noise), seed=0)
    >>> position_weight(hidden, Config(dim=16)) > 0
    True
    """
    gains = gains_by_weight(hidden, config)
    largest = max(gains.values())
    if largest < SMALLEST_GAIN:
        return 0.0
    return next(w for w in WEIGHTS if gains[w] >= SHARE_OF_GAIN * largest)


def gains_by_weight(hidden: HiddenEdges, config: Config) -> dict[float, float]:
    """What positions of each length add to the AUC of hidden edges.

    Args:
        hidden: A training graph with features, and edges that it does not show.
        config: Options of the start.
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

    def auc(weight: float) -> float:
        lengths = np.sqrt(squares[0] + weight**2 * squares[1])
        scale = np.maximum(lengths[first] * lengths[second], np.finfo(np.float32).tiny)
        return float(roc_auc_score(linked, (products[0] + weight**2 * products[1]) / scale))

    without = auc(0.0)
    return {weight: auc(weight) - without for weight in WEIGHTS}
