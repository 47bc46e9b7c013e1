"""`cade links`: link prediction on one's own graph."""

import dataclasses
import time
from pathlib import Path

from cade_tf.cli import checks, logs
from cade_tf.cli.train import default_run_dir
from cade_tf.cli.trained_run import existing_run, open_run
from cade_tf.config import Config
from cade_tf.options import option

USAGE = (
    "cade links [--dataset=NAME | --graph=PATH] [--hidden_ratio=X] [flags of cade train]\n"
    "       cade links --run_dir=DIR --node=ID [--top=10]"
)
SPLIT_FILE = "links.npz"


@dataclasses.dataclass(frozen=True, kw_only=True)
class LinksOptions(Config):
    """Links."""

    hidden_ratio: float = option(
        0.1,
        "Share of edges that are hidden in training and then have to be found.",
        positive=True,
        maximum=0.95,
    )
    node: tuple[str, ...] = option(
        (),
        "Id of a node, or several: instead of training, rank the links that it lacks by the "
        "trained run in --run_dir.",
    )
    top: int = option(10, "With --node: how many links are shown.", minimum=1)
    by: str = option(
        "dual",
        "With --node: dual (each node in the context of the other), or dot (dot product of the "
        "run's embeddings).",
        choices=("dual", "dot"),
    )
    unseen_ratio: float = option(
        0.0,
        "Share of nodes that training does not see, nor any of their edges.",
        minimum=0.0,
        maximum=0.95,
    )


OPTIONS = LinksOptions


def run(options: LinksOptions) -> int:
    """Runs the command."""
    return _rank(options) if options.node else _train(options)


def _train(options: LinksOptions) -> int:
    checks.data(options)
    run_dir = checks.writable_folder(
        "run_dir", options.run_dir or default_run_dir(options, "links")
    )
    logs.configure(options.verbosity)
    from cade_tf.experiments import single_run
    from cade_tf.training import run_lock

    started = time.monotonic()
    values = {name: getattr(options, name) for name in Config.field_names()}
    config = single_run.start_fresh(Config(**values, given=options.given), run_dir)
    with run_lock.hold(run_dir):
        return _train_held(options, config, run_dir, started)


def _train_held(options: LinksOptions, config: Config, run_dir: Path, started: float) -> int:
    from cade_tf.evaluation.link_ranking import predict_links
    from cade_tf.experiments import single_run
    from cade_tf.graph import datasets
    from cade_tf.inference import outputs
    from cade_tf.training.metrics import equal_embeddings

    graph = datasets.load(config)
    found = predict_links(
        graph,
        config,
        hidden_ratio=options.hidden_ratio,
        unseen_ratio=options.unseen_ratio,
        run_dir=run_dir,
        progress=options.verbosity != "error",
    )
    trained, config = found.trained, found.trained.config
    found.split.save(run_dir / SPLIT_FILE)
    outputs.write_embeddings(run_dir, found.embeddings, graph.ids, "npy")
    result = {
        "data": {"name": graph.name, "nodes": graph.num_nodes, "edges": graph.num_edges},
        "hidden_edges": len(found.split.test_edges),
        "links": found.scores,
        **single_run.outcome(config, trained.metrics, trained.steps, trained.seconds),
        "warning": trained.warning or equal_embeddings(found.embeddings),
    }
    single_run.write_result(run_dir, result, started, SPLIT_FILE)
    print(f"{graph.name}: {result['hidden_edges']:,} of {graph.num_edges:,} edges were hidden")
    print("score      AUC      AP")
    for name, score in found.scores.items():
        print(f"{name:<6}{score['auc']:>8.4f}{score['ap']:>8.4f}")
    print("(hidden edges against as many pairs without an edge)")
    print(f"Rank the links a node lacks: cade links --run_dir={run_dir} --node={graph.ids[0]}")
    return 0


def _rank(options: LinksOptions) -> int:
    run_dir = existing_run(options.run_dir)
    config, data = open_run(run_dir, options)
    logs.configure(options.verbosity)
    import numpy as np

    from cade_tf.evaluation.link_ranking import rank_links
    from cade_tf.graph import datasets
    from cade_tf.graph.naming import known_rows
    from cade_tf.graph.preparation import positions_of
    from cade_tf.inference import outputs
    from cade_tf.training.run_folder import load_run_model

    graph = datasets.load(data)
    rows = positions_of(graph, options.node)
    model = load_run_model(run_dir)
    embeddings, ids = outputs.read_embeddings(run_dir)
    if not np.array_equal(known_rows(graph.ids, ids), np.arange(graph.num_nodes)):
        # Another graph than that of the run.
        embeddings = model.embed(graph, walks=config.embed_walks, seed=config.seed)
    width = max(len(str(node)) for node in graph.ids)
    for node, row in zip(options.node, rows, strict=True):
        found, scores = rank_links(
            model,
            graph,
            row,
            embeddings,
            top=options.top,
            by=options.by,
            draws=config.embed_walks,
            seed=config.seed,
        )
        print(f"{node:<{width}}  {options.by}")
        for other, score in zip(graph.ids[found], scores, strict=True):
            print(f"{other!s:<{width}}  {score:.4f}")
    return 0
