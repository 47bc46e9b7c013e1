"""Plots of an experiment: our scores as lines, the paper's as dashes of the same colour."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from cade_tf.experiments.entries import TITLES
from cade_tf.experiments.metrics import main_metrics


def draw(results: dict[str, Any], folder: Path) -> list[Path]:
    """Draws the main scores of each data set, and training time where that is the subject.

    Args:
        results: What `runner.run` gave.
        folder: Folder of the report.

    Returns:
        The files written; none for experiments that are only tables.

    Raises:
        InputError: matplotlib is missing.
    """
    if results["bars"]:
        return _draw_bars(results, folder)
    entries = [e for e in results["entries"] if "scores" in e and e["x"] is not None]
    if results["axis"] is None:
        return []
    written = []
    for dataset in dict.fromkeys(entry["dataset"] for entry in entries):
        mine = [entry for entry in entries if entry["dataset"] == dataset]
        for probe, metric, title in main_metrics(mine[0]["task"], None):

            def score(entry: dict[str, Any], probe: str = probe, metric: str = metric) -> Any:
                found = entry["scores"][probe][metric]
                return 100 * found["mean"], 100 * (found["std"] or 0.0)

            written.append(folder / f"{dataset}-{probe}.png")
            # The paper's link predictor is that of the protocol named after it and no other.
            printed = None if probe == "strong" else metric
            # What stands in brackets is for the report; it would be longer than the axis.
            label = title.split(" (")[0].replace("`", "") + ", %"
            _lines(mine, score, label, results["axis"], TITLES[dataset], written[-1], printed)
        if results["timed"]:
            written.append(folder / f"{dataset}-seconds.png")
            _lines(
                mine,
                lambda entry: (entry["training_seconds"]["mean"], 0.0),
                "seconds of training",
                results["axis"],
                TITLES[dataset],
                written[-1],
                None,
            )
    return written


def _draw_bars(results: dict[str, Any], folder: Path) -> list[Path]:
    """A score of every row, a picture for each data set."""
    from cade_tf.evaluation.pictures import require_matplotlib, save_figure

    written = []
    scored = [entry for entry in results["entries"] if "scores" in entry]
    for dataset in dict.fromkeys(entry["dataset"] for entry in scored):
        mine = [entry for entry in scored if entry["dataset"] == dataset]
        ((probe, metric, title),) = main_metrics(mine[0]["task"], results["bars"])
        found = [entry["scores"][probe][metric] for entry in mine]
        means = [100 * score["mean"] for score in found]
        figure = require_matplotlib().Figure(figsize=(7.6, 0.9 + 0.26 * len(mine)))
        axes = figure.subplots()
        colors = {name: f"C{i}" for i, name in enumerate(dict.fromkeys(e["method"] for e in mine))}
        bars = axes.barh(
            [entry["row"] for entry in mine],
            means,
            xerr=[100 * (score["std"] or 0.0) for score in found],
            color=[colors[entry["method"]] for entry in mine],
        )
        # Bars that do not begin at zero say what they are.
        spread = max(max(means) - min(means), 0.1)
        axes.bar_label(bars, fmt="%.2f" if spread < 1 else "%.1f", padding=3, fontsize=8)
        axes.set_xlim(min(means) - 0.3 * spread, max(means) + 0.15 * spread)
        axes.margins(y=0.01)
        axes.invert_yaxis()
        axes.set_xlabel(title.replace("`", "") + ", %")
        axes.set_title(TITLES[dataset])
        axes.grid(axis="x", alpha=0.3)
        written.append(folder / f"{dataset}-{probe}.png")
        save_figure(figure, written[-1])
    return written


def _lines(
    entries: list[dict[str, Any]],
    value: Callable[[dict[str, Any]], tuple[float, float]],
    label: str,
    axis: str,
    title: str,
    path: Path,
    printed: str | None,
) -> None:
    from cade_tf.evaluation.pictures import require_matplotlib, save_figure

    figure = require_matplotlib().Figure(figsize=(6.4, 4.4))
    axes = figure.subplots()
    for place, row in enumerate(dict.fromkeys(entry["row"] for entry in entries)):
        # Ten colours can be told apart; then the dashes begin.
        color, line = f"C{place % 10}", "-" if place < 10 else "--"
        mine = sorted((e for e in entries if e["row"] == row), key=lambda e: e["x"])
        places = [entry["x"] for entry in mine]
        means, spreads = zip(*(value(entry) for entry in mine), strict=True)
        axes.errorbar(
            places, means, spreads, color=color, linestyle=line, marker="o", label=row, capsize=2
        )
        paper = [(e["x"], e["paper"][printed]) for e in mine if printed and printed in e["paper"]]
        if paper:
            axes.plot(*zip(*paper, strict=True), color=color, linestyle=":", marker="x")
    axes.set_xlabel(axis)
    axes.set_ylabel(label)
    axes.set_title(f"{title} (dotted: the paper)" if _has_paper(entries, printed) else title)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes.grid(alpha=0.3)
    save_figure(figure, path)


def _has_paper(entries: list[dict[str, Any]], printed: str | None) -> bool:
    return printed is not None and any(printed in entry["paper"] for entry in entries)
