"""One run from a graph to scores: the library entry behind `cade train`."""

import dataclasses
import importlib.metadata
import json
import platform
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np

from cade_tf.config import Config
from cade_tf.evaluation import classification, probes
from cade_tf.experiments.validation import make_validate
from cade_tf.files import atomic_write
from cade_tf.graph import loading, splits
from cade_tf.graph.graph import Graph
from cade_tf.inference import outputs
from cade_tf.training import devices, projector, run_folder
from cade_tf.training.summaries import Summaries
from cade_tf.training.trainer import Trained, train

RESULT_FILE = "result.json"
SPLIT_FILE = "split.npz"
ENCODER_FOLDER = "encoder"
FINAL_SCORES = ("micro_f1", "macro_f1")


def train_and_evaluate(config: Config, run_dir: str | Path, *, progress: bool = True) -> dict:
    """Loads and splits a graph, trains, embeds all nodes and scores the unseen ones.

    Everything a later command needs is left in the run directory: flags.txt and config.json,
    checkpoints/, TensorBoard events, encoder/, split.npz, embeddings.npy, node_ids.txt and
    result.json. A run found there is continued. Of several workers only the chief embeds, scores
    and writes; the others are done when training is.

    Args:
        config: Options.
        run_dir: Folder of the run.
        progress: Whether to show progress.

    Returns:
        What result.json holds; nothing for a worker that is not the chief.
    """
    run_dir = Path(run_dir)
    started = time.monotonic()
    # First of all: TensorFlow wants to know of other workers before it does anything.
    strategy = devices.make_strategy(config)
    config = start_fresh(config, run_dir)
    graph = loading.load(config)
    split = splits.node_split(graph, config)
    trained = train(
        graph.subgraph(split.train if config.validate_every else split.seen),
        config,
        run_dir=run_dir,
        progress=progress,
        validate=make_validate(graph, split, config) if config.validate_every else None,
    )
    if not devices.is_chief(strategy):
        return {}
    split.save(run_dir / SPLIT_FILE)
    trained.encoder.save(run_dir / ENCODER_FOLDER)
    embedding_started = time.monotonic()
    embeddings = trained.embed(graph, progress=progress)
    embedding_seconds = time.monotonic() - embedding_started
    outputs.write_embeddings(run_dir, embeddings, graph.ids, "npy")
    scores = score_embeddings(embeddings, graph, split)
    _for_tensorboard(run_dir, config, graph, embeddings, scores, trained)
    result = {
        "data": describe(graph, split),
        "metrics": trained.metrics,
        "scores": scores,
        "warning": trained.warning,
        "seed": config.seed,
        "steps": trained.steps,
        "best_step": trained.best_step,
        "training_seconds": round(trained.seconds, 3),
        "pairs_per_second": round(
            trained.steps * config.batch_size / max(trained.seconds, 1e-9), 1
        ),
        "embedding_seconds": round(embedding_seconds, 3),
        "total_seconds": round(time.monotonic() - started, 3),
        "peak_memory_mib": peak_memory_mib(),
        "versions": versions(),
    }
    write_json(run_dir / RESULT_FILE, result)
    return result


def start_fresh(config: Config, run_dir: Path) -> Config:
    """Does what --fresh asks for, once: a run in the folder is moved aside.

    Returns:
        The options without --fresh, as the new run should remember them.
    """
    if config.fresh and devices.is_chief(devices.make_strategy(config)):
        run_folder.set_aside(run_dir)
    return config.replace(fresh=False)


def _for_tensorboard(
    run_dir: Path,
    config: Config,
    graph: Graph,
    embeddings: np.ndarray,
    scores: dict[str, dict[str, Any]],
    trained: Trained,
) -> None:
    """The projector's files, and options beside final scores in the HParams table."""
    if not config.summary_every:
        return
    projector.write(run_dir, embeddings, graph, config.seed)
    final = {f"{probe}_{n}": values[n] for probe, values in scores.items() for n in FINAL_SCORES}
    final["mrr"] = trained.metrics.get("mrr", 0.0)
    summaries = Summaries(run_dir)
    summaries.final(config, final, trained.steps)
    summaries.close()


def score_embeddings(
    embeddings: np.ndarray, graph: Graph, split: splits.NodeSplit
) -> dict[str, dict[str, Any]]:
    """Both probes on the unseen nodes; empty where labels or unseen nodes are missing."""
    return score_labels(embeddings, graph.labels, split)


def score_labels(
    embeddings: np.ndarray, labels: np.ndarray | None, split: splits.NodeSplit
) -> dict[str, dict[str, Any]]:
    """As `score_embeddings`, for labels without their graph."""
    if labels is None or not len(split.test):
        return {}
    return {
        probe: dataclasses.asdict(
            classification.score(embeddings, labels, split.seen, split.test, probe)
        )
        for probe in probes.PROBES
    }


def describe(graph: Graph, split: splits.NodeSplit) -> dict[str, Any]:
    """Statistics of the data for reports."""
    return {
        "name": graph.name,
        "nodes": graph.num_nodes,
        "edges": graph.num_edges,
        "features": graph.num_features,
        "classes": graph.num_classes,
        "seen": len(split.seen),
        "unseen": len(split.test),
    }


def write_json(path: Path, value: Any) -> None:
    """Writes JSON atomically."""
    with atomic_write(path) as file:
        file.write((json.dumps(value, indent=2) + "\n").encode())


def peak_memory_mib() -> int:
    """The largest resident set that this process has had."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024


def versions() -> dict[str, str]:
    """Versions of what a result depends on."""
    packages = ("cade_tf", "tensorflow", "keras", "numpy", "scipy", "scikit-learn")
    found = {name: importlib.metadata.version(name) for name in packages}
    return {"python": platform.python_version(), **found}
