"""`cade evaluate`: score a run or an embeddings file."""

import dataclasses
import sys
from pathlib import Path
from typing import Any

import numpy as np

from cade_tf.cli import app
from cade_tf.config import DataOptions, SplitOptions
from cade_tf.errors import InputError
from cade_tf.options import option

USAGE = (
    "cade evaluate --run_dir=DIR [--plot=FILE]\n"
    "       cade evaluate --embeddings=FILE.npy [--dataset=NAME | --graph=PATH] [--plot=FILE]"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class EvaluateOptions(DataOptions, SplitOptions):
    """Evaluate."""

    run_dir: str | None = option(None, "Folder of a run: its embeddings, graph and split.")
    embeddings: str | None = option(
        None, "Embeddings of any origin, npy [nodes, width], rows in the order of the graph."
    )
    plot: str | None = option(
        None, "Draw unseen nodes by t-SNE, coloured by class, into this png, pdf or svg."
    )
    output: str | None = option(None, "Write the scores as JSON to this file.")


OPTIONS = EvaluateOptions


def run(options: EvaluateOptions, words: list[str]) -> int:
    """Runs the command."""
    if words:
        raise InputError("arguments", "flags only", " ".join(words), "See cade evaluate --help.")
    from cade_tf.experiments import single_run
    from cade_tf.graph import loading, splits
    from cade_tf.inference import outputs
    from cade_tf.training import run_folder

    if (options.run_dir is None) == (options.embeddings is None):
        raise InputError(
            "run_dir and embeddings", "one of the two", "both or none", "Say what to score."
        )
    if options.plot:
        from cade_tf.evaluation import pictures

        pictures.require_matplotlib()
    if options.run_dir is not None:
        run_dir = Path(options.run_dir)
        config = run_folder.read_config(run_dir)
        data_dir = options.data_dir or config.data_dir
        graph = loading.load(config.replace(data_dir=data_dir))
        split = splits.NodeSplit.load(run_dir / single_run.SPLIT_FILE)
        embeddings = read_embeddings(run_dir / outputs.EMBEDDINGS_FILE, graph.num_nodes)
    else:
        graph = loading.load(options)
        split = splits.node_split(graph, options)
        embeddings = read_embeddings(Path(options.embeddings or ""), graph.num_nodes)
    scores = single_run.score_embeddings(embeddings, graph, split)
    if graph.labels is None or not scores:
        raise InputError(
            "labels", "labels and unseen nodes to score", "none", "Give a graph with labels."
        )
    if not graph.is_multilabel:
        from cade_tf.evaluation import clustering

        found = clustering.score(embeddings, graph.labels, split.test)
        scores["kmeans"] = dataclasses.asdict(found)
    _show(scores)
    if options.output:
        single_run.write_json(Path(options.output), scores)
    if options.plot:
        pictures.tsne_picture(
            embeddings[split.test],
            None if graph.is_multilabel else graph.labels[split.test],
            options.plot,
            title=f"{graph.name}, unseen nodes",
            class_names=graph.class_names,
        )
        print(f"Picture: {options.plot}")
    return 0


def read_embeddings(path: Path, nodes: int) -> np.ndarray:
    """Embeddings of a graph's nodes.

    Args:
        path: An npy file.
        nodes: Number of rows it must have.

    Raises:
        InputError: The file is missing, or no finite matrix with a row for each node.
    """
    try:
        found = np.load(path, allow_pickle=False)
    except FileNotFoundError as error:
        raise InputError(str(path), "an npy file", "none", "Train or embed first.") from error
    except (ValueError, EOFError) as error:
        raise InputError(str(path), "an npy file", error, "Write it with numpy.save.") from error
    if not isinstance(found, np.ndarray) or found.ndim != 2 or len(found) != nodes:
        shape = getattr(found, "shape", type(found).__name__)
        raise InputError(
            str(path), f"shape [{nodes}, width]", shape, "Give a row for each node of the graph."
        )
    if found.dtype.kind not in "fiu" or not np.isfinite(found).all():
        raise InputError(str(path), "finite numbers", found.dtype, "Check how it was made.")
    return found.astype(np.float32, copy=False)


def _show(scores: dict[str, dict[str, Any]]) -> None:
    shown = ("micro_f1", "macro_f1", "nmi", "ari")
    for probe, values in scores.items():
        metrics = "  ".join(f"{name} {values[name]:.4f}" for name in shown if name in values)
        print(f"{probe:<7} {metrics}  ({values['seconds']:.1f} s)")


if __name__ == "__main__":
    sys.exit(app.run_command("evaluate"))
