"""Whether single nodes' features are mostly noise, of which only means over neighbours tell."""

import numpy as np

from cade_tf.config import FeatureOptions
from cade_tf.graph.features import FeatureTransform
from cade_tf.graph.graph import Features
from cade_tf.graph.shares import neighbor_shares
from cade_tf.graph.smoothing import SmoothedFeatures
from cade_tf.presets.hidden_edges import HiddenEdges

DIRECTIONS = 8
SELF_WEIGHT = 0.35
# Features whose smoothed directions follow edges less than this say nothing about them at all.
LEAST_FOLLOWED = 0.03
# Noise hides a signal where the features' own directions follow edges less than this share of it.
HIDDEN_SHARE = 0.25


def is_noisy(hidden: HiddenEdges, options: FeatureOptions, seed: int = 0) -> bool:
    """Whether features follow edges along the main directions of their means over neighbours only.

    The main directions of clear features are the same, smoothed or not. Where noise is larger than
    what features tell, their own main directions are those of the noise, and do not follow
    edges; a mean over neighbours has less noise, and its directions do.

    Args:
        hidden: A training graph with features, and edges that it does not show.
        options: How features are scaled.
        seed: Seed of the decompositions.
    """
    scaled = FeatureTransform.fit(hidden.visible.features, options, seed).apply(
        hidden.visible.features
    )
    shares = neighbor_shares(hidden.visible)
    own, smoothed = (
        _follows_edges(
            scaled,
            SmoothedFeatures(shares, scaled, np.array([weight]), 2).directions(DIRECTIONS, seed)[0],
            hidden.edges,
        )
        for weight in (1.0, SELF_WEIGHT)
    )
    return smoothed > LEAST_FOLLOWED and abs(own) < HIDDEN_SHARE * smoothed


def _follows_edges(features: Features, directions: np.ndarray, edges: np.ndarray) -> float:
    """Autocorrelation over edges along some directions: from 0, none, to 1, ends are alike."""
    values = np.asarray(features @ directions)
    values -= values.mean(axis=0)
    along = (values[edges[:, 0]] * values[edges[:, 1]]).sum(axis=1).mean()
    return float(along / max((values**2).sum(axis=1).mean(), np.finfo(np.float32).tiny))
