"""What is measured: training steps, embedding, start-up, large graphs, and whole runs.

Every function here is a job: it takes options and yields measurements, in a process of its own.
"""

import contextlib
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
import tensorflow as tf

from cade_tf.baselines import smoothed_pca
from cade_tf.benchmark import arithmetic
from cade_tf.benchmark.measure import (
    Measurement,
    Work,
    in_turn,
    peak_memory,
    ratios,
    seconds_of,
    steps_per_repeat,
)
from cade_tf.benchmark.options import BenchOptions
from cade_tf.config import MODELS, Config, DataOptions, FeatureOptions
from cade_tf.graph import datasets, splits
from cade_tf.graph.graph import Graph
from cade_tf.inference.algorithm1 import embed_all_nodes
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.models.factory import make_model
from cade_tf.training import trainer
from cade_tf.training.step import TrainingStep

# Nodes, edges and width of the features.
SMALL, LARGE = (20_000, 100_000, 64), (2_000_000, 10_000_000, 64)
REDDIT = (232_965, 11_600_000, 602)
MILLION = (1_000_000, 5_000_000, 64)
MANY_WALKS = 40
QUICK_SIZES = {SMALL: (500, 2_500, 8), LARGE: (5_000, 25_000, 8), REDDIT: (2_000, 20_000, 32),
               MILLION: (2_000, 10_000, 8)}  # fmt: skip


# --- preparation -----------------------------------------------------------------------------


def label(config: Config) -> str:
    """How a model is called in a report."""
    return f"{config.model}-k{config.k}" if config.model in ("cade_ms", "cade_ma") else config.model


def adapted_model(graph: Graph, config: Config) -> DualEncoder:
    """An untrained model: as fast as a trained one."""
    model = make_model(config)
    model.adapt(graph)
    return model


def make_step(graph: Graph, config: Config) -> TrainingStep:
    """A training step of a model on a graph."""
    model = adapted_model(graph, config)
    return trainer.make_step(model, model.tables(graph), config)[0]


def run_steps(step: TrainingStep, count: int) -> Any:
    """Does some steps and waits for them.

    Raises:
        FloatingPointError: A number was not finite, so that fewer steps were done.
    """
    metrics = step.run(tf.constant(count)).numpy()
    fault = step.fault()
    if fault is not None:
        raise FloatingPointError(f"{fault} was not finite.")
    return metrics


def warm(step: TrainingStep) -> int:
    """Compiles a step and finds out how many of them make a good repeat."""
    run_steps(step, 1)
    return steps_per_repeat(seconds_of(partial(run_steps, step, 1)))


def step_seconds(steps: dict[str, TrainingStep], repeats: int) -> dict[str, tuple[float, ...]]:
    """Seconds of a step by name, measured in turn."""
    counts = {name: warm(step) for name, step in steps.items()}
    works: dict[str, Work] = {
        name: partial(run_steps, step, counts[name]) for name, step in steps.items()
    }
    seconds = in_turn(works, repeats)
    return {name: tuple(s / counts[name] for s in values) for name, values in seconds.items()}


def memory(place: str) -> Iterator[Measurement]:
    """The most memory that this process has held, and the most that its tensors took."""
    yield Measurement(f"{place}/peak_memory", "MiB", (peak_memory(),))
    device = "GPU:0" if tf.config.list_logical_devices("GPU") else "CPU:0"
    # Without TensorFlow's own pool (see `environment`) nobody counts the tensors of a CPU.
    with contextlib.suppress(ValueError):
        peak = tf.config.experimental.get_memory_info(device)["peak"]
        yield Measurement(f"{place}/tensors", "MiB", (peak / 2**20,))


# --- steps -----------------------------------------------------------------------------------


def steps(options: BenchOptions, *, model: str, aggregator: str) -> Iterator[Measurement]:
    """Steps of one model with one aggregator, in turn with the bare products that they need."""
    config = options.config(model, aggregator=aggregator)
    step = make_step(datasets.load(config), config)
    count = warm(step)
    place = f"train/{label(config)}/{aggregator}"
    # Before the products, whose factors need memory too.
    held = list(memory(place))
    sizes, sampler = arithmetic.batch_sizes(step), step.sampler
    needed = arithmetic.products(step.model, sizes, sampler.batch_size, sampler.negatives)
    products = arithmetic.bare_products(needed)

    def bare() -> None:
        for _ in range(count):
            products()

    works: dict[str, Work] = {"step": partial(run_steps, step, count), "products": bare}
    seconds = in_turn(works, options.repeats)
    mine, theirs = (tuple(s / count for s in seconds[name]) for name in works)
    yield Measurement(f"{place}/step", "s", mine)
    yield Measurement(f"{place}/pairs", "pairs/s", tuple(options.batch_size / s for s in mine))
    yield Measurement(f"{place}/products", "s", theirs)
    yield Measurement(f"{place}/arithmetic_share", "x", ratios(theirs, mine))
    yield from held


# --- embedding and start-up ------------------------------------------------------------------


def embedding(options: BenchOptions) -> Iterator[Measurement]:
    """All nodes by Algorithm 1 and from full neighbourhoods, each model in turn.

    Algorithm 1 has one walk from each node, and then many, which share their neighbourhoods.
    """
    configs = [options.config(model) for model in MODELS]
    graph = datasets.load(configs[0])
    works: dict[str, Work] = {}
    walks: dict[str, int] = {}
    for config in configs:
        model = adapted_model(graph, config)
        embed = partial(model.embed, graph, batch_size=config.embed_batch_size, progress=False)
        place = f"embed/{label(config)}"
        for column, count in (("sampled", 1), (f"of_{MANY_WALKS}_walks", MANY_WALKS)):
            name = f"{place}/{column}"
            works[name], walks[name] = partial(embed, walks=count), count
        works[f"{place}/full"] = partial(model.embed_full, graph, progress=False)
    for work in works.values():
        work()
    for name, seconds in in_turn(works, options.repeats).items():
        done = graph.num_nodes * walks.get(name, 1)
        yield Measurement(name, "nodes/s", tuple(done / value for value in seconds))


def first_step(options: BenchOptions, *, config: str) -> Iterator[Measurement]:
    """The first step of `cade train`; the time of the process is taken by its parent.

    Args:
        options: Of the benchmark; the run has options of its own.
        config: Options of the run, as JSON.
    """
    # As the command does: importing it is a part of the start.
    from cade_tf.experiments import side_by_side  # noqa: F401

    settings = Config.from_json(config)
    graph = datasets.load(settings)
    seen = splits.node_split(graph, settings).seen
    run_steps(make_step(graph.subgraph(seen), settings), 1)
    yield from memory("startup/quickstart")


# --- large graphs ----------------------------------------------------------------------------


def random_graph(options: BenchOptions, size: tuple[int, int, int], seed: int = 0) -> Graph:
    """A graph whose edges join any two nodes with the same chance, and normal features.

    Args:
        options: They say whether all is to be small.
        size: Nodes, edges and width of the features; the few edges that are drawn twice or join a
            node to itself are dropped.
        seed: Seed.
    """
    nodes, edges, width = _sized(options, size)
    rng = np.random.default_rng(seed)
    return Graph.from_edges(
        rng.integers(nodes, size=(edges, 2)),
        num_nodes=nodes,
        features=rng.standard_normal((nodes, width), np.float32),
        name=f"generated-{nodes}",
    )


def _sized(options: BenchOptions, size: tuple[int, int, int]) -> tuple[int, int, int]:
    return QUICK_SIZES[size] if options.quick else size


def growth(options: BenchOptions) -> Iterator[Measurement]:
    """CADE-MS on a small and on a large graph in turn; the large one has the large bias."""
    config = options.config("cade_ms", feature_scaling="none")
    made = {
        name: make_step(random_graph(options, size), config)
        for name, size in (("small", SMALL), ("large", LARGE))
    }
    times = step_seconds(made, options.repeats)
    small, large = (_sized(options, size)[0] for size in (SMALL, LARGE))
    place = f"sizes/{large:,} nodes"
    yield Measurement(f"{place}/step", "s", times["large"])
    ratio = ratios(times["large"], times["small"])
    yield Measurement(f"{place}/over_{small:,}_nodes", "x", ratio)
    yield from memory(place)


def reddit_size(options: BenchOptions) -> Iterator[Measurement]:
    """Step time and memory of CADE-MS; the memory is that of making the graph, too."""
    config = options.config("cade_ms", feature_scaling="none")
    made = {"step": make_step(random_graph(options, REDDIT), config)}
    (seconds,) = step_seconds(made, options.repeats).values()
    yield Measurement("sizes/Reddit's size/step", "s", seconds)
    yield from memory("sizes/Reddit's size")


# --- against a peer --------------------------------------------------------------------------


def train_as_peer(options: BenchOptions, *, count: int, warmup: int) -> Iterator[Measurement]:
    """GraphSAGE as a peer's script measures itself: one time of many steps."""
    config = options.config("graphsage")
    step = make_step(datasets.load(config), config)
    run_steps(step, warmup)
    seconds = seconds_of(partial(run_steps, step, count))
    yield Measurement("peer/train/ours", "steps/s", (count / seconds,))


def embed_as_peer(options: BenchOptions) -> Iterator[Measurement]:
    """GraphSAGE's embedding as a peer's script measures itself: with the graph at hand.

    The peer embeds once, batch after batch. We embed all nodes together; so the first call, which
    has all the warming up, stands apart.
    """
    config = options.config("graphsage")
    graph = datasets.load(config)
    model = adapted_model(graph, config)
    embed = partial(
        embed_all_nodes,
        model,
        model.tables(graph),
        walks=1,
        walk_length=model.walk_length,
        seed=config.seed,
        batch_size=config.embed_batch_size,
        progress=False,
    )
    first, second = (graph.num_nodes / seconds_of(embed) for _ in range(2))
    yield Measurement("peer/embed/ours", "nodes/s", (second,))
    yield Measurement("peer/embed/ours_first_call", "nodes/s", (first,))


def write_for_peer(graph: Graph, path: Path) -> None:
    """A graph as the scripts of peers read it: num_nodes, edges, and the features as CSR."""
    x = sp.csr_array(graph.features)
    np.savez(path, num_nodes=graph.num_nodes, edges=graph.edges(), x_data=x.data,
             x_indices=x.indices, x_indptr=x.indptr, x_shape=x.shape)  # fmt: skip


# --- whole runs ------------------------------------------------------------------------------


def write_graph(options: BenchOptions, *, folder: str, generated: bool) -> Iterator[Measurement]:
    """Writes the graph of whole runs, for us and for a peer."""
    graph = random_graph(options, MILLION) if generated else datasets.load(options)
    graph.save(Path(folder, "graph.npz"))
    write_for_peer(graph, Path(folder, "peer.npz"))
    yield Measurement("nodes", "nodes", (graph.num_nodes,))


def whole_run(
    options: BenchOptions, *, folder: str, method: str, place: str
) -> Iterator[Measurement]:
    """From files to embeddings.npy with the recommended preset; its parent takes the time.

    One pass of Algorithm 1 makes the embeddings, as a peer makes them.
    """
    graph = datasets.load(DataOptions(graph=str(Path(folder, "graph.npz"))))
    if method == "smoothed_pca":
        seen = np.arange(graph.num_nodes)
        vectors = smoothed_pca.embed(graph, seen, dim=options.dim, options=FeatureOptions())
    else:
        trained = trainer.train(
            graph,
            model=method,
            dim=options.dim,
            precision=options.precision,
            embed_walks=1,
            progress=False,
        )
        yield Measurement(f"{place}/steps", "steps", (trained.steps,))
        vectors = trained.embed(graph, progress=False)
    np.save(Path(folder, "embeddings.npy"), vectors)
    yield from memory(place)
