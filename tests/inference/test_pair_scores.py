"""Scores of pairs by their own dual representations."""

import numpy as np
import pytest

from cade_tf.config import Config
from cade_tf.graph.graph import Graph
from cade_tf.inference import pair_scores
from cade_tf.inference.pairs import embed_pair
from cade_tf.training.trainer import train

PAIRS = np.array([[0, 1], [2, 9], [9, 2], [5, 5]])


@pytest.fixture(scope="module")
def graph() -> Graph:
    rng = np.random.default_rng(0)
    return Graph.from_edges(rng.integers(0, 12, (40, 2)), features=rng.normal(size=(12, 5)))


@pytest.mark.parametrize("whole_pass", [True, False])
@pytest.mark.parametrize("model", ["graphsage", "cade_ms", "cade_ma"])
def test_scores_are_means_over_draws_of_the_pair_s_own_product(
    graph: Graph, model: str, whole_pass: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not whole_pass:
        monkeypatch.setattr(pair_scores, "WHOLE_PASS_BYTES", 0)
    config = Config(model=model, k=2, dim=4, fanouts=(3, 2), steps=2, batch_size=8)
    encoder = train(graph, config, progress=False).encoder
    found = pair_scores.dual_affinities(encoder, graph, PAIRS, draws=2, seed=4, progress=False)
    for (node, partner), score in zip(PAIRS, found, strict=True):
        products = [
            np.dot(*embed_pair(encoder, graph, node, partner, seed=seed).vectors) for seed in (4, 5)
        ]
        assert score == pytest.approx(np.mean(products), abs=1e-5)
