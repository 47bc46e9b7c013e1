from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp

from cade_tf.errors import InputError
from cade_tf.evaluation import links


def communities(pairs=3000, seed=0):
    """Nodes in 8 directions; edges join nodes of the same direction."""
    rng = np.random.default_rng(seed)
    group = np.arange(400) % 8
    embeddings = np.eye(8)[group] + 0.3 * rng.normal(size=(400, 8))
    every = rng.integers(400, size=(60_000, 2))
    same = group[every[:, 0]] == group[every[:, 1]]
    edges, non_edges = every[same][:pairs], every[~same][:pairs]
    third = pairs // 3
    parts = {}
    for i, part in enumerate(("train", "validation", "test")):
        parts[f"{part}_edges"] = edges[i * third : (i + 1) * third]
        parts[f"{part}_non_edges"] = non_edges[i * third : (i + 1) * third]
    return embeddings.astype(np.float32), SimpleNamespace(**parts)


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("concat", [1, -2, 4, 3]),
        ("hadamard", [4, -6]),
        ("l1", [3, 5]),
    ],
)
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_operators(operator, expected, kind):
    embeddings = kind(np.array([[1.0, -2.0], [4.0, 3.0]]))
    features = links.pair_features(embeddings, np.array([[0, 1]]), operator)
    assert features.tolist() == [expected]
    assert features.dtype == np.float32


@pytest.mark.parametrize("operator", ["hadamard", "l1"])
@pytest.mark.parametrize("predictor", ["sgd", "logreg"])
def test_operators_that_compare_find_communities(operator, predictor):
    embeddings, split = communities()
    assert links.score(embeddings, split, operator, predictor).auc > 0.8


def test_a_linear_score_of_a_concatenation_cannot_compare_two_nodes():
    embeddings, split = communities()
    scores = links.score_protocols(embeddings, split)
    assert abs(scores["paper"].auc - 0.5) < 0.08
    assert scores["strong"].auc > 0.9
    assert scores["dot"].auc > 0.9


def test_validation_chooses_the_strong_predictor():
    embeddings, split = communities()
    scores = links.score_protocols(embeddings, split)
    candidates = [s for name, s in scores.items() if name not in ("paper", "strong")]
    assert scores["strong"].validation_auc == max(s.validation_auc for s in candidates)
    assert len(candidates) == 3


def test_without_validation_pairs_test_pairs_do_not_choose():
    embeddings, split = communities()
    split.validation_edges = split.validation_non_edges = np.zeros((0, 2), int)
    scores = links.score_protocols(embeddings, split)
    assert scores["strong"].validation_auc is None
    assert scores["strong"] is scores["hadamard_logreg"]


@pytest.mark.parametrize(("predictor", "rows"), [("logreg", 500), ("sgd", 600)])
def test_large_training_sets_are_thinned_out(monkeypatch, predictor, rows):
    embeddings, split = communities()
    monkeypatch.setattr(links, "MAX_LOGREG_PAIRS", 500)
    monkeypatch.setattr(links, "MAX_SGD_VALUES", 600 * 8)
    monkeypatch.setattr(links, "CHUNK", 64)
    seen = []
    fit = links.fit_probe

    def spy(name, inputs, *args, **kwargs):
        seen.append(len(inputs))
        return fit(name, inputs, *args, **kwargs)

    monkeypatch.setattr(links, "fit_probe", spy)
    assert links.score(embeddings, split, "hadamard", predictor).auc > 0.75
    assert seen == [rows]


def test_while_validating_test_pairs_stay_out_of_sight():
    embeddings, split = communities()
    split.test_edges = split.test_non_edges = None
    score = links.score(embeddings, split, "hadamard", "logreg", validating=True)
    assert score.auc == score.validation_auc


def test_unknown_names_are_mistakes():
    embeddings, split = communities(pairs=30)
    with pytest.raises(InputError, match="predictor"):
        links.score(embeddings, split, "l1", "forest")
    with pytest.raises(InputError, match="operator"):
        links.score(embeddings, split, "l3", "sgd")
