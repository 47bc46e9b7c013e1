"""Plots of an experiment: our scores as lines, the paper's as dots of the same colour."""

import contextlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from cade_tf import presets
from cade_tf.display import require_matplotlib, save_figure
from cade_tf.experiments.cells import CLASSIFICATION
from cade_tf.experiments.declarations import TITLES, labelled_title, main_metrics


@contextlib.contextmanager
def axes_of(path: Path, title: str, x_label: str, y_label: str) -> Iterator[Any]:
    """Axes to draw lines on; the plot is then written, with the legend beside it.

    Raises:
        InputError: matplotlib is missing.
    """
    figure = require_matplotlib().Figure(figsize=(6.4, 4.4))
    axes = figure.subplots()
    axes.set_title(title)
    yield axes
    axes.set_xlabel(x_label)
    axes.set_ylabel(y_label)
    axes.legend(frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes.grid(alpha=0.3)
    save_figure(figure, path)


def draw(results: dict[str, Any], folder: Path) -> list[Path]:
    """Draws the main scores and the training time of each data set, a picture for each block.

    Args:
        results: What `runner.run` gave.
        folder: Folder of the report; plots of an earlier report there are removed.

    Returns:
        The files written; none for experiments that are only tables.

    Raises:
        InputError: matplotlib is missing.
    """
    for path in folder.glob("*.png"):
        path.unlink()
    if results["axis"] is None:
        return []
    scored = [e for e in results["entries"] if "scores" in e and e["x"] is not None]
    written = []
    for dataset in dict.fromkeys(entry["dataset"] for entry in scored):
        for preset in presets.PRESETS:
            mine = [e for e in scored if e["dataset"] == dataset and e["preset"] in (preset, None)]
            if any(entry["preset"] for entry in mine):
                written += _draw_block(mine, preset, results, folder)
    return written


def _draw_block(
    entries: list[dict[str, Any]], preset: str, results: dict[str, Any], folder: Path
) -> list[Path]:
    dataset, task = entries[0]["dataset"], entries[0]["task"]
    name = labelled_title(dataset) if task == CLASSIFICATION else TITLES[dataset]
    title = f"{name}: {presets.TITLES[preset]}"
    if results["validating"]:
        title += ", validation data"
    written = []
    for probe, metric, label in main_metrics(task):

        def score(entry: dict[str, Any], probe: str = probe, metric: str = metric) -> Any:
            found = entry["scores"][probe][metric]
            return 100 * found["mean"], 100 * (found["std"] or 0.0)

        written.append(folder / f"{dataset}-{preset}-{probe}.png")
        # The paper has one link predictor; our guess at it is the protocol named after it.
        printed = None if probe == "strong" else metric
        # What stands in brackets is for the report; it would be longer than the axis.
        text = label.split(" (")[0].replace("`", "") + ", %"
        _lines(entries, score, text, results["axis"], title, written[-1], printed)
    timed = [entry for entry in entries if entry["step_milliseconds"]]
    if not timed:
        return written
    written.append(folder / f"{dataset}-{preset}-step.png")
    _lines(
        timed,
        lambda entry: (entry["step_milliseconds"]["mean"], 0.0),
        "processor milliseconds per training step",
        results["axis"],
        title,
        written[-1],
        None,
    )
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
    with axes_of(path, title, axis, label) as axes:
        for place, row in enumerate(dict.fromkeys(entry["row"] for entry in entries)):
            # Ten colours can be told apart; then the dashes begin, and squares for single points.
            marker = "o" if place < 10 else "s"
            style = {"color": f"C{place % 10}", "linestyle": "-" if place < 10 else "--"}
            mine = sorted((e for e in entries if e["row"] == row), key=lambda e: e["x"])
            means, spreads = zip(*map(value, mine), strict=True)
            places = [entry["x"] for entry in mine]
            axes.errorbar(places, means, spreads, marker=marker, label=row, capsize=2, **style)
            paper = [(e["x"], e["paper"][printed]) for e in mine if printed in e["paper"]]
            if paper:
                style["linestyle"] = ":"
                axes.plot(*zip(*paper, strict=True), marker="x", **style)
                axes.set_title(f"{title} (dotted: the paper)")
        # Ratios, widths and K are whole numbers; a tick between two of them would mean nothing.
        axes.set_xticks(sorted({entry["x"] for entry in entries}))
        axes.xaxis.set_major_formatter("{x:.0f}")
