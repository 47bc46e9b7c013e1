"""From a graph and options to a trained model."""

import contextlib
import gc
import logging
import math
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from cade_tf.config import Config, TrainingOptions
from cade_tf.graph import description
from cade_tf.graph.graph import Graph
from cade_tf.losses import PairLoss, SoftmaxLoss
from cade_tf.losses.affinity_loss import AffinityLoss
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.models.factory import make_model
from cade_tf.optimizers import Adam
from cade_tf.presets.recommended import decided
from cade_tf.progress import Shown
from cade_tf.sampling.batch import PairSampler
from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.training import devices, run_folder, run_lock
from cade_tf.training.arguments import (
    check_arguments,
    one_config,
    require_edges,
    warn_of_scaling,
)
from cade_tf.training.initialization import start_as_smoothing
from cade_tf.training.loop import Loop, Validate
from cade_tf.training.metrics import collapse_warning
from cade_tf.training.step import TrainingStep
from cade_tf.training.trained import Trained
from cade_tf.training.validation import PAIRS, PAIRS_EVERY, SMALLEST_GAIN, with_pairs

MANY_NODES = 50_000
"""From here on it is worth a fraction of a second to free the tensors of a training at once."""

_log = logging.getLogger(__name__)


def train(
    graph: Graph,
    config: Config | None = None,
    *,
    run_dir: str | Path | None = None,
    progress: Shown = True,
    validate: Validate | None = None,
    **options: Any,
) -> Trained:
    """Trains a model on a graph, unsupervised.

    Args:
        graph: The training graph: the nodes and edges that training may see.
        config: All options, exactly as they are.
        run_dir: Where checkpoints, TensorBoard events and the trained model go, for `cade embed`
            and `cade export`; a run found there is continued. None takes that of `config`, which
            by default keeps nothing.
        progress: Whether to show progress.
        validate: Scores a model after some step, by name; higher is better. Called every
            `config.validate_every` steps, for TensorBoard and for `config.stop_on`.
        **options: Instead of `config`, some options of `Config` by name; the recommended preset
            decides the others by what it reads of the graph.

    Returns:
        The trained model and what there is to say about the run.

    Raises:
        InputError: The graph has no edge to learn from, the folder holds another run, or both
            `config` and options are given.
        RunStopped: A signal asked for an end; the state is saved.
        FloatingPointError: A number was not finite; the state before it is saved.
        ClusterLost: Another worker of `strategy` went away; the same call continues.

    Example:

    >>> import numpy as np
    >>> graph = Graph.from_edges([[0, 1], [1, 2], [2, 0]], features=np.eye(3))
    >>> config = Config(model="cade_ma", k=2, dim=8, fanouts=(2, 2), steps=2, batch_size=4)
    >>> train(graph, config, progress=False).embed(graph, progress=False).shape
    (3, 8)
    >>> train(graph, dim=8, steps=2, batch_size=4, progress=False).config.loss
    'softmax'
    """
    config = one_config(config, options)
    check_arguments(graph, config, validates=validate is not None)
    return train_graph(
        graph,
        config,
        run_dir=config.run_dir if run_dir is None else run_dir,
        progress=progress,
        validate=validate,
    )


def train_graph(
    graph: Graph,
    config: Config,
    *,
    run_dir: str | Path | None = None,
    progress: Shown = True,
    validate: Validate | None = None,
) -> Trained:
    """As `train`, with the options of a command, of which some are not about training."""
    config = decided(graph, config)
    require_edges(graph, config.steps or config.epochs)
    strategy = devices.make_strategy(config)
    folder = None if run_dir is None else Path(run_dir)
    writes = folder is not None and devices.is_chief(strategy)
    with run_lock.hold(folder or ".", needed=writes):
        if folder is not None and writes:
            run_folder.prepare(folder, config, run_folder.fingerprint_of(graph))
        trained = _train(graph, config, strategy, folder, progress, validate)
        if graph.num_nodes >= MANY_NODES:
            # Functions of TensorFlow are cycles of references. They hold the moments of the global
            # bias and the tables of the graph, where an embedding will need the room.
            gc.collect()
        if folder is not None and writes:
            run_folder.save_model(trained.model, folder)
        return trained


def _train(
    graph: Graph,
    config: Config,
    strategy: tf.distribute.Strategy,
    folder: Path | None,
    progress: Shown,
    validate: Validate | None,
) -> Trained:
    for note in description.warnings(graph):
        _log.warning("%s", note)
    with strategy.scope():
        model = make_model(config)
        model.adapt(graph)
        warn_of_scaling(model, graph)
        if config.initialization == "smoothing":
            start_as_smoothing(
                model,
                graph,
                model.prepared().features(graph),
                self_weights=config.self_weights,
                own_weight=config.own_weight,
                position_weight=config.position_weight,
                remove_mean=config.remove_mean,
                seed=config.seed,
            )
        model.trained_on = graph
        tables = model.tables(graph)
        step, last = make_step(model, tables, config)
    on_pairs = config.stop_on == PAIRS
    loop = Loop(
        step,
        last,
        config.replace(validate_every=config.validate_every or PAIRS_EVERY) if on_pairs else config,
        run_dir=folder,
        validate=with_pairs(graph, config, validate, tables) if on_pairs else validate,
        progress=progress,
        smallest_gain=SMALLEST_GAIN if on_pairs else 0.0,
        validates_start=on_pairs,
    )
    # TensorFlow asks the other workers every 30 s whether they live, and gives up the step if not.
    shared = strategy.cluster_resolver is not None
    with devices.lost_process("a worker") if shared else contextlib.nullcontext():
        end = loop.run()
    collapse = collapse_warning(end.metrics) if end.metrics else None
    if collapse:
        _log.warning("The run has collapsed: %s.", collapse)
    return Trained(model=model, config=config, warning=collapse, **vars(end))


def make_step(model: DualEncoder, tables: GraphTables, config: Config) -> tuple[TrainingStep, int]:
    """The inner loop that some options describe, and how many steps they ask for.

    Raises:
        InputError: The graph has no edge to learn from.
    """
    sampler = PairSampler(
        graph=tables,
        shape=model.tree_shape,
        batch_size=config.batch_size,
        walks_per_node=config.walks_per_node,
        walk_length=config.walk_length,
        shuffled=config.pair_order == "shuffled",
        negatives=config.negatives,
        negatives_per_pair=config.negative_sharing == "pair",
        feature_dropout=config.feature_dropout,
        bias_dropout=config.bias_dropout,
        seed=config.seed,
    )
    last = total_steps(config, sampler.pairs_per_pass)
    optimizer = Adam(
        learning_rate(config, last),
        weight_decay=config.weight_decay,
        row_learning_rate=config.bias_learning_rate,
        row_weight_decay=config.bias_weight_decay,
    )
    step = TrainingStep(
        model,
        sampler,
        make_loss(config),
        optimizer,
        clip_value=config.clip_value,
        clip_norm=config.clip_norm,
    )
    return step, last


def make_loss(config: Config) -> AffinityLoss:
    """The loss that some options describe."""
    if config.loss == "softmax":
        return SoftmaxLoss(temperature=config.temperature)
    return PairLoss(config.negative_weight, temperature=config.temperature)


def total_steps(options: TrainingOptions, pairs_per_pass: int) -> int:
    """Steps of a run: as said, or those of whole passes over all walks."""
    if options.epochs:
        return math.ceil(options.epochs * pairs_per_pass / options.batch_size)
    return options.steps


def learning_rate(
    options: TrainingOptions, last: int
) -> float | keras.optimizers.schedules.LearningRateSchedule:
    """What an optimiser takes as its learning rate: a number, or one of Keras' schedules.

    Example:

    >>> options = TrainingOptions(learning_rate=1.0, schedule="cosine", warmup_steps=2)
    >>> rate = learning_rate(options, 6)
    >>> [round(float(rate(step)), 3) for step in range(7)]
    [0.5, 0.75, 1.0, 0.854, 0.5, 0.146, 0.0]
    """
    rate, warmup = options.learning_rate, options.warmup_steps
    if options.schedule == "constant" and not warmup:
        return rate
    return keras.optimizers.schedules.CosineDecay(
        # The first step already moves: at a rate of zero it would be lost.
        initial_learning_rate=rate / warmup if warmup else rate,
        warmup_target=rate if warmup else None,
        warmup_steps=warmup,
        decay_steps=max(last - warmup, 1),
        # A decay to the whole of the rate is none.
        alpha=0.0 if options.schedule == "cosine" else 1.0,
    )
