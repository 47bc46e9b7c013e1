"""Linear probes: simple classifiers that tell what embeddings hold.

Two probes, because the literature uses both and they can rank methods differently:

* `sgd`, GraphSAGE's evaluation script: logistic regression by five epochs of stochastic gradient
  descent, one classifier per class.
* `logreg`: logistic regression at its optimum, the penalty chosen by cross-validation on the
  training nodes.

Both standardise their inputs by mean and spread of the training rows, so that the scale of an
embedding neither helps nor hurts.
"""

import dataclasses

import numpy as np

from cade_tf.errors import InputError
from cade_tf.evaluation import logistic
from cade_tf.evaluation.design import Design, Matrix, Scaling

PROBES = ("sgd", "logreg")

# GraphSAGE's SGDClassifier of scikit-learn 0.19 ran five epochs and never stopped early.
SGD_EPOCHS = 5


@dataclasses.dataclass(frozen=True)
class Probe:
    """A fitted linear classifier.

    Args:
        name: `sgd` or `logreg`.
        scaling: Standardisation of the inputs.
        weights: [columns + 1, outputs]; the last row is the intercept.
        multilabel: Whether a row may have any number of labels.
        c: Inverse penalty that cross-validation chose; None for `sgd`.

    Example:

    >>> inputs = np.array([[0.0], [1.0], [2.0], [3.0]] * 10)
    >>> probe = fit_probe("logreg", inputs, np.array([0, 0, 1, 1] * 10))
    >>> probe.predict(np.array([[0.5], [2.5]])).tolist()
    [0, 1]
    """

    name: str
    scaling: Scaling
    weights: np.ndarray
    multilabel: bool
    c: float | None = None

    def decisions(self, inputs: Matrix) -> np.ndarray:
        """Scores [rows, outputs]; the larger, the likelier."""
        return Design.make(inputs, self.scaling).dot(self.weights)

    def predict(self, inputs: Matrix) -> np.ndarray:
        """Class indices [rows], or a 0/1 matrix [rows, labels]."""
        decisions = self.decisions(inputs)
        if self.multilabel:
            return (decisions > 0.0).astype(np.int8)
        return decisions.argmax(axis=1)


def fit_probe(
    name: str,
    inputs: Matrix,
    labels: np.ndarray,
    *,
    scaling: Scaling | None = None,
    seed: int = 0,
) -> Probe:
    """Fits a probe.

    Args:
        name: `sgd` or `logreg`.
        inputs: [rows, width], dense or CSR.
        labels: Class index per row, or a 0/1 matrix.
        scaling: How inputs are scaled; by default they are standardised.
        seed: Seed of the shuffles or folds.

    Returns:
        The fitted probe.

    Raises:
        InputError: The name is unknown, or the labels give nothing to learn.
    """
    if name not in PROBES:
        raise InputError("probe", "one of " + ", ".join(PROBES), name, "Choose one.")
    if inputs.shape[0] != len(labels):
        raise InputError(
            "labels", f"{inputs.shape[0]} rows, one per input", len(labels), "Match the rows."
        )
    multilabel = labels.ndim == 2
    if not multilabel and len(np.unique(labels)) < 2:
        raise InputError(
            "labels", "at least two classes among the training rows", "one", "Label more nodes."
        )
    targets = _targets(labels)
    scaling = scaling or Scaling.fit(inputs)
    design = Design.make(inputs, scaling)
    if name == "sgd":
        return Probe(name, scaling, _sgd_weights(design.dense(), targets, seed), multilabel)
    fitted = logistic.fit_by_cross_validation(design, targets, exclusive=not multilabel, seed=seed)
    return Probe(name, scaling, fitted.weights, multilabel, fitted.c)


def _targets(labels: np.ndarray) -> np.ndarray:
    if labels.ndim == 2:
        return labels.astype(np.float32)
    targets = np.zeros((len(labels), int(labels.max()) + 1), np.float32)
    targets[np.arange(len(labels)), labels] = 1.0
    return targets


def _sgd_weights(inputs: np.ndarray, targets: np.ndarray, seed: int) -> np.ndarray:
    from sklearn.linear_model import SGDClassifier

    weights = np.zeros((inputs.shape[1] + 1, targets.shape[1]), np.float32)
    for output in range(targets.shape[1]):
        positive = targets[:, output] > 0.5
        if positive.all() or not positive.any():
            # Nothing to tell apart: a constant answer, and no call that would raise.
            weights[-1, output] = 1.0 if positive.all() else -np.finfo(np.float32).max
            continue
        classifier = SGDClassifier(
            loss="log_loss", max_iter=SGD_EPOCHS, tol=None, random_state=seed
        )
        classifier.fit(inputs, positive)
        weights[:-1, output] = classifier.coef_[0]
        weights[-1, output] = classifier.intercept_[0]
    return weights
