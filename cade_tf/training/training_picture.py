"""A picture of a training: its metrics by step."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cade_tf.errors import InputError
from cade_tf.figures import require_matplotlib, shown_in_notebooks

PANELS = {
    "loss": ("loss",),
    "mean reciprocal rank": ("mrr", "validation_mrr"),
    "affinities": ("positive_affinity", "negative_affinity"),
    "collapse, where it is near 1": ("mean_cosine",),
}


def draw_history(history: Mapping[str, Sequence[float]], title: str = "") -> Any:
    """Draws loss, ranks, affinities and collapse by step.

    Args:
        history: A list for each metric, and the steps; see `Trained.history`.
        title: Title of the picture.

    Returns:
        A matplotlib figure.

    Raises:
        InputError: matplotlib is not installed, or there is nothing to draw.
    """
    figures = require_matplotlib()
    steps = np.asarray(history.get("step", ()))
    if not len(steps):
        raise InputError("history", "at least one step", "none", "Train for some steps.")
    figure = figures.Figure(figsize=(9, 6), layout="constrained")
    for axes, (name, metrics) in zip(figure.subplots(2, 2).flat, PANELS.items(), strict=True):
        for metric in metrics:
            if metric not in history:
                continue
            values = np.asarray(history[metric], float)
            there = np.isfinite(values)
            axes.plot(steps[there], values[there], marker=".", label=metric)
        axes.set(title=name, xlabel="step")
        if metrics == ("mean_cosine",):
            # On a scale of its own, noise would look like a collapse.
            axes.set_ylim(min(0.0, axes.get_ylim()[0]), 1.0)
        if len(metrics) > 1:
            axes.legend(frameon=False)
    figure.suptitle(title)
    return shown_in_notebooks(figure)
