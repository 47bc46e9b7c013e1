"""A run small enough to be repeated many times, in this process or in another."""

import multiprocessing
import os
import signal
import sys
import threading
from pathlib import Path
from typing import Any

import numpy as np

from cade_tf.config import Config
from cade_tf.graph.graph import Graph

NODES, WIDTH, CLASSES = 60, 6, 3


def small_graph(seed: int = 0) -> Graph:
    """Three groups of nodes, joined mostly within, with features and labels that tell them."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(CLASSES, size=NODES)
    pairs = rng.integers(NODES, size=(600, 2))
    kept = (labels[pairs[:, 0]] == labels[pairs[:, 1]]) | (rng.random(len(pairs)) < 0.1)
    features = np.eye(CLASSES, WIDTH)[labels] + rng.normal(scale=0.5, size=(NODES, WIDTH))
    return Graph.from_edges(pairs[kept], num_nodes=NODES, features=features, labels=labels)


def small_config(**changes: Any) -> Config:
    """Options of a run of a second or two."""
    settings = {
        "model": "cade_gb",
        "k": 2,
        "dim": 8,
        "fanouts": (3, 2),
        "steps": 40,
        "batch_size": 16,
        "negatives": 4,
        "learning_rate": 1e-2,
        "feature_scaling": "none",
        "checkpoint_every": 10,
        "summary_every": 0,
        "embed_walks": 2,
        **changes,
    }
    return Config(**settings)


def weights_of(trained: Any) -> dict[str, np.ndarray]:
    """Weights of a trained model by name, the model's own name left out."""
    weights = trained.model.weights
    return {w.path.split("/", 1)[1]: w.numpy() for w in weights}


def assert_same_bits(left: dict[str, np.ndarray], right: dict[str, np.ndarray]) -> None:
    """Fails where any array differs in any bit."""
    assert left.keys() == right.keys()
    for name, array in left.items():
        assert array.tobytes() == right[name].tobytes(), name


def train_and_write(run_dir: str, output: str, options: dict[str, Any]) -> None:
    """Trains in a folder and writes weights and embeddings; ends as the command line would.

    What it says on standard error goes into a file beside the output.
    """
    log = os.open(Path(output).with_suffix(".log"), os.O_CREAT | os.O_WRONLY | os.O_TRUNC)
    os.dup2(log, 2)
    from cade_tf.cli import app
    from cade_tf.training.trainer import train

    def work() -> int:
        config = small_config(**options)
        trained = train(small_graph(), config, run_dir=run_dir, progress=False)
        arrays = weights_of(trained)
        arrays["embeddings"] = trained.embed(small_graph(), progress=False)
        np.savez(output, **arrays)
        return 0

    sys.exit(app._guarded(work))


def die_during_checkpoint(run_dir: str, output: str, options: dict[str, Any]) -> None:
    """As `train_and_write`, killed as soon as a half-written checkpoint is on the disk."""
    from cade_tf.training.checkpoints import Checkpoints

    folder = Path(run_dir) / "checkpoints"
    save = Checkpoints.save

    def watch() -> None:
        while True:
            if folder.is_dir() and any("temp" in name for name in os.listdir(folder)):
                os.kill(os.getpid(), signal.SIGKILL)

    def watched(self: Checkpoints, step: int) -> None:
        threading.Thread(target=watch, daemon=True).start()
        save(self, step)

    Checkpoints.save = watched  # type: ignore[method-assign]
    train_and_write(run_dir, output, options)


def die_before_flush(run_dir: str, output: str, options: dict[str, Any]) -> None:
    """As `train_and_write`, killed when a checkpoint is written but not yet flushed."""
    from cade_tf.training import checkpoints

    checkpoints._flush_to_disk = lambda path: os.kill(os.getpid(), signal.SIGKILL)
    train_and_write(run_dir, output, options)


def processes() -> Any:
    """Makes processes that share one import of TensorFlow and nothing else."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["cade_tf.training.trainer", __name__])
    return context
