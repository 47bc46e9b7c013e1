"""`cade evaluate`: score a run or an embeddings file, by labels or by hidden edges."""

import dataclasses
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cade_tf.cli import checks, logs
from cade_tf.cli.trained_run import existing_run, open_run
from cade_tf.config import Config, DataOptions, SplitOptions
from cade_tf.display import save_figure
from cade_tf.errors import InputError
from cade_tf.files import write_json
from cade_tf.options import option

if TYPE_CHECKING:
    from cade_tf.graph.graph import Graph

USAGE = (
    "cade evaluate --run_dir=DIR [--labels=FILE] [--plot=FILE]\n"
    "       cade evaluate --embeddings=FILE.npy [--dataset=NAME | --graph=PATH] [--plot=FILE]"
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class EvaluateOptions(DataOptions, SplitOptions):
    """Evaluate."""

    run_dir: str | None = option(
        None, "Folder of a run, whose embeddings, graph and split are used; --labels adds labels."
    )
    embeddings: str | None = option(
        None, "Embeddings of any origin, npy [nodes, width], rows in the order of the graph."
    )
    plot: str | None = option(
        None, "Draw unseen nodes by t-SNE, coloured by class, into this png, pdf or svg."
    )
    output: str | None = option(None, "Write the scores as JSON to this file.")


OPTIONS = EvaluateOptions


def run(options: EvaluateOptions) -> int:
    """Runs the command."""
    if (options.run_dir is None) == (options.embeddings is None):
        raise InputError(
            "run_dir and embeddings", "one of the two", "both or none", "Say what to score."
        )
    if options.embeddings is not None:
        data: DataOptions = options
        source = checks.readable("embeddings", options.embeddings)
        checks.data(data)
    else:
        source = existing_run(options.run_dir)
        config, data = open_run(source, options)
    checks.picture(options.plot)
    if options.output is not None:
        checks.writable_file("output", options.output)
    logs.configure("info")
    from cade_tf.evaluation import comparison
    from cade_tf.experiments import single_run, untrained
    from cade_tf.graph import datasets, splits
    from cade_tf.training import manifest

    graph = datasets.load(data)
    if options.embeddings is not None:
        split = splits.node_split(graph, options)
        embeddings = _read_embeddings(source, graph.num_nodes)
        seen, name = split.seen, source.stem
    else:
        if not (source / single_run.SPLIT_FILE).is_file():
            expected = f"a finished run of cade train, with {single_run.SPLIT_FILE}"
            raise InputError(str(source), expected, "none", "Train it to the end first.")
        manifest.check(source, single_run.SPLIT_FILE)
        split = splits.NodeSplit.load(source / single_run.SPLIT_FILE)
        split.check_fits(graph)
        embeddings = _of_run(source, graph)
        seen, name = split.train if config.validate_every else split.seen, config.model
    if graph.labels is None and options.run_dir is not None and options.plot is None:
        return _evaluate_edges(options, source, config, graph, seen)
    scored_on = single_run.scored_on(split)
    split = single_run.scored_split(graph.labels, split)
    scores = single_run.score_labels(embeddings, graph.labels, split)
    if graph.labels is None or not scores:
        raise _nothing_to_score()
    if not graph.is_multilabel:
        from cade_tf.evaluation import clustering

        found = clustering.score(embeddings, graph.labels, split.test)
        scores["kmeans"] = dataclasses.asdict(found)
    _show(scores)
    rows = untrained.compare(graph, seen, split, embeddings, name)
    print(f"\n{comparison.table(rows)}\n{comparison.how(scored_on)}")
    scores["comparison"] = {row.method: dataclasses.asdict(row) for row in rows}
    if options.output:
        write_json(options.output, scores)
    if options.plot:
        from cade_tf.evaluation import pictures

        figure = pictures.plot_embeddings(
            graph.subgraph(split.test), embeddings[split.test], title=f"{graph.name}, {scored_on}"
        )
        save_figure(figure, options.plot)
        print(f"Picture: {options.plot}")
    return 0


def _evaluate_edges(
    options: EvaluateOptions, run_dir: Path, config: Config, graph: "Graph", seen: np.ndarray
) -> int:
    """Scores a run on a graph without labels by the edges that were hidden from it."""
    from cade_tf.evaluation import comparison
    from cade_tf.experiments import untrained
    from cade_tf.training.run_folder import (
        check_training_graph,
        fingerprint_of,
        load_run_model,
    )

    held_out = untrained.held_out_edges(graph, config)
    if held_out is None:
        raise _nothing_to_score()
    visible = held_out.input_graph(graph)
    fingerprint = fingerprint_of(visible.subgraph(seen))
    check_training_graph(run_dir, fingerprint, "Give the graph of the run, or labels.")
    model = load_run_model(run_dir)
    rows = untrained.compare_by_edges(visible, seen, held_out, model, config)
    print(f"{comparison.table(rows)}\n{comparison.HOW_LINKS}")
    if options.output:
        found = {row.method: dataclasses.asdict(row) for row in rows}
        write_json(options.output, {"comparison": found})
    return 0


def _nothing_to_score() -> InputError:
    return InputError(
        "labels",
        "labels and nodes to score, of two classes or more",
        "none",
        "Give a graph with such labels.",
    )


def _of_run(run_dir: Path, graph: "Graph") -> np.ndarray:
    """Embeddings of a run, which must be those of this graph."""
    from cade_tf.graph.naming import known_rows
    from cade_tf.inference import outputs

    embeddings, ids = outputs.read_embeddings(run_dir)
    if not np.array_equal(known_rows(graph.ids, ids), np.arange(len(ids))):
        raise InputError(
            "graph",
            f"the nodes of {run_dir / outputs.NODE_IDS_FILE}, in their order",
            "other nodes",
            "Embed the other graph (cade embed), then give --embeddings.",
        )
    return embeddings.astype(np.float32)


def _read_embeddings(path: Path, nodes: int) -> np.ndarray:
    """Embeddings of any origin, a row for each node of a graph."""
    from cade_tf.inference.finite import require_finite
    from cade_tf.inference.outputs import open_matrix

    found = open_matrix(path)
    if len(found) != nodes:
        expected, remedy = f"shape [{nodes}, width]", "Give a row for each node of the graph."
        raise InputError(str(path), expected, found.shape, remedy)
    return require_finite(found, name=str(path)).astype(np.float32)


def _show(scores: dict[str, dict[str, Any]]) -> None:
    shown = ("micro_f1", "macro_f1", "nmi", "ari")
    for probe, values in scores.items():
        metrics = "  ".join(f"{name} {values[name]:.4f}" for name in shown if name in values)
        print(f"{probe:<7} {metrics}  ({values['seconds']:.1f} s)")
