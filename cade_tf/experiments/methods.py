"""Every method with one interface: fit on the seen nodes, embed the whole graph."""

import dataclasses
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from cade_tf.baselines import graph2gauss, smoothed_pca
from cade_tf.config import (
    Config,
    DataOptions,
    FeatureOptions,
    RunOptions,
    SplitOptions,
    TrainingOptions,
)
from cade_tf.errors import InputError
from cade_tf.graph.features import FeatureTransform, node_features
from cade_tf.graph.graph import Features, Graph
from cade_tf.inference.pair_scores import attention_flatness, dual_scores
from cade_tf.training import checkpoints
from cade_tf.training.run_folder import CHECKPOINT_FOLDER
from cade_tf.training.trainer import train_graph

_FEATURES = FeatureOptions.field_names()
# Everything but what names the data and the split, or only says how a run is kept and shown.
_KEPT_OUT = {
    name for options in (DataOptions, SplitOptions, RunOptions) for name in options.field_names()
} | {"embed_batch_size", "preset"}  # a preset's values count, not its name
_ENGINE = tuple(name for name in Config.field_names() if name not in _KEPT_OUT)
# GraphSAGE and CADE-gb have one encoder output: nothing to attend to.
_DUAL_ONLY = ("k", "attention_score", "attention_temperature")
_SINGLE = tuple(n for n in _ENGINE if n not in _DUAL_ONLY)
_UNTRAINED = tuple(
    n for n in _SINGLE if n in ("seed", "walk_length") or n not in TrainingOptions.field_names()
)


@dataclasses.dataclass(frozen=True)
class Embedded:
    """Embeddings of a whole graph, and how they came about.

    Args:
        embeddings: [nodes, width], dense or CSR.
        step_milliseconds: Processor time of a training step, preparation and compilation
            included; None for what has no steps.
        details: Anything a report should keep: metrics, warnings.
        config: Options of a training in which nothing is left to decide; None without a training.
        score_pairs: From positions [pairs, 2] to scores of the method's own, where it has some.
        flatness: From positions [pairs, 2] to how flat its attention is, where it has one.
    """

    embeddings: Features
    step_milliseconds: float | None = None
    details: dict[str, Any] = dataclasses.field(default_factory=dict)
    config: Config | None = None
    score_pairs: Callable[[np.ndarray], np.ndarray] | None = None
    flatness: Callable[[np.ndarray], float | None] = lambda pairs: None


Embed = Callable[[Graph, np.ndarray, Config, Path], Embedded]

# A cell that is killed goes on from its newest checkpoint; nobody looks at its summaries.
_RUN = {"summary_every": 0, "checkpoint_minutes": 5.0, "keep_checkpoints": 1}


@dataclasses.dataclass(frozen=True)
class Method:
    """A way to embed nodes.

    Args:
        name: Name on the command line and in files.
        title: Name in reports.
        fields: Options that its embeddings depend on.
        embed: From (graph, positions of the seen nodes, options, folder of a run that can be
            continued) to embeddings of all nodes; fits on `graph.subgraph(seen)` alone.
        model: Model whose preset it takes; empty for a baseline.
        options: What a baseline has in place of a preset.
    """

    name: str
    title: str
    fields: tuple[str, ...]
    embed: Embed
    model: str = ""
    options: Mapping[str, Any] = dataclasses.field(default_factory=dict)


def degree(graph: Graph) -> np.ndarray:
    """log(1 + degree) as the whole embedding: how much of a score is popularity?

    Example:

    >>> degree(Graph.from_edges([[0, 1], [1, 2]])).shape
    (3, 1)
    """
    return np.log1p(graph.degrees.astype(np.float32))[:, None]


def components(graph: Graph) -> sp.csr_array:
    """Which connected component a node is in, and nothing else: a column for each of them.

    The dot product of two nodes is 1 within a component and 0 between two. PPI is 24 graphs that
    are not joined, so that this alone tells most of its non-edges from its edges.

    Example:

    >>> components(Graph.from_edges([[0, 1], [2, 3]])).toarray().argmax(axis=1).tolist()
    [0, 0, 1, 1]
    """
    found = graph.components()
    values = np.ones(graph.num_nodes, np.float32)
    shape = (graph.num_nodes, int(found.max(initial=0)) + 1)
    return sp.csr_array((values, (np.arange(graph.num_nodes), found)), shape=shape)


def _plain(embed: Callable[[Graph], Features]) -> Embed:
    """A method that neither learns nor has options."""
    return lambda graph, seen, config, run_dir: Embedded(embed(graph))


def _smoothed_pca(graph: Graph, seen: np.ndarray, config: Config, run_dir: Path) -> Embedded:
    options = FeatureOptions(**{name: getattr(config, name) for name in _FEATURES})
    return Embedded(
        smoothed_pca.embed(graph, seen, dim=config.dim, options=options, seed=config.seed)
    )


def _graph2gauss(graph: Graph, seen: np.ndarray, config: Config, run_dir: Path) -> Embedded:
    features = node_features(graph)
    transform = FeatureTransform.fit(features[seen], config, config.seed)
    attributes = transform.apply(features)
    model = graph2gauss.train(
        graph.subgraph(seen),
        attributes[seen],
        # A node is a mean and a variance; both together have the width of other embeddings.
        latent=max(config.dim // 2, 1),
        epochs=config.steps,
        learning_rate=config.learning_rate,
        seed=config.seed,
        progress=False,
    )
    details = {"epochs": model.epochs, "validation_auc": model.validation_auc}
    return Embedded(model.embed(attributes), details=details)


def _steps_done(run_dir: Path) -> int:
    """Step at which a cell that was stopped goes on; 0 for a new one."""
    saved = checkpoints.saved(run_dir / CHECKPOINT_FOLDER)
    return checkpoints.step_of(saved[-1]) if saved else 0


def _engine(**changes: Any) -> Embed:
    def embed(graph: Graph, seen: np.ndarray, config: Config, run_dir: Path) -> Embedded:
        before, started = _steps_done(run_dir), time.process_time()
        trained = train_graph(
            graph.subgraph(seen),
            config.replace(**changes, **_RUN),
            run_dir=run_dir,
            progress=False,
        )
        steps = trained.steps - before
        spent = 1000 * (time.process_time() - started) / steps if steps else None
        details = {
            "metrics": trained.metrics,
            "warning": trained.warning,
            "steps": trained.steps,
        }

        score_pairs = dual_scores(trained.model, config, graph, progress=False)
        flatness = partial(attention_flatness, trained.model, graph, seed=config.seed)
        embeddings = trained.embed(graph, progress=False)
        return Embedded(embeddings, spent, details, trained.config, score_pairs, flatness)

    return embed


_PCA = (*_FEATURES, "dim", "seed")
# As the authors of Graph2Gauss train it, but for at most 200 epochs; they stop by 2000.
# Rows have unit length: with BlogCatalog's counts of words the energy overflows.
_G2G = {"feature_scaling": "row", "steps": 200, "learning_rate": 1e-3, "dim": 256}
_UNTRAINED_ENGINE = _engine(model="graphsage", steps=0, epochs=0)
_METHODS = (
    Method("raw_features", "RawFeats", (), _plain(node_features)),
    Method("degree", "Degree alone", (), _plain(degree)),
    Method("components", "Connected component alone", (), _plain(components)),
    Method("smoothed_pca", "Smoothed PCA", _PCA, _smoothed_pca, options={"dim": 256}),
    Method(
        "graph2gauss",
        "Graph2Gauss",
        (*_PCA, "steps", "learning_rate"),
        _graph2gauss,
        options=_G2G,
    ),
    Method("untrained", "Untrained encoder", _UNTRAINED, _UNTRAINED_ENGINE, model="graphsage"),
    *(
        Method(name, title, fields, _engine(model=name), model=name)
        for name, title, fields in (
            ("graphsage", "GraphSAGE", _SINGLE),
            ("cade_gb", "CADE-gb", _SINGLE),
            ("cade_ms", "CADE-MS", _ENGINE),
            ("cade_ma", "CADE-MA", _ENGINE),
        )
    ),
)
METHODS = {method.name: method for method in _METHODS}


def method_of(name: str) -> Method:
    """The method of a name.

    Raises:
        InputError: There is none.
    """
    if name not in METHODS:
        raise InputError("methods", "some of " + ", ".join(METHODS), name, "Choose from these.")
    return METHODS[name]
