"""Link prediction: fit a predictor on the edges a model saw, score it on hidden ones.

Two protocols, both in every report:

* `paper`: concatenation of the two embeddings and the `sgd` probe. The paper does not say what its
  predictor is; this is our guess. It agrees with the paper's row of raw features in two of four
  columns of Pubmed. It is weak: a linear score of a concatenation is a sum of one score per node
  and cannot compare the two.
* `strong`: elementwise product or difference with the `logreg` probe, or the plain dot product;
  which of them is chosen by the AUC on validation edges.
"""

import dataclasses
from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from cade_tf.errors import InputError
from cade_tf.evaluation.design import Matrix, as_dense
from cade_tf.evaluation.probes import PROBES, fit_probe
from cade_tf.graph.link_splits import LinkSplit

OPERATORS = ("concat", "hadamard", "l1")
PREDICTORS = (*PROBES, "dot")
PAPER = ("concat", "sgd")
STRONG = (("hadamard", "logreg"), ("l1", "logreg"), ("hadamard", "dot"))

# Five epochs of SGD still gain from every pair (PPI: AUC 0.55 with 100 000, 0.58 with all of
# them), so that only memory limits them; the optimum of a regression does not.
MAX_SGD_VALUES = 250_000_000
MAX_LOGREG_PAIRS = 100_000
CHUNK = 65_536

PairScore: TypeAlias = Callable[[np.ndarray], np.ndarray]
"""From pairs of nodes [pairs, 2] to scores, higher where a link is more likely."""


@dataclasses.dataclass(frozen=True)
class LinkScores:
    """Area under the ROC curve and average precision, between 0 and 1.

    Args:
        auc: On the test pairs.
        ap: On the test pairs.
        validation_auc: On the validation pairs; None where the split has none.
    """

    auc: float
    ap: float
    validation_auc: float | None


def pair_features(embeddings: Matrix, pairs: np.ndarray, operator: str) -> np.ndarray:
    """One dense float32 row for each pair of nodes.

    Args:
        embeddings: [nodes, width], dense or CSR.
        pairs: [pairs, 2], node positions.
        operator: `concat` (twice as wide), `hadamard` (product) or `l1` (absolute difference).

    Example:

    >>> pair_features(np.array([[1.0, 2.0], [3.0, 5.0]]), np.array([[0, 1]]), "l1").tolist()
    [[2.0, 3.0]]
    """
    first = as_dense(embeddings[pairs[:, 0]])
    second = as_dense(embeddings[pairs[:, 1]])
    if operator == "concat":
        return np.concatenate([first, second], axis=1)
    if operator == "hadamard":
        return first * second
    if operator == "l1":
        return np.abs(first - second)
    raise InputError("operator", "one of " + ", ".join(OPERATORS), operator, "Choose one.")


def score(
    embeddings: Matrix,
    split: LinkSplit,
    operator: str,
    predictor: str,
    *,
    validating: bool = False,
    seed: int = 0,
) -> LinkScores:
    """Scores embeddings by link prediction.

    The predictor is fit on the training pairs, never on the validation pairs, so that those can
    choose between predictors.

    Args:
        embeddings: [nodes, width], dense or CSR, of a model that did not see the hidden edges.
        split: Training, validation and test pairs.
        operator: One of `OPERATORS`; the dot product uses none and ignores it.
        predictor: `sgd`, `logreg` or `dot`.
        validating: Whether AUC and average precision are those of the validation pairs, the test
            pairs staying out of sight.
        seed: Seed of the predictor and of the choice of training pairs in large graphs.

    Returns:
        The scores.

    Raises:
        InputError: An unknown operator or predictor.
    """
    if predictor not in PREDICTORS:
        raise InputError("predictor", "one of " + ", ".join(PREDICTORS), predictor, "Choose one.")
    function = dot_products(embeddings)
    if predictor != "dot":
        function = _fit(embeddings, split, operator, predictor, seed)
    validation = None
    if len(split.validation_edges):
        validation = score_function(function, split, validating=True)
    auc, ap = validation if validating and validation else score_function(function, split)
    return LinkScores(auc, ap, validation[0] if validation else None)


def score_protocols(
    embeddings: Matrix, split: LinkSplit, *, validating: bool = False
) -> dict[str, LinkScores]:
    """Scores both protocols, and every candidate of the strong one.

    Returns:
        `paper`, `strong` and, by operator and predictor, what `strong` chose from.
    """

    def one(operator: str, predictor: str) -> LinkScores:
        return score(embeddings, split, operator, predictor, validating=validating)

    scores = {"paper": one(*PAPER)}
    candidates = {}
    for operator, predictor in STRONG:
        name = predictor if predictor == "dot" else f"{operator}_{predictor}"
        candidates[name] = one(operator, predictor)
    # Without validation pairs the first candidate stands, so that test pairs never choose.
    scores["strong"] = max(candidates.values(), key=lambda s: s.validation_auc or 0.0)
    return scores | candidates


def _fit(
    embeddings: Matrix, split: LinkSplit, operator: str, predictor: str, seed: int
) -> PairScore:
    pairs = np.concatenate([split.train_edges, split.train_non_edges])
    linked = np.zeros((len(pairs), 1), np.int8)
    linked[: len(split.train_edges)] = 1
    width = embeddings.shape[1] * (2 if operator == "concat" else 1)
    limit = MAX_LOGREG_PAIRS if predictor == "logreg" else MAX_SGD_VALUES // max(width, 1)
    if len(pairs) > limit:
        chosen = np.random.default_rng(seed).choice(len(pairs), limit, replace=False)
        pairs, linked = pairs[chosen], linked[chosen]
    probe = fit_probe(predictor, pair_features(embeddings, pairs, operator), linked, seed=seed)
    return _by_chunks(
        lambda pairs: probe.decisions(pair_features(embeddings, pairs, operator))[:, 0]
    )


def dot_products(vectors: Matrix) -> PairScore:
    """The plain dot product of two vectors as the score of their pair.

    Args:
        vectors: [nodes, width], dense or CSR.
    """

    def score(pairs: np.ndarray) -> np.ndarray:
        first, second = vectors[pairs[:, 0]], vectors[pairs[:, 1]]
        if isinstance(first, np.ndarray):
            return np.einsum("ij,ij->i", first, second)
        return np.asarray(first.multiply(second).sum(axis=1)).ravel()

    return _by_chunks(score)


def _by_chunks(score: PairScore) -> PairScore:
    """The same scores, of some pairs at a time: their inputs would be large."""
    return lambda pairs: np.concatenate(
        [score(pairs[start : start + CHUNK]) for start in range(0, max(len(pairs), 1), CHUNK)]
    )


def score_function(
    function: PairScore, split: LinkSplit, *, validating: bool = False
) -> tuple[float, float]:
    """AUC and average precision of scores that need no predictor.

    Args:
        function: Scores of pairs.
        split: Validation and test pairs.
        validating: Whether to score the validation pairs instead of the test pairs.
    """
    from sklearn.metrics import average_precision_score, roc_auc_score

    edges, non_edges = split.test_edges, split.test_non_edges
    if validating:
        edges, non_edges = split.validation_edges, split.validation_non_edges
    truth = np.repeat([1, 0], [len(edges), len(non_edges)])
    likely = function(np.concatenate([edges, non_edges]))
    return float(roc_auc_score(truth, likely)), float(average_precision_score(truth, likely))
