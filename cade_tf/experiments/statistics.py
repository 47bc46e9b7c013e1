"""Whether one method beats another: both on the same splits, pair by pair."""

import dataclasses
from collections.abc import Sequence

import numpy as np


@dataclasses.dataclass(frozen=True)
class PairedTest:
    """A comparison of scores on the same splits.

    Args:
        difference: Mean of the differences, first minus second.
        pairs: Number of splits.
        t_p: Two-sided p-value of the paired t test; None where it is undefined.
        wilcoxon_p: Two-sided p-value of Wilcoxon's signed-rank test; None where it is undefined.
            With fewer than six pairs it cannot fall below 0.05.
    """

    difference: float
    pairs: int
    t_p: float | None
    wilcoxon_p: float | None


def paired_test(first: Sequence[float], second: Sequence[float]) -> PairedTest:
    """Compares two methods by their scores on the same splits.

    Args:
        first: Scores of the one method, by split.
        second: Scores of the other; splits beyond the shorter list are left out.

    Example:

    >>> round(paired_test([0.8, 0.9, 0.85], [0.7, 0.8, 0.77]).difference, 3)
    0.093
    """
    from scipy import stats

    pairs = min(len(first), len(second))
    differences = np.asarray(first[:pairs], float) - np.asarray(second[:pairs], float)
    mean = float(differences.mean()) if pairs else float("nan")
    if pairs < 2 or np.ptp(differences) == 0.0:
        return PairedTest(mean, pairs, None, None)
    return PairedTest(
        mean,
        pairs,
        float(stats.ttest_rel(first[:pairs], second[:pairs]).pvalue),
        float(stats.wilcoxon(differences, method="exact").pvalue),
    )
