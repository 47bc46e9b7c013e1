"""Model and step of a training on a sharded graph, wherever its tables are."""

import dataclasses
import logging
from pathlib import Path

import tensorflow as tf

from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.graph.features import FeatureTransform
from cade_tf.graph.preparation import Preparation
from cade_tf.graph.readers.shards import INFO_FILE, ShardedGraph
from cade_tf.graph.recognition import NodeMarks
from cade_tf.layers.global_bias import RowStore
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.models.factory import make_model
from cade_tf.scale.bias_stores import FileBias
from cade_tf.scale.row_file import RowFile
from cade_tf.scale.shard_tables import OpenTable, make_shard_tables
from cade_tf.training.step import TrainingStep
from cade_tf.training.trainer import make_step

_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, eq=False)
class ShardedTraining:
    """What a training on a sharded graph consists of.

    Attributes:
        model: The model; node i has row i of the global bias.
        step: The inner loop.
        last: Steps of the whole run.
        stored: The file of the global bias, where it lies in one.
    """

    model: DualEncoder
    step: TrainingStep
    last: int
    stored: RowFile | None


def without_graph(config: Config) -> Config:
    """Options of a sharded run, where no preset reads the graph; says so where one would have.

    Args:
        config: Options, of which some may still have to be decided.
    """
    if config.given is None:
        return config
    _log.info(
        "The recommended preset reads graphs in memory alone: on shards, options that are not "
        "given have their plain defaults."
    )
    return config.replace(preset=None, given=None)


def check_options(config: Config) -> None:
    """Refuses options that do not go with a sharded graph.

    Raises:
        InputError: There is such an option.
    """
    if sum((config.cluster, config.memory_map, config.strategy != "none")) > 1:
        raise InputError(
            "cluster, memory_map and strategy", "one of them", "several", "Choose one."
        )
    if config.cluster and config.fresh:
        raise InputError(
            "fresh", "false with cluster", "true: a chief that is restarted would start again",
            "Give another run_dir; cade launch takes fresh.",
        )  # fmt: skip
    free_values = {
        "validate_every": 0,
        "stop_on": "none",
        "compare": (),
        "feature_svd": 0,
        "initialization": "glorot",
    }
    for name, free in free_values.items():
        if getattr(config, name) != free:
            raise InputError(
                name, f"{free or 'none'} on a sharded graph", getattr(config, name), "Leave it out."
            )


def open_graph(config: Config) -> ShardedGraph:
    """The sharded graph of a run.

    Raises:
        InputError: There is none, or options do not go with it.
    """
    check_options(config)
    if config.graph is None or not (Path(config.graph) / INFO_FILE).is_file():
        raise InputError(
            "graph",
            "a folder of shards",
            config.graph or config.dataset or "none",
            "Write one with cade data convert --shards=N.",
        )
    graph = ShardedGraph.open(config.graph)
    if graph.sparse and config.densify_features:
        raise InputError(
            "densify_features", "false on sparse shards", "true", "Densify before converting."
        )
    if not sum(map(len, graph.parts("walkers"))):
        raise InputError("graph", "at least one edge between training nodes", "none", "Add edges.")
    return graph


def fit_features(graph: ShardedGraph, config: Config) -> FeatureTransform:
    """The scaling of features, learnt chunk by chunk."""
    return FeatureTransform.fit_parts(graph.features(seen_only=True), config, config.seed)


def make_training(
    graph: ShardedGraph,
    config: Config,
    transform: FeatureTransform,
    open_table: OpenTable,
    *,
    bias_store: RowStore | None = None,
    strategy: tf.distribute.Strategy | None = None,
) -> ShardedTraining:
    """Makes model and step.

    Args:
        graph: The graph.
        config: Options.
        transform: Scaling of its features.
        open_table: Where its tables are.
        bias_store: Where the global bias is; by default in the model, with `memory_map` in a file
            that the outer loop opens.
        strategy: In whose scope they are made; the current one by default.
    """
    tables = make_shard_tables(graph, open_table, training=True)
    stored = None
    with (strategy or tf.distribute.get_strategy()).scope():
        model = make_model(config)
        if bias_store is None and config.memory_map and model.global_bias:
            stored = RowFile(graph.num_nodes, config.dim)
            bias_store = FileBias(stored)
        model.build_for(transform.output_width, graph.num_nodes, bias_store)
        model.preparation = Preparation(
            transform=transform,
            known_ids=graph.ids,
            feature_names=graph.feature_names,
            structural=graph.structural,
            marks=NodeMarks.of_parts(
                graph.has_given_ids,
                None if graph.structural else graph.features(),
                graph.part("spans", 0)[:, 1],
                graph.part("neighbors", 0),
            ),
        )
        step, last = make_step(model, tables, config)
    return ShardedTraining(model, step, last, stored if model.bias is not None else None)
