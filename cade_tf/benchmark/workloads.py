"""Everything around training: embedding, walks, loading, and the start of a process."""

from collections.abc import Iterator
from functools import partial

import numpy as np
import tensorflow as tf

from cade_tf.benchmark.measure import Measurement, Work, in_turn, peak_memory, seconds_of
from cade_tf.benchmark.options import BenchOptions
from cade_tf.benchmark.preparation import adapted_model, make_step, run_steps
from cade_tf.benchmark.training import BASELINE, label
from cade_tf.config import MODELS, Config
from cade_tf.graph import loading, splits
from cade_tf.graph.graph import Graph
from cade_tf.inference.algorithm1 import embed_all_nodes
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.sampling import random
from cade_tf.sampling.graph_tables import make_graph_tables
from cade_tf.sampling.walks import walk


def embedding(options: BenchOptions) -> Iterator[Measurement]:
    """All nodes by one pass of Algorithm 1, and from full neighbourhoods, each model in turn."""
    configs = [options.config(model) for model in MODELS]
    graph = loading.load(configs[0])
    works: dict[str, Work] = {}
    for config in configs:
        model = adapted_model(graph, config)
        works[f"embed/{label(config)}/sampled"] = partial(one_pass, model, graph, config)
        works[f"embed/{label(config)}/full"] = partial(model.embed_full, graph, progress=False)
    for work in works.values():
        work()
    for name, seconds in in_turn(works, options.repeats).items():
        yield Measurement(name, "nodes/s", tuple(graph.num_nodes / value for value in seconds))


def one_pass(model: DualEncoder, graph: Graph, config: Config) -> np.ndarray:
    """Embeds every node from one walk, compilation included."""
    return model.embed(graph, walks=1, batch_size=config.embed_batch_size, progress=False)


def embed_as_peer(options: BenchOptions) -> Iterator[Measurement]:
    """GraphSAGE's embedding as a peer's script measures itself: with the graph at hand.

    The peer embeds once, batch after batch. We embed all nodes together; so the first call, which
    has all the warming up, stands apart.
    """
    config = options.config(BASELINE)
    graph = loading.load(config)
    model = adapted_model(graph, config)
    tables = model.tables(graph)
    embed = partial(
        embed_all_nodes,
        model,
        tables,
        walks=1,
        walk_length=model.walk_length,
        seed=config.seed,
        batch_size=config.embed_batch_size,
        progress=False,
    )
    first, second = (graph.num_nodes / seconds_of(embed) for _ in range(2))
    yield Measurement("peer/embed/ours", "nodes/s", (second,))
    yield Measurement("peer/embed/ours_first_call", "nodes/s", (first,))


def walks(options: BenchOptions) -> Iterator[Measurement]:
    """A walk from every node."""
    config = options.config(BASELINE)
    graph = loading.load(config)
    tables = make_graph_tables(graph, np.zeros((graph.num_nodes, 1), np.float32))

    @tf.function(autograph=False)
    def run(number: tf.Tensor) -> tf.Tensor:
        starts = tf.range(graph.num_nodes, dtype=tf.int64)
        key = random.make_key(config.seed, random.Stream.WALK, number)
        return walk(tables, starts, random.fold_in(key, starts), config.walk_length)

    def many() -> None:
        for number in range(10):
            run(tf.constant(number)).numpy()

    many()
    (seconds,) = in_turn({"walks": many}, options.repeats).values()
    name = f"walks/{graph.name}/length {config.walk_length}"
    yield Measurement(name, "walks/s", tuple(10 * graph.num_nodes / value for value in seconds))


def load(options: BenchOptions) -> Iterator[Measurement]:
    """Reading the graph's files."""
    config = options.config(BASELINE)
    name = loading.load(config).name
    (seconds,) = in_turn({"load": partial(loading.load, config)}, options.repeats).values()
    yield Measurement(f"load/{name}/files", "s", tuple(seconds))


def first_step(options: BenchOptions, *, config: str) -> Iterator[Measurement]:
    """The first step of `cade train`; the time of the process is taken by its parent.

    Args:
        options: Of the benchmark; the run has options of its own.
        config: Options of the run, as JSON.
    """
    # As the command does: importing it is a part of the start.
    from cade_tf.experiments import comparison  # noqa: F401

    settings = Config.from_json(config)
    graph = loading.load(settings)
    seen = splits.node_split(graph, settings).seen
    run_steps(make_step(graph.subgraph(seen), settings), 1)
    yield Measurement("startup/quickstart/peak_memory", "MiB", (peak_memory(),))
