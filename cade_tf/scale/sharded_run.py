"""Runs on a sharded graph, from its files to scores: on a cluster, or memory-mapped."""

import dataclasses
import logging
import time
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from cade_tf.config import Config
from cade_tf.experiments import single_run
from cade_tf.graph.features import FeatureTransform
from cade_tf.graph.readers.shards import SEEN, ShardedGraph
from cade_tf.graph.splits import NodeSplit
from cade_tf.inference import outputs
from cade_tf.inference.algorithm1 import embed_all_nodes
from cade_tf.progress import Shown
from cade_tf.scale import cluster, cluster_embedding, sharded_training, signs_of_life, traffic
from cade_tf.scale.bias_stores import LARGEST_BYTES, ShardedBias, own_copy, with_own_bias
from cade_tf.scale.cluster_loop import ClusterLoop
from cade_tf.scale.distant_tables import DEFAULT_RESIDENT_BYTES
from cade_tf.scale.local_cluster import LOG_FOLDER
from cade_tf.scale.shard_tables import MappedTables, ShardedTables, make_shard_tables
from cade_tf.scale.signs_of_life import AnswerWatch
from cade_tf.training import run_folder, run_lock
from cade_tf.training.loop import Loop
from cade_tf.training.metrics import collapse_warning, named

_log = logging.getLogger(__name__)


def run_cluster(config: Config, run_dir: Path, *, progress: Shown = True) -> dict[str, Any]:
    """This process's part of a run on a cluster.

    Workers and parameter servers serve until they are ended. The chief fills the tables, hands
    out the steps, has the nodes embedded, and writes what a run of one process writes; embeddings
    also as shards.

    Args:
        config: Options.
        run_dir: Folder of the run, seen by the chief and the parameter servers.
        progress: Whether to show progress.

    Returns:
        What result.json holds; of the chief only.

    Raises:
        ClusterLost: A parameter server went away; the same command continues.
    """
    sharded_training.check_options(config)
    config = sharded_training.without_graph(config)
    resolver = cluster.make_resolver()
    signs_of_life.send()
    if resolver.task_type != "chief":
        cluster.serve(resolver)
    # The chief alone; the other processes of the run do not come here.
    with run_lock.hold(run_dir):
        return _lead(config, run_dir, resolver, progress)


def _lead(config: Config, run_dir: Path, resolver: Any, progress: Shown) -> dict[str, Any]:
    started = time.monotonic()
    graph = sharded_training.open_graph(config)
    run_folder.prepare(run_dir, config, graph.fingerprint)
    transform = sharded_training.fit_features(graph, config)
    with (
        cluster.tensorflow_messages_to(run_dir / LOG_FOLDER / "chief.log"),
        AnswerWatch(config.silence_seconds) as watch,
        cluster.lost_servers(),
    ):
        servers = cluster.Cluster(resolver, watch.heard)
        tables, training = fill_servers(servers, graph, config, transform)
        load_seconds = time.monotonic() - started
        loop = ClusterLoop(servers, training.step, training.last, config, run_dir, progress)
        steps = loop.run()
        counted = traffic.count_step(training.step)
        _log.info(
            "A step asks for %s rows (%s before ids were made distinct) in %d look-ups: %s bytes.",
            f"{counted.rows:,}",
            f"{counted.asked:,}",
            counted.lookups,
            f"{counted.bytes + counted.weight_bytes:,}",
        )
        embedding_started = time.monotonic()
        whole = make_shard_tables(graph, tables, training=False)
        totals = servers.make_variable((graph.num_nodes, config.dim + 1))
        cluster_embedding.embed_by_calls(
            training.model,
            whole,
            servers.run_all,
            totals,
            walks=config.embed_walks,
            walk_length=config.walk_length,
            seed=config.seed,
            batch_size=config.embed_batch_size,
            progress=progress,
        )
        cluster_embedding.write_shards(
            run_dir / cluster_embedding.SHARDS_FOLDER,
            graph,
            lambda first, last: servers.read_rows(totals, first, last),
        )
        local = own_copy(training.model, servers.read_rows)
        run_folder.save_model(local, run_dir)
    values = named(loop.metrics.numpy())
    result = {
        "cluster": {"workers": servers.workers, "servers": servers.servers},
        "tables_bytes": tables.bytes,
        "load_seconds": round(load_seconds, 3),
        "traffic_per_step": dataclasses.asdict(counted),
        "embedding_seconds": round(time.monotonic() - embedding_started, 3),
        **single_run.outcome(config, values, steps, float(loop.seconds.numpy())),
        "warning": collapse_warning(values) if steps else None,
    }
    # Larger embeddings stay in shards, as a larger global bias is left out of the encoder.
    if 4 * graph.num_nodes * config.dim <= LARGEST_BYTES:
        embeddings, _ = cluster_embedding.merge(run_dir / cluster_embedding.SHARDS_FOLDER)
        result.update(_scored(run_dir, graph, embeddings))
    return single_run.write_result(run_dir, result, started)


def run_mapped(config: Config, run_dir: Path, *, progress: Shown = True) -> dict[str, Any]:
    """A run of one process on a graph that stays on disk.

    Returns:
        What result.json holds.
    """
    started = time.monotonic()
    graph = sharded_training.open_graph(config)
    config = single_run.start_fresh(sharded_training.without_graph(config), run_dir)
    with run_lock.hold(run_dir):
        return _run_mapped(config, run_dir, graph, started, progress)


def _run_mapped(
    config: Config, run_dir: Path, graph: ShardedGraph, started: float, progress: Shown
) -> dict[str, Any]:
    run_folder.prepare(run_dir, config, graph.fingerprint)
    transform = sharded_training.fit_features(graph, config)
    tables = MappedTables(graph, transform, DEFAULT_RESIDENT_BYTES)
    training = sharded_training.make_training(graph, config, transform, tables)
    end = Loop(
        training.step,
        training.last,
        config,
        run_dir=run_dir,
        progress=progress,
        stored=training.stored,
    ).run()
    run_folder.save_model(with_own_bias(training.model), run_dir)
    embeddings = embed_all_nodes(
        training.model,
        make_shard_tables(graph, tables, training=False),
        walks=config.embed_walks,
        walk_length=config.walk_length,
        seed=config.seed,
        batch_size=config.embed_batch_size,
        progress=progress,
    )
    result = {
        **single_run.outcome(config, end.metrics, end.steps, end.seconds),
        "warning": collapse_warning(end.metrics) if end.steps else None,
        **_scored(run_dir, graph, embeddings),
    }
    return single_run.write_result(run_dir, result, started)


def fill_servers(
    servers: cluster.Cluster, graph: ShardedGraph, config: Config, transform: FeatureTransform
) -> tuple[ShardedTables, sharded_training.ShardedTraining]:
    """Brings a graph and a new model to the parameter servers, shard by shard."""
    tables = ShardedTables(graph, transform, servers.make_variable, servers.heard)
    training = sharded_training.make_training(
        graph,
        config,
        transform,
        tables,
        bias_store=_bias_store(servers, graph, config),
        strategy=servers.strategy,
    )
    return tables, training


def _bias_store(
    servers: cluster.Cluster, graph: ShardedGraph, config: Config
) -> ShardedBias | None:
    if not config.has_bias:
        return None
    with servers.strategy.scope():
        watched = tf.Variable(0.0, trainable=False)
        shape = (graph.num_nodes, config.dim)
        return ShardedBias(lambda: servers.make_variable(shape), watched)


def _scored(run_dir: Path, graph: ShardedGraph, embeddings: np.ndarray) -> dict[str, Any]:
    """Writes embeddings and split as every run does, and scores the unseen nodes."""
    seen = np.concatenate(graph.parts("split")) == SEEN
    split = NodeSplit(
        train=np.flatnonzero(seen),
        validation=np.zeros(0, np.int64),
        test=np.flatnonzero(~seen),
        trains_validation=False,
    )
    split.save(run_dir / single_run.SPLIT_FILE)
    outputs.write_embeddings(run_dir, embeddings, graph.ids, "npy")
    labels = graph.optional("labels")
    scored = single_run.scored_split(labels, split)
    return {
        "scores": single_run.score_labels(embeddings, labels, scored),
        "scored_on": single_run.scored_on(split),
    }
