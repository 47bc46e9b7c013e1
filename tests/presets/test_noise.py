"""Features whose signal only neighbours' means show are smoothed as much as clear ones."""

import numpy as np
import pytest

from cade_tf.config import Config, FeatureOptions
from cade_tf.graph.graph import Graph
from cade_tf.presets.hidden_edges import HiddenEdges
from cade_tf.presets.noise import is_noisy
from cade_tf.presets.recommended import LEAST_OWN, LEAST_SELF, MOST_SELF, recommend

NODES, BLOCKS, WIDTH = 900, 3, 60


def graph_of(signal: float, *, related: bool = True) -> Graph:
    """Blocks of nodes with many edges inside; features that tell the block, and noise.

    Args:
        signal: Size of what tells the block; the noise of the first columns is the largest.
        related: Whether edges stay within blocks.
    """
    generator = np.random.default_rng(0)
    block = np.arange(NODES) % BLOCKS
    ends = generator.integers(0, NODES // BLOCKS, (10 * NODES, 2)) * BLOCKS
    inside = generator.integers(0, BLOCKS, (len(ends), 1 if related else 2))
    noise = generator.standard_normal((NODES, WIDTH)) * np.linspace(2, 1, WIDTH)
    noise[:, -BLOCKS:] += signal * np.eye(BLOCKS)[block]
    return Graph.from_edges(ends + inside, features=noise.astype(np.float32), num_nodes=NODES)


@pytest.mark.parametrize(
    ("signal", "related", "noisy"),
    [(1.5, True, True), (12, True, False), (0, True, False), (1.5, False, False)],
)
def test_noise_hides_a_signal_that_means_over_neighbours_show(signal, related, noisy):
    hidden = HiddenEdges.of(graph_of(signal, related=related), seed=0)
    assert is_noisy(hidden, FeatureOptions(feature_scaling="none")) is noisy


def test_noisy_features_are_smoothed():
    config = Config(feature_scaling="none")
    found = recommend(graph_of(1.5), config, given=["feature_scaling"])
    assert found.changes["self_weights"] == (LEAST_SELF,)
    assert found.changes["own_weight"] == LEAST_OWN
    assert "mostly noise" in found.reasons[0]
    apart = recommend(graph_of(1.5, related=False), config, given=["feature_scaling"])
    assert apart.changes["self_weights"][0] > 0.9 * MOST_SELF
