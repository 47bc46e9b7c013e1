"""The outer loop: tables, model, checkpoints, summaries, progress."""

import dataclasses
import logging
import time
from pathlib import Path

import numpy as np
import tensorflow as tf

from cade_tf.cli.progress import Progress
from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.graph.features import node_features
from cade_tf.graph.graph import Graph
from cade_tf.inference.encoder import Encoder, fit_transform
from cade_tf.models.factory import make_model
from cade_tf.sampling.graph_tables import make_graph_tables
from cade_tf.training.metrics import STEP_METRICS, collapse_warning
from cade_tf.training.step import TrainingStep

STEPS_PER_CALL = 10
KEPT_CHECKPOINTS = 3

_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Trained:
    """What a training run leaves behind.

    Args:
        encoder: The trained encoder.
        config: Options of the run.
        metrics: Means of the last steps.
        steps: Steps done in this process.
        seconds: Time of those steps, without preparation.
        warning: What is wrong with the run, if it collapsed.
    """

    encoder: Encoder
    config: Config
    metrics: dict[str, float]
    steps: int
    seconds: float
    warning: str | None

    def embed(
        self,
        graph: Graph,
        *,
        walks: int | None = None,
        seed: int | None = None,
        progress: bool = True,
    ) -> np.ndarray:
        """Algorithm 1 with the run's own options; see `Encoder.embed`."""
        return self.encoder.embed(
            graph,
            walks=self.config.embed_walks if walks is None else walks,
            seed=self.config.seed if seed is None else seed,
            batch_size=self.config.embed_batch_size,
            progress=progress,
        )


def train(
    graph: Graph, config: Config, *, run_dir: str | Path | None = None, progress: bool = True
) -> Trained:
    """Trains an encoder on a graph, unsupervised.

    Args:
        graph: The training graph: the nodes and edges that training may see.
        config: Options.
        run_dir: Where checkpoints and TensorBoard events go; a run found there is continued.
            None keeps nothing.
        progress: Whether to show progress.

    Returns:
        The trained encoder and what there is to say about the run.

    Raises:
        InputError: The graph has no edge to learn from.

    Example:

    >>> graph = Graph.from_edges([[0, 1], [1, 2], [2, 0]], features=np.eye(3))
    >>> config = Config(model="cade_ma", k=2, dim=8, fanouts=(2, 2), steps=2, batch_size=4)
    >>> train(graph, config, progress=False).embed(graph, progress=False).shape
    (3, 8)
    """
    if not graph.num_edges and config.steps:
        raise InputError("graph", "at least one edge between training nodes", "none", "Add edges.")
    transform = fit_transform(graph, config, config.seed)
    features = transform.apply(node_features(graph))
    model = make_model(
        config,
        feature_width=features.shape[1],
        num_known=graph.num_nodes,
        seed=config.seed,
    )
    tables = make_graph_tables(graph, features)
    step = TrainingStep(model, tables, config)
    metrics, steps, seconds = _run_steps(step, config, run_dir, progress)
    encoder = Encoder(
        model=model,
        transform=transform,
        known_ids=graph.ids,
        walk_length=config.walk_length,
        feature_names=graph.feature_names,
        structural=not graph.num_features,
    )
    warning = collapse_warning(metrics) if metrics else None
    if warning:
        _log.warning("The run has collapsed: %s.", warning)
    return Trained(
        encoder=encoder,
        config=config,
        metrics=metrics,
        steps=steps,
        seconds=seconds,
        warning=warning,
    )


def _run_steps(
    step: TrainingStep, config: Config, run_dir: str | Path | None, progress: bool
) -> tuple[dict[str, float], int, float]:
    """Continues up to `config.steps`; returns the last metrics, steps done and seconds."""
    keeper = _Keeper(step, Path(run_dir), config) if run_dir is not None else None
    first = int(step.step.numpy())
    metrics: dict[str, float] = {}
    started = time.monotonic()
    with Progress("training", config.steps, "steps", quiet=not progress) as bar:
        bar.start_at(first)
        done = first
        while done < config.steps:
            count = min(STEPS_PER_CALL - done % STEPS_PER_CALL, config.steps - done)
            values = step.run(tf.constant(count)).numpy()
            done += count
            metrics = dict(zip(STEP_METRICS, map(float, values), strict=True))
            if not np.isfinite(values).all():
                raise FloatingPointError(f"The loss is not finite at step {done}: {metrics}")
            if keeper:
                keeper.after(done, metrics)
            bar.advance(count, f"loss {metrics['loss']:.3f}  MRR {metrics['mrr']:.3f}")
    return metrics, done - first, time.monotonic() - started


class _Keeper:
    """Checkpoints and TensorBoard events of a run."""

    def __init__(self, step: TrainingStep, run_dir: Path, config: Config) -> None:
        self.every = config.checkpoint_every
        self.last = config.steps
        self.manager = tf.train.CheckpointManager(
            tf.train.Checkpoint(
                model=step.model,
                optimizer=step.optimizer,
                bias_optimizer=step.bias_optimizer,
                step=step.step,
            ),
            str(run_dir / "checkpoints"),
            max_to_keep=KEPT_CHECKPOINTS,
        )
        self.manager.restore_or_initialize()
        self.writer = tf.summary.create_file_writer(str(run_dir))

    def after(self, done: int, metrics: dict[str, float]) -> None:
        """Writes what is due after a step."""
        with self.writer.as_default(step=done):
            for name, value in metrics.items():
                tf.summary.scalar(f"train/{name}", value)
        if done % self.every < STEPS_PER_CALL or done == self.last:
            self.manager.save(checkpoint_number=done)
            self.writer.flush()
