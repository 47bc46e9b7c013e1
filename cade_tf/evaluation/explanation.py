"""What the attention between two nodes chose, as a table and as a picture."""

import collections
from pathlib import Path

import numpy as np

from cade_tf import display
from cade_tf.inference.pairs import PairEmbedding

SHOWN_NEIGHBORS = 6


def table(pair: PairEmbedding, candidates: str) -> str:
    """Weights of both nodes' candidates, the heaviest first, and what was sampled.

    Args:
        pair: Two nodes in the context of each other.
        candidates: What a candidate is called: `sampling` or `aggregator`.
    """
    count = len(pair.attention)
    lines = [f"{pair.ids[0]} and {pair.ids[1]}: cosine {pair.cosine:.4f}"]
    lines.append(f"Without preference every {candidates} would weigh {1 / count:.3f}.")
    for node, weights, drawn in zip(pair.ids, pair.weights, pair.drawn, strict=True):
        lines.append("")
        if len(drawn) == 1:
            lines.append(f"{node} drew: {_counted(drawn[0], len(drawn[0]))}")
        head = f"{f'{candidates} of {node}':<24}weight"
        lines.append(head + ("  neighbours drawn" if len(drawn) > 1 else ""))
        for index in weights.argsort(kind="stable")[::-1]:
            shown = f"  {_counted(drawn[index], SHOWN_NEIGHBORS)}" if len(drawn) > 1 else ""
            lines.append(f"{index + 1:<24}{weights[index]:6.3f}{shown}")
    return "\n".join(lines)


def _counted(drawn: np.ndarray, most: int) -> str:
    """The ids drawn, the most frequent first, with their number where it is above 1."""
    counts = collections.Counter(drawn.tolist()).most_common()
    shown = ", ".join(f"{node} x{n}" if n > 1 else f"{node}" for node, n in counts[:most])
    return shown + (f" and {len(counts) - most} more" if len(counts) > most else "")


def draw(pair: PairEmbedding, candidates: str, path: str | Path) -> None:
    """Draws the attention matrix with the weights of both nodes along its sides.

    Args:
        pair: Two nodes in the context of each other.
        candidates: What a candidate is called: `sampling` or `aggregator`.
        path: A png, pdf or svg file.

    Raises:
        InputError: matplotlib is missing, or the file cannot be written.
    """
    figure = display.require_matplotlib().Figure(figsize=(6.5, 5.5), layout="constrained")
    count = len(pair.attention)
    axes = figure.subplots(
        2, 2, sharex="col", sharey="row", width_ratios=(4, 1), height_ratios=(1, 4)
    )
    matrix, top, side = axes[1, 0], axes[0, 0], axes[1, 1]
    axes[0, 1].axis("off")
    image = matrix.imshow(pair.attention, cmap="viridis", vmin=0.0, aspect="auto")
    places = range(count)
    step = max(count // 10, 1)
    names = [str(place + 1) for place in places][::step]
    matrix.set_xticks(list(places)[::step], names)
    matrix.set_yticks(list(places)[::step], names)
    matrix.set_xlabel(f"{candidates} of {pair.ids[1]}")
    matrix.set_ylabel(f"{candidates} of {pair.ids[0]}")
    top.bar(places, pair.weights[1], color="0.4")
    side.barh(places, pair.weights[0], color="0.4")
    for bars, line in ((top, top.axhline), (side, side.axvline)):
        line(1 / count, color="C3", linewidth=1)
        bars.tick_params(labelbottom=bars is side, labelleft=bars is top)
        bars.spines[["top", "right"]].set_visible(False)
    top.set_ylabel("weight")
    side.set_xlabel("weight")
    top.set_title(f"Attention between {pair.ids[0]} and {pair.ids[1]} (red: no preference)")
    figure.colorbar(image, ax=axes, label="attention", shrink=0.8)
    display.save_figure(figure, path)
