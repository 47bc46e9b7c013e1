"""Scores of pairs by their own dual representations."""

import numpy as np
import pytest

from cade_tf.config import Config
from cade_tf.errors import InputError
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
    trained = train(graph, config, progress=False).model
    found = pair_scores.dual_affinities(trained, graph, PAIRS, draws=2, seed=4, progress=False)
    for (node, partner), score in zip(PAIRS, found, strict=True):
        products = [
            np.dot(*embed_pair(trained, graph, node, partner, seed=seed).vectors) for seed in (4, 5)
        ]
        assert score == pytest.approx(np.mean(products), abs=1e-5)


@pytest.mark.parametrize("model", ["cade_ms", "cade_ma"])
def test_flatness_is_the_mean_entropy_by_that_of_equal_weights(graph: Graph, model: str) -> None:
    config = Config(model=model, k=3, dim=4, fanouts=(3, 2), steps=2, batch_size=8)
    trained = train(graph, config, progress=False).model
    entropies = []
    for node, partner in PAIRS:
        weights = np.ravel(embed_pair(trained, graph, node, partner, seed=4).attention)
        entropies.append(-(weights * np.log(weights)).sum())
    found = pair_scores.attention_flatness(trained, graph, PAIRS, seed=4)
    assert found == pytest.approx(np.mean(entropies) / np.log(9), abs=1e-5)
    assert found < 1.0


@pytest.mark.parametrize(("model", "k"), [("graphsage", 3), ("cade_ms", 1)])
def test_a_single_candidate_has_no_flatness(graph: Graph, model: str, k: int) -> None:
    config = Config(model=model, k=k, dim=4, fanouts=(3, 2), steps=0)
    trained = train(graph, config, progress=False).model
    assert pair_scores.attention_flatness(trained, graph, PAIRS) is None


@pytest.mark.parametrize(
    ("pairs", "complaint"),
    [
        ([[0, 12]], "positions from 0 to 11"),
        ([[0, -1]], "not ids"),
        ([[0.0, 1.0]], "integers"),
        ([0, 1], r"shape \[pairs, 2\]"),
    ],
)
def test_what_is_no_pair_of_positions_is_said(graph: Graph, pairs: list, complaint: str) -> None:
    config = Config(model="cade_ms", k=2, dim=4, fanouts=(3, 2), steps=0)
    trained = train(graph, config, progress=False).model
    for score in (pair_scores.dual_affinities, pair_scores.attention_flatness):
        with pytest.raises(InputError, match=complaint):
            score(trained, graph, np.array(pairs))


def test_no_pairs_have_no_scores(graph: Graph) -> None:
    config = Config(model="cade_ms", k=2, dim=4, fanouts=(3, 2), steps=0)
    trained = train(graph, config, progress=False).model
    none = np.zeros((0, 2), np.int64)
    assert pair_scores.dual_affinities(trained, graph, none, progress=False).shape == (0,)
