"""The recommended preset: one rule for every graph, which reads the graph and never its labels.

The encoder starts as a filter: most dimensions hold features smoothed over neighbours, which tell
clusters, links and, with few labels, classes; the others hold the node's own features, of which
many labels can make use. Where features say little about edges, some dimensions hold positions in
the graph, with which the global bias starts. A short training with a softmax over partners
(InfoNCE) bends it towards what neighbours share. The graph decides how features are scaled, how
much of a node is its own and how long a step of training is.
"""

import dataclasses
import logging
import math
from collections.abc import Collection
from typing import Any

from cade_tf.config import Config, FeatureOptions
from cade_tf.graph.graph import Graph
from cade_tf.presets.hidden_edges import HiddenEdges
from cade_tf.presets.noise import is_noisy
from cade_tf.presets.positions import position_weight
from cade_tf.presets.statistics import GraphStatistics, mean_share

SCALINGS = {
    "none": "standard_row",
    "binary": "tfidf",
    "counts": "log_tfidf",
    "weights": "row",
    "dense": "standard_row",
}
"""Scaling of features by their kind."""

# The smoothed part: a node's own share of a layer where neighbours are alike, and where they have
# nothing in common. The part of own features: its length as a share of the smoothed part's.
LEAST_SELF, MOST_SELF = 0.35, 0.7
LEAST_OWN, MOST_OWN = 0.4, 1.0
# Neighbours less alike than this say little.
LITTLE_ALIKE = 0.015
# Where the mean has more than this of nodes' squared length, all of them point the same way.
LARGE_MEAN = 0.2
# CADE-MA's K aggregators lie this far around the self weight.
SELF_SPREAD = 0.15
# Entries of the start's directions have the size 1 / sqrt(width), and a step of Adam moves each
# by the learning rate: so that all graphs move alike, the rate shrinks with the width too. Of few
# features each counts for more: there the rate does not grow any further.
RATE_TIMES_ROOT_WIDTH = 2e-3
NARROW = 256
STEPS = 150
# CADE-MS draws K neighbourhoods of a node: each can be smaller, and a step four times quicker.
MS_FANOUTS = (10, 5)

_TRAINING: dict[str, Any] = {
    "loss": "softmax",
    "temperature": 0.2,
    "schedule": "cosine",
    "steps": STEPS,
    "stop_on": "pairs",
    "patience": 2,
    "k": 5,
}
_START: dict[str, Any] = {"initialization": "smoothing", "activation": "linear"}
# What the smoothing start cannot do without.
_START_NEEDS = {
    "initialization": "smoothing",
    "activation": "linear",
    "last_activation": "linear",
    "aggregator": "mean",
}


_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Recommendation:
    """What the preset decided.

    Args:
        changes: Value by option of `Config`; only options that were not given.
        reasons: Two sentences for the user: what was read, and what follows from it.
        statistics: What the decisions rest on.
    """

    changes: dict[str, Any]
    reasons: tuple[str, ...]
    statistics: GraphStatistics

    def applied(self, config: Config) -> Config:
        """The options with the decisions in them."""
        return config.replace(
            **self.changes, preset="recommended", given=None, decided=self.changes
        )


def decided(graph: Graph, config: Config) -> Config:
    """Options in which nothing is left to decide; says what was decided.

    Args:
        graph: The training graph.
        config: Options; those that do not wait for a decision are returned as they are.
    """
    if config.given is None:
        return config
    found = recommend(graph, config, config.given)
    for reason in found.reasons:
        _log.info("%s", reason)
    return found.applied(config)


def recommend(graph: Graph, config: Config, given: Collection[str] = ()) -> Recommendation:
    """Decides the options of a training run.

    Args:
        graph: The training graph; its labels are not read.
        config: Options, of which those that were given are kept.
        given: Names of the options that the user gave.

    Returns:
        The decisions and their reasons.

    Example:

    >>> from cade_tf.graph.digits import digits
    >>> found = recommend(digits(), Config(), given=["steps"])
    >>> found.changes["feature_scaling"], "steps" in found.changes
    ('standard_row', False)
    """
    statistics = GraphStatistics.measure(graph, seed=config.seed)
    scaling = config.feature_scaling if "feature_scaling" in given else SCALINGS[statistics.kind]
    options = FeatureOptions(feature_scaling=scaling)
    hidden = None if statistics.kind == "none" else HiddenEdges.of(graph, config.seed)
    if hidden is not None and is_noisy(hidden, options, config.seed):
        statistics = dataclasses.replace(statistics, noisy=True)
    changes: dict[str, Any] = {"feature_scaling": scaling, **_TRAINING}
    if config.model == "cade_ms":
        changes["fanouts"] = MS_FANOUTS
    smooths = all(
        getattr(config, name) == wanted for name, wanted in _START_NEEDS.items() if name in given
    )
    if smooths:
        changes |= _START
        changes["self_weights"] = self_weights(statistics, spread=config.model == "cade_ma")
        changes["own_weight"] = own_weight(statistics)
        shared = mean_share(graph, options, seed=config.seed)
        # Of few features no direction can be spared.
        changes["remove_mean"] = statistics.width >= NARROW and shared > LARGE_MEAN
        changes["learning_rate"] = learning_rate(statistics)
    if "epochs" in given and config.epochs:
        # Epochs count instead of steps only where steps are left alone.
        changes.pop("steps")
    if config.strategy == "multi_worker":
        # Only the chief keeps the best weights, and the others would not wait for them.
        changes.pop("stop_on")
    changes = {name: value for name, value in changes.items() if name not in given}
    if smooths and config.has_bias and hidden is not None and "position_weight" not in given:
        changes["position_weight"] = position_weight(hidden, config.replace(**changes))
    return Recommendation(changes, _reasons(statistics, config.replace(**changes)), statistics)


def self_weights(statistics: GraphStatistics, *, spread: bool = False) -> tuple[float, ...]:
    """How much of a node is its own in the smoothed part; the rest is its neighbours' mean.

    The less neighbours have in common, the more is its own; the more nodes have no features at
    all, the less.

    Args:
        statistics: Of the graph.
        spread: Whether to give the ends of a range, for the K aggregators of CADE-MA.
    """
    weight = LEAST_SELF + (MOST_SELF - LEAST_SELF) * _unlike(statistics)
    weight = round(weight * (1 - statistics.zero_rows / 2), 2)
    if not spread:
        return (weight,)
    return (round(max(weight - SELF_SPREAD, 0.0), 2), round(min(weight + SELF_SPREAD, 1.0), 2))


def own_weight(statistics: GraphStatistics) -> float:
    """Length of the part of own features; longer the less neighbours have in common."""
    return round(LEAST_OWN + (MOST_OWN - LEAST_OWN) * _unlike(statistics), 2)


def _unlike(statistics: GraphStatistics) -> float:
    """From 0, neighbours are alike, to 1, they have nothing in common."""
    if statistics.kind == "none" or statistics.noisy:
        # Positions come from neighbours, who share them; noise is what neighbours do not share.
        return 0.0
    return math.exp(-max(statistics.autocorrelation, 0.0) / LITTLE_ALIKE)


def learning_rate(statistics: GraphStatistics) -> float:
    """Learning rate of the training after the smoothing start."""
    return float(f"{RATE_TIMES_ROOT_WIDTH / math.sqrt(max(statistics.width, NARROW)):.2g}")


def _reasons(statistics: GraphStatistics, config: Config) -> tuple[str, ...]:
    features = "no features"
    if statistics.kind != "none":
        features = (
            f"{statistics.width:,} {statistics.kind} features ({statistics.density:.1%} not zero), "
            f"of which neighbours share {statistics.autocorrelation:.3f}"
        )
        if statistics.autocorrelation < LITTLE_ALIKE:
            features += " (little)"
        if statistics.noisy:
            features += ", as a node's own are mostly noise"
        if statistics.zero_rows:
            features += f"; {statistics.zero_rows:.0%} of the nodes have none"
    read = f"Read: {statistics.nodes:,} nodes, mean degree {statistics.mean_degree:.1f}, {features}"
    weights = " to ".join(f"{weight:g}" for weight in config.self_weights)
    start = "random weights"
    if config.initialization == "smoothing":
        start = f"self weight {weights} and own features at {config.own_weight:g} of its length"
        if config.position_weight:
            start += f", positions at {config.position_weight:g} (hidden edges ask for them)"
        if config.remove_mean:
            start += ", without what all nodes share"
    length = f"{config.epochs} epochs" if config.epochs else f"{config.steps} steps"
    decided = (
        f"Decided: {config.feature_scaling} scaling, start with {start}, {length} of "
        f"{config.loss} loss at learning rate {config.learning_rate:g}"
    )
    return (f"{read}.", f"{decided}.")
