"""Small trained runs, each trained once for all tests of commands."""

import functools
import tempfile
from pathlib import Path

import numpy as np

from cade_tf.config import Config
from cade_tf.experiments.single_run import train_and_evaluate
from cade_tf.graph.graph import Graph

NAMES = ("alpha", "beta", "gamma")

_folders: list[tempfile.TemporaryDirectory[str]] = []


def make_graph(nodes: int = 30, *, first: int = 0, names: tuple[str, ...] | None = NAMES) -> Graph:
    """A ring with chords; ids are text, counted from `first`."""
    rng = np.random.default_rng(first)
    ring = np.stack([np.arange(nodes), (np.arange(nodes) + 1) % nodes], axis=1)
    chords = rng.integers(nodes, size=(nodes, 2))
    return Graph.from_edges(
        np.concatenate([ring, chords]),
        features=rng.normal(size=(nodes, 3 if names is None else len(names))),
        labels=np.arange(nodes) % 2,
        node_ids=np.array([f"n{first + i}" for i in range(nodes)]),
        feature_names=names,
        name="ring",
    )


@functools.cache
def trained_run(model: str = "cade_ms") -> Path:
    """The folder of a run of two steps on the ring; tests must not change it."""
    _folders.append(tempfile.TemporaryDirectory(prefix="cade-run-"))
    folder = Path(_folders[-1].name)
    make_graph().save(folder / "ring.npz")
    config = Config(
        model=model,
        k=3,
        dim=8,
        fanouts=(3, 2),
        steps=2,
        batch_size=16,
        embed_walks=2,
        graph=str(folder / "ring.npz"),
    )
    train_and_evaluate(config, folder / "run", progress=False)
    return folder / "run"
