"""`cade explain`: what the attention between two nodes chose."""

import collections
import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from cade_tf.cli import app
from cade_tf.cli.trained_run import TrainedRunOptions, data_of, run_folder
from cade_tf.config import LARGEST_SEED, DataOptions
from cade_tf.errors import InputError
from cade_tf.options import option

if TYPE_CHECKING:
    import numpy as np

    from cade_tf.inference.pairs import PairEmbedding

USAGE = "cade explain --run_dir=DIR --pair=A,B [--plot=FILE]"
SHOWN_NEIGHBORS = 6


@dataclasses.dataclass(frozen=True, kw_only=True)
class ExplainOptions(TrainedRunOptions, DataOptions):
    """Explain."""

    pair: tuple[str, ...] = option((), "Ids of the two nodes.")
    plot: str | None = option(None, "Draw the attention into this png, pdf or svg.")
    seed: int = option(0, "Seed of neighbourhoods.", minimum=0, maximum=LARGEST_SEED)


OPTIONS = ExplainOptions


def run(options: ExplainOptions, words: list[str]) -> int:
    """Runs the command."""
    run_dir = run_folder(options, words, "explain")
    if len(options.pair) != 2:
        raise InputError("pair", "two ids", ",".join(options.pair) or "none", "Give --pair=A,B.")
    from cade_tf.evaluation import pictures
    from cade_tf.experiments import single_run
    from cade_tf.graph import loading
    from cade_tf.inference.encoder import Encoder
    from cade_tf.inference.pairs import embed_pair
    from cade_tf.training.run_folder import read_config

    if options.plot:
        pictures.require_matplotlib()
    config = read_config(run_dir)
    encoder = Encoder.load(run_dir / single_run.ENCODER_FOLDER)
    if encoder.model.attention is None:
        raise InputError(
            "run_dir", "a model with attention", config.model, "Train cade_ms or cade_ma."
        )
    graph = loading.load(data_of(options, config))
    pair = embed_pair(encoder, graph, *options.pair, seed=options.seed)
    candidates = "sampling" if encoder.model.samplings_by_k else "aggregator"
    print(table(pair, candidates))
    if options.plot:
        draw(pair, candidates, Path(options.plot))
        print(f"Picture: {options.plot}")
    return 0


def table(pair: "PairEmbedding", candidates: str) -> str:
    """Weights of both nodes' candidates, the heaviest first, and what was sampled."""
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


def _counted(drawn: "np.ndarray", most: int) -> str:
    """The ids drawn, the most frequent first, with their number where it is above 1."""
    counts = collections.Counter(drawn.tolist()).most_common()
    shown = ", ".join(f"{node} x{n}" if n > 1 else f"{node}" for node, n in counts[:most])
    return shown + (f" and {len(counts) - most} more" if len(counts) > most else "")


def draw(pair: "PairEmbedding", candidates: str, path: Path) -> None:
    """The attention matrix with the weights of both nodes along its sides."""
    from cade_tf.evaluation import pictures

    figure = pictures.require_matplotlib().Figure(figsize=(6.5, 5.5), layout="constrained")
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
    pictures.save_figure(figure, path)


if __name__ == "__main__":
    sys.exit(app.run_command("explain"))
