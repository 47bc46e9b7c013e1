"""The benchmark at a glance: distance to each target, and what a step is made of."""

from collections.abc import Sequence
from pathlib import Path

from cade_tf.benchmark.measure import Measurement
from cade_tf.benchmark.targets import measured
from cade_tf.figures import require_matplotlib, save_figure


def draw(found: Sequence[Measurement], k: int, path: Path) -> None:
    """Draws the plot of a report.

    Args:
        found: What was measured.
        k: K of CADE-MS and CADE-MA.
        path: File to write.

    Raises:
        InputError: matplotlib is missing.
    """
    by_name = {one.name: one for one in found}
    figure = require_matplotlib().Figure(figsize=(11, 4.6), layout="constrained")
    left, right = figure.subplots(1, 2)

    margins = [(t, t.margin(one.median)) for t, one in measured(k, by_name) if one is not None]
    for place, (_, margin) in enumerate(reversed(margins)):
        left.barh(place, margin - 1, left=1, color="C2" if margin >= 1 else "C3")
        left.text(max(margin, 1), place, f" {margin:.2f}", va="center", fontsize=8)
    left.set_yticks(range(len(margins)), [t.title for t, _ in reversed(margins)], fontsize=8)
    left.axvline(1, color="0.3")
    left.set_xscale("log")
    left.set_xlabel("times better than the target")

    names = [name for name in by_name if name.startswith("train/") and name.endswith("/mean/step")]
    for place, name in enumerate(reversed(names)):
        step, bare = by_name[name], by_name.get(name.removesuffix("step") + "products")
        low, high = step.spread
        error = [[1000 * (step.median - low)], [1000 * (high - step.median)]]
        right.barh(place, 1000 * step.median, xerr=error, color="C0", capsize=2)
        if bare is not None:
            right.barh(place, 1000 * bare.median, color="C1")
    right.set_yticks(range(len(names)), [name.split("/")[1] for name in reversed(names)])
    right.set_xlabel("milliseconds a step; orange: its matrix products alone")
    save_figure(figure, path)
