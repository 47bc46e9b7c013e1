"""Node classification: fit a probe on training nodes, score it on unseen ones."""

import dataclasses
import time

import numpy as np

from cade_tf.errors import InputError
from cade_tf.evaluation.design import Matrix
from cade_tf.evaluation.probes import fit_probe


@dataclasses.dataclass(frozen=True)
class ClassificationScores:
    """Micro- and macro-averaged F1 of a probe, between 0 and 1.

    Args:
        probe: Name of the probe.
        micro_f1: F1 of all decisions together; accuracy where a node has exactly one class.
        macro_f1: Mean of the classes' F1.
        c: Inverse penalty that cross-validation chose; None for `sgd`.
        train_nodes: Labelled nodes the probe was fit on.
        test_nodes: Labelled nodes it was scored on.
        seconds: Time of fitting and scoring.
    """

    probe: str
    micro_f1: float
    macro_f1: float
    c: float | None
    train_nodes: int
    test_nodes: int
    seconds: float


def score(
    embeddings: Matrix,
    labels: np.ndarray,
    train: np.ndarray,
    test: np.ndarray,
    probe: str = "logreg",
    *,
    seed: int = 0,
) -> ClassificationScores:
    """Scores embeddings by node classification.

    Args:
        embeddings: [nodes, width], dense or CSR.
        labels: Class index per node (-1: none, the node is left out), or a 0/1 matrix.
        train: Positions of the nodes the probe is fit on.
        test: Positions of the nodes it is scored on.
        probe: `sgd` or `logreg`.
        seed: Seed of the probe.

    Returns:
        The scores.

    Raises:
        InputError: Rows do not match, or no labelled node is left on one side.

    Example:

    >>> embeddings = np.random.default_rng(0).normal(size=(200, 4))
    >>> labels = (embeddings[:, 0] > 0).astype(int)
    >>> score(embeddings, labels, np.arange(150), np.arange(150, 200)).micro_f1 > 0.9
    True
    """
    if embeddings.shape[0] != len(labels):
        raise InputError(
            "embeddings",
            f"{len(labels)} rows, one per node",
            embeddings.shape[0],
            "Embed the whole graph, in its order.",
        )
    started = time.monotonic()
    train = labelled(labels, train)
    test = labelled(labels, test)
    if not len(train) or not len(test):
        raise InputError(
            "labels",
            "labelled nodes among training and unseen ones",
            f"{len(train)} and {len(test)}",
            "Label more nodes or change the split.",
        )
    fitted = fit_probe(probe, embeddings[train], labels[train], seed=seed)
    micro, macro = f1_scores(labels[test], fitted.predict(embeddings[test]))
    seconds = time.monotonic() - started
    return ClassificationScores(probe, micro, macro, fitted.c, len(train), len(test), seconds)


def labelled(labels: np.ndarray, nodes: np.ndarray) -> np.ndarray:
    """Those of the nodes that have a label."""
    return nodes if labels.ndim == 2 else nodes[labels[nodes] >= 0]


def f1_scores(truth: np.ndarray, predicted: np.ndarray) -> tuple[float, float]:
    """Micro- and macro-averaged F1 of class indices or of 0/1 matrices.

    Classes that occur neither in the truth nor in the prediction do not count.
    """
    if truth.ndim == 1:
        classes = np.union1d(truth, predicted)
        truth = truth[:, None] == classes
        predicted = predicted[:, None] == classes
    hits = np.logical_and(truth, predicted).sum(axis=0)
    counted = truth.sum(axis=0, dtype=np.int64) + predicted.sum(axis=0, dtype=np.int64)
    present = counted > 0
    macro = (2.0 * hits[present] / counted[present]).mean() if present.any() else 0.0
    return float(2.0 * hits.sum() / max(counted.sum(), 1)), float(macro)
