"""What a training run leaves: the model, its metrics, and a picture of them."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cade_tf.config import Config
from cade_tf.display import html_table, require_matplotlib, shown_in_notebooks
from cade_tf.errors import InputError
from cade_tf.graph.graph import Graph
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.progress import Shown

PANELS = {
    "loss": ("loss",),
    "mean reciprocal rank": ("mrr", "validation_mrr"),
    "affinities": ("positive_affinity", "negative_affinity"),
    "collapse, where it is near 1": ("mean_cosine",),
}


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Trained:
    """What a training run leaves.

    Args:
        model: The trained model.
        config: Options of the run.
        metrics: Means of the last steps.
        steps: Steps done, those before a run was resumed included.
        seconds: Time of those steps, without preparation.
        warning: What is wrong with the run, if it collapsed.
        best_step: Step whose weights the model has, where validation chose one.
        history: Metrics by step, a list for each name and one of the steps, NaN where a step has
            no number of that name; of a run that was resumed, those of its earlier processes too.
            Of more than 4,000 steps, an even choice is kept.

    Example:

    >>> from cade_tf.training.trainer import train
    >>> graph = Graph.from_edges([[0, 1], [1, 2], [2, 0]], features=np.eye(3))
    >>> trained = train(graph, Config(dim=8, fanouts=(2, 2), steps=0), progress=False)
    >>> trained.steps, trained.model.dim
    (0, 8)
    """

    model: DualEncoder
    config: Config
    metrics: dict[str, float]
    steps: int
    seconds: float
    warning: str | None
    best_step: int | None = None
    history: dict[str, list[float]] = dataclasses.field(default_factory=dict)

    def embed(
        self,
        graph: Graph,
        *,
        nodes: Sequence[object] | np.ndarray | None = None,
        walks: int | None = None,
        seed: int | None = None,
        progress: Shown = True,
    ) -> np.ndarray:
        """Algorithm 1 with the run's own options; see `DualEncoder.embed`."""
        return self.model.embed(
            graph,
            nodes=nodes,
            walks=self.config.embed_walks if walks is None else walks,
            seed=self.config.seed if seed is None else seed,
            batch_size=self.config.embed_batch_size,
            progress=progress,
        )

    def plot(self) -> Any:
        """The curves of the run: loss, ranks, affinities and collapse by step.

        Returns:
            A matplotlib figure, which a notebook shows and `savefig` writes.

        Raises:
            InputError: matplotlib is not installed, or there was no step.

        Example:

        >>> from cade_tf.training.trainer import train
        >>> graph = Graph.from_edges([[0, 1], [1, 2], [2, 0]], features=np.eye(3))
        >>> config = Config(dim=8, fanouts=(2, 2), steps=20, batch_size=4)
        >>> figure = train(graph, config, progress=False).plot()
        """
        return _draw(self.history, f"{self.config.model}, {self.steps} steps")

    def __repr__(self) -> str:
        parts = [f"{type(self.model).__name__}", f"steps={self.steps}"]
        parts += [f"{n}={self.metrics[n]:.3f}" for n in ("loss", "mrr") if n in self.metrics]
        parts.append(f"seconds={self.seconds:.1f}")
        if self.warning:
            parts.append("collapsed")
        return f"Trained({', '.join(parts)})"

    def _repr_html_(self) -> str:
        """What a notebook shows."""
        rows: dict[str, object] = {
            "model": type(self.model).__name__,
            "steps": f"{self.steps:,}",
            "seconds": f"{self.seconds:.1f}",
            **{name: f"{value:.4f}" for name, value in self.metrics.items()},
        }
        if self.best_step is not None:
            rows["best step"] = f"{self.best_step:,}"
        if self.warning:
            rows["warning"] = self.warning
        return html_table("Trained", rows)


def _draw(history: Mapping[str, Sequence[float]], title: str) -> Any:
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
