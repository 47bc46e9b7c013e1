"""One run from a graph to scores: what `cade train` calls."""

import dataclasses
import importlib.metadata
import logging
import platform
import resource
import time
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.evaluation import classification, probes
from cade_tf.evaluation.comparison import LinkQuality, NodeScores, table
from cade_tf.experiments import untrained
from cade_tf.files import write_json
from cade_tf.graph import datasets, splits
from cade_tf.graph.graph import Graph
from cade_tf.inference import outputs
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.training import devices, manifest, projector, run_folder, run_lock
from cade_tf.training.loop import Validate
from cade_tf.training.metrics import equal_embeddings
from cade_tf.training.run_options import CONFIG_FILE
from cade_tf.training.summaries import Summaries
from cade_tf.training.trained import Trained
from cade_tf.training.trainer import train_graph
from cade_tf.training.validation import HeldOutRank

RESULT_FILE = "result.json"
SPLIT_FILE = "split.npz"
FINAL_SCORES = ("micro_f1", "macro_f1")
HELD_OUT_LABELS = 0.3
"""Share of labels that a probe is scored on, where training sees all nodes."""

VALIDATION_PROBE = "sgd"
"""The quicker of the two; validation compares steps of one run, not methods."""

_log = logging.getLogger(__name__)


def train_and_evaluate(
    config: Config, run_dir: str | Path, *, progress: bool = True, compared: bool = True
) -> dict:
    """Loads and splits a graph, trains, embeds all nodes and scores them by their labels.

    Scored are the nodes that training did not see. Where it saw all, a probe learns the labels of
    most of them and is scored on the others; training itself reads no label.

    Everything a later command needs is left in the run directory: flags.txt and config.json,
    checkpoints/, TensorBoard events, encoder/, split.npz, embeddings.npy, node_ids.txt, result.json
    and last manifest.json, with checksums of the others. A run found there is continued. Of several
    workers only the chief embeds, scores and writes; the others are done when training is.

    Args:
        config: Options.
        run_dir: Folder of the run.
        progress: Whether to show progress.
        compared: Whether the embeddings are compared with what needs no training.

    Returns:
        What result.json holds; nothing for a worker that is not the chief.

    Raises:
        InputError: Another process writes to the run directory, or as for `train`.
    """
    run_dir = Path(run_dir)
    started = time.monotonic()
    # First of all: TensorFlow wants to know of other workers before it does anything.
    strategy = devices.make_strategy(config)
    config = start_fresh(config, run_dir)
    with run_lock.hold(run_dir, needed=devices.is_chief(strategy)):
        return _run(config, run_dir, strategy, started, progress, compared)


def _run(
    config: Config,
    run_dir: Path,
    strategy: tf.distribute.Strategy,
    started: float,
    progress: bool,
    compared: bool,
) -> dict:
    graph = datasets.load(config, progress=progress)
    outputs.require_lines(graph.ids)
    split = splits.node_split(graph, config)
    scored = scored_split(graph.labels, split)
    held_out = untrained.held_out_edges(graph, config)
    visible = graph if held_out is None else held_out.input_graph(graph)
    _log.info("%s", how_scored(graph, split, scored, config, visible.num_edges))
    seen = split.train if config.validate_every else split.seen
    trained = train_graph(
        visible.subgraph(seen),
        config,
        run_dir=run_dir,
        progress=progress,
        validate=make_validate(visible, split, config) if config.validate_every else None,
    )
    config = trained.config
    if not devices.is_chief(strategy):
        return {}
    split.save(run_dir / SPLIT_FILE)
    embedding_started = time.monotonic()
    embeddings = trained.embed(graph, progress=progress)
    embedding_seconds = time.monotonic() - embedding_started
    outputs.write_embeddings(run_dir, embeddings, graph.ids, "npy")
    scores = score_labels(embeddings, graph.labels, scored)
    comparison: list[NodeScores] | list[LinkQuality] = []
    if compared and held_out is not None:
        # Embeds all nodes again: those of embeddings.npy have met the hidden edges as neighbours.
        comparison = untrained.compare_by_edges(visible, seen, held_out, trained.model, config)
    elif compared and scores:
        comparison = untrained.compare(graph, seen, scored, embeddings, config.model, config.seed)
    _for_tensorboard(run_dir, graph, split, embeddings, scores, comparison, trained)
    result = {
        "data": describe(graph, split),
        **outcome(config, trained.metrics, trained.steps, trained.seconds),
        "best_step": trained.best_step,
        "scores": scores,
        "scored_on": "hidden edges" if held_out is not None else scored_on(split),
        "comparison": [dataclasses.asdict(row) for row in comparison],
        "warning": trained.warning or equal_embeddings(embeddings),
        "embedding_seconds": round(embedding_seconds, 3),
    }
    return write_result(run_dir, result, started)


def outcome(
    config: Config, metrics: dict[str, float], steps: int, seconds: float
) -> dict[str, Any]:
    """What result.json says of a training itself."""
    return {
        "metrics": metrics,
        "seed": config.seed,
        "steps": steps,
        "training_seconds": round(seconds, 3),
        "pairs_per_second": round(steps * config.batch_size / max(seconds, 1e-9), 1),
    }


def write_result(
    run_dir: Path, result: dict[str, Any], started: float, split_file: str = SPLIT_FILE
) -> dict[str, Any]:
    """Writes result.json and then, as the last file of a finished run, its manifest.

    Args:
        run_dir: Folder of the run.
        result: What there is to say; time, memory and versions are added.
        started: When the run began, by `time.monotonic`.
        split_file: Name of the file with the split.

    Returns:
        What result.json holds.
    """
    result = result | {
        "total_seconds": round(time.monotonic() - started, 3),
        # The largest resident set that this process has had.
        "peak_memory_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "versions": versions(),
    }
    write_json(run_dir / RESULT_FILE, result)
    files = (outputs.EMBEDDINGS_FILE, outputs.NODE_IDS_FILE, split_file, RESULT_FILE)
    manifest.record(run_dir, (CONFIG_FILE, run_folder.ENCODER_FILE, *files))
    return result


def start_fresh(config: Config, run_dir: Path) -> Config:
    """Does what `fresh` asks for, once: a run in the folder is moved aside.

    Returns:
        The options without `fresh`, as the new run should remember them.
    """
    if config.fresh and devices.is_chief(devices.make_strategy(config)):
        run_folder.set_aside(run_dir)
    return config.replace(fresh=False)


def _for_tensorboard(
    run_dir: Path,
    graph: Graph,
    split: splits.NodeSplit,
    embeddings: np.ndarray,
    scores: dict[str, dict[str, Any]],
    comparison: list[NodeScores] | list[LinkQuality],
    trained: Trained,
) -> None:
    """The projector's files, options with final scores in the HParams table, the comparison."""
    config = trained.config
    if not config.summary_every:
        return
    projector.write(run_dir, embeddings, graph, config.seed, seen=split.seen)
    final = {f"{probe}_{n}": values[n] for probe, values in scores.items() for n in FINAL_SCORES}
    final["mrr"] = trained.metrics.get("mrr", 0.0)
    summaries = Summaries(run_dir)
    text = table(comparison) if comparison else ""
    summaries.final(config, final, trained.steps, text)
    summaries.close()


def make_validate(graph: Graph, split: splits.NodeSplit, config: Config) -> Validate:
    """A function that scores an encoder on the validation nodes.

    Args:
        graph: The whole graph; its test nodes are not looked at.
        split: The split.
        config: Options.

    Returns:
        A function of encoder and step that gives `mrr` and, where nodes have labels, `probe`.

    Raises:
        InputError: There are no validation nodes, or no labels to stop on.
    """
    if not len(split.validation):
        raise InputError(
            "validate_every", "a split with validation nodes", "none", "Use a larger graph."
        )
    if config.stop_on == "probe" and graph.labels is None:
        raise InputError("stop_on", "a graph with labels", "none", "Stop on mrr instead.")
    both = np.sort(np.concatenate([split.train, split.validation]))
    part = graph.subgraph(both)
    held_out = np.searchsorted(both, split.validation)
    train = np.searchsorted(both, split.train)
    rank = HeldOutRank(part, held_out, config)

    def validate(model: DualEncoder, step: int) -> dict[str, float]:
        scores = {"mrr": rank(model)}
        if part.labels is not None:
            embeddings = model.embed(
                part,
                walks=1,
                seed=config.seed,
                batch_size=config.embed_batch_size,
                progress=False,
            )
            found = classification.score(embeddings, part.labels, train, held_out, VALIDATION_PROBE)
            scores["probe"] = found.micro_f1
        return scores

    return validate


def scored_split(labels: np.ndarray | None, split: splits.NodeSplit) -> splits.NodeSplit:
    """Whose labels a probe learns (`seen`), and on whose it is scored (`test`).

    Returns:
        The same split where it has unseen nodes; else another one of the labelled nodes.
    """
    if labels is None or len(split.test):
        return split
    known = classification.labelled(labels, split.seen)
    order = np.random.default_rng(0).permutation(known)
    held_out = round(HELD_OUT_LABELS * len(order))
    return splits.NodeSplit(
        test=order[:held_out], train=order[held_out:], validation=np.zeros(0, np.int64)
    )


def scored_on(split: splits.NodeSplit) -> str:
    """What is scored after a training with this split, for tables."""
    return "unseen nodes" if len(split.test) else "held-out labels"


def how_scored(
    graph: Graph, split: splits.NodeSplit, scored: splits.NodeSplit, config: Config, edges: int
) -> str:
    """One line: which nodes and edges training sees, and what is scored.

    Args:
        graph: The whole graph.
        split: The split of training.
        scored: That of `scored_split`.
        config: Options.
        edges: Number of edges that are not held out.
    """
    seen = split.train if config.validate_every else split.seen
    share = "all" if len(seen) == graph.num_nodes else f"{len(seen):,} of"
    text = f"Training sees {share} {graph.num_nodes:,} nodes"
    if graph.split is not None:
        text += " (the data's own split)"
    elif len(split.test):
        text += f" (unseen_ratio={config.unseen_ratio:g})"
    if graph.labels is None and edges < graph.num_edges:
        return (
            f"{text} and {edges:,} of {graph.num_edges:,} edges; without labels, the others are "
            "what embeddings are scored by. held_out_edges=0 would hide none."
        )
    if graph.labels is None:
        return f"{text}; there are no labels to score by (cade links scores hidden edges)."
    if not _can_be_scored(graph.labels, scored):
        return f"{text}; the labels are too few, or of one class only, to score by."
    if len(split.test):
        return f"{text}; the {len(split.test):,} unseen nodes are scored by their labels."
    return (
        f"{text}; a probe learns the labels of {len(scored.seen):,} and is scored on those of "
        f"{len(scored.test):,}. unseen_ratio=0.3 would score nodes that training has not seen."
    )


def _can_be_scored(labels: np.ndarray, split: splits.NodeSplit) -> bool:
    """Whether there are labels to learn, of more than one class, and labels to score."""
    learnt, tested = (classification.labelled(labels, nodes) for nodes in (split.seen, split.test))
    fewest = 1 if labels.ndim == 2 else 2
    return len(tested) > 0 and len(np.unique(labels[learnt], axis=0)) >= fewest


def score_labels(
    embeddings: np.ndarray, labels: np.ndarray | None, split: splits.NodeSplit
) -> dict[str, dict[str, Any]]:
    """Both probes, learnt on seen nodes and scored on test nodes; empty where they cannot be."""
    if labels is None or not _can_be_scored(labels, split):
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


def versions() -> dict[str, str]:
    """Versions of what a result depends on."""
    packages = ("cade_tf", "tensorflow", "keras", "numpy", "scipy", "scikit-learn")
    found = {name: importlib.metadata.version(name) for name in packages}
    return {"python": platform.python_version(), **found}
