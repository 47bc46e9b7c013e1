"""Logistic regression by L-BFGS, quick enough to be run hundreds of times.

One optimiser serves classes that exclude each other (softmax) and labels that do not (sigmoid):
all outputs are fit together as one matrix of weights, in single precision, on standardised inputs.
The strength of the L2 penalty is chosen by cross-validation on the rows given, along a path from
strong to weak in which each fit starts from the last. scikit-learn would fit PPI's 121 labels one
after the other, and each strength from zero.
"""

import dataclasses

import numpy as np
import scipy.optimize

from cade_tf.evaluation.design import Design

# C as in scikit-learn: the inverse of the L2 penalty next to a sum of losses.
C_GRID = (1e-4, 1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0, 3.0)
FOLDS = 3


@dataclasses.dataclass(frozen=True)
class LogisticFit:
    """Weights of a fitted regression, and the C they were fit with."""

    weights: np.ndarray
    c: float


def fit(
    design: Design,
    targets: np.ndarray,
    *,
    c: float,
    exclusive: bool,
    start: np.ndarray | None = None,
    tolerance: float = 1e-4,
    max_iterations: int = 300,
) -> LogisticFit:
    """Minimises the sum of log losses plus |weights|^2 / (2 c), the intercept unpenalised.

    Args:
        design: Standardised inputs.
        targets: float32 [rows, outputs], 0 or 1; one 1 per row where `exclusive`.
        c: Inverse strength of the penalty.
        exclusive: Softmax over the outputs; otherwise each output is its own regression.
        start: Weights to start from; zeros by default.
        tolerance: Largest slope of the mean loss at which to stop.
        max_iterations: Iterations of L-BFGS.

    Returns:
        The weights [columns + 1, outputs].
    """
    shape = (design.num_weights, targets.shape[1])
    decay = 1.0 / (c * design.num_rows)

    def objective(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(shape)
        logits = design.dot(weights.astype(np.float32))
        loss, residuals = _softmax(logits, targets) if exclusive else _sigmoid(logits, targets)
        slope = design.transposed_dot(residuals / np.float32(design.num_rows)).astype(np.float64)
        slope[:-1] += decay * weights[:-1]
        penalty = 0.5 * decay * float(np.square(weights[:-1]).sum())
        return loss / design.num_rows + penalty, slope.ravel()

    first = np.zeros(shape) if start is None else start.astype(np.float64)
    found = scipy.optimize.minimize(
        objective,
        first.ravel(),
        jac=True,
        method="L-BFGS-B",
        options={"maxiter": max_iterations, "gtol": tolerance, "ftol": 1e-9, "maxls": 30},
    )
    return LogisticFit(found.x.reshape(shape).astype(np.float32), c)


def _softmax(logits: np.ndarray, targets: np.ndarray) -> tuple[float, np.ndarray]:
    """Sum of losses, and its derivative by the logits."""
    logits = logits - logits.max(axis=1, keepdims=True)
    exponents = np.exp(logits)
    total = exponents.sum(axis=1, keepdims=True)
    loss = np.log(total).sum(dtype=np.float64) - (logits * targets).sum(dtype=np.float64)
    return float(loss), exponents / total - targets


def _sigmoid(logits: np.ndarray, targets: np.ndarray) -> tuple[float, np.ndarray]:
    """Sum of losses over rows and outputs, and its derivative by the logits."""
    decayed = np.exp(-np.abs(logits))
    loss = (np.maximum(logits, 0.0) - logits * targets + np.log1p(decayed)).sum(dtype=np.float64)
    probability = np.where(logits >= 0.0, 1.0, decayed) / (1.0 + decayed)
    return float(loss), (probability - targets).astype(np.float32)


def log_loss(fitted: LogisticFit, design: Design, targets: np.ndarray, exclusive: bool) -> float:
    """Mean log loss per row."""
    logits = design.dot(fitted.weights)
    loss, _ = _softmax(logits, targets) if exclusive else _sigmoid(logits, targets)
    return loss / design.num_rows


def fit_by_cross_validation(
    design: Design, targets: np.ndarray, *, exclusive: bool, seed: int = 0
) -> LogisticFit:
    """Chooses C from `C_GRID` by the held-out log loss of `FOLDS` folds, then fits all rows.

    The path ends once the loss has risen twice in a row: weaker penalties only overfit more, and
    are the slowest to fit.

    Args:
        design: Standardised inputs.
        targets: float32 [rows, outputs].
        exclusive: Whether exactly one target of a row is 1.
        seed: Seed of the folds.
    """
    fold = np.random.default_rng(seed).permutation(design.num_rows) % FOLDS
    held_in = [np.flatnonzero(fold != f) for f in range(FOLDS)]
    held_out = [np.flatnonzero(fold == f) for f in range(FOLDS)]
    parts = [
        (design.rows(i), targets[i], design.rows(o), targets[o])
        for i, o in zip(held_in, held_out, strict=True)
    ]
    starts: list[np.ndarray | None] = [None] * FOLDS
    best_c, best_loss, worse, warm = C_GRID[0], np.inf, 0, None
    for c in C_GRID:
        losses = []
        for f, (x, y, x_out, y_out) in enumerate(parts):
            fitted = fit(x, y, c=c, exclusive=exclusive, start=starts[f], tolerance=1e-3)
            starts[f] = fitted.weights
            losses.append(log_loss(fitted, x_out, y_out, exclusive))
        if np.mean(losses) < best_loss:
            best_c, best_loss, worse, warm = c, float(np.mean(losses)), 0, starts[0]
        else:
            worse += 1
            if worse == 2:
                break
    return fit(design, targets, c=best_c, exclusive=exclusive, start=warm)
