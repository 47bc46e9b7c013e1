"""Generated graphs: does a step take longer on a larger one, and does Reddit's size fit?"""

from collections.abc import Iterator
from functools import partial

import numpy as np

from cade_tf.benchmark.measure import Measurement, Work, in_turn, peak_memory, ratios
from cade_tf.benchmark.options import BenchOptions
from cade_tf.benchmark.preparation import make_step, run_steps, warm
from cade_tf.benchmark.training import label
from cade_tf.graph.graph import Graph

GROWTH_NODES = (20_000, 2_000_000)
QUICK_GROWTH_NODES = (500, 5_000)
GROWTH_DEGREE = 10
GROWTH_WIDTH = 64

# Nodes, edges and width of the features.
REDDIT = (232_965, 11_600_000, 602)
QUICK_REDDIT = (2_000, 20_000, 32)


def random_graph(nodes: int, edges: int, width: int, seed: int = 0) -> Graph:
    """A graph whose edges join any two nodes with the same chance.

    Args:
        nodes: Number of nodes.
        edges: Number of edges; the few that are drawn twice or join a node to itself are dropped.
        width: Normal features of a node.
        seed: Seed.

    Example:

    >>> random_graph(100, 300, 8).num_features
    8
    """
    rng = np.random.default_rng(seed)
    return Graph.from_edges(
        rng.integers(nodes, size=(edges, 2)),
        num_nodes=nodes,
        features=rng.standard_normal((nodes, width), np.float32),
        name=f"generated-{nodes}",
    )


def growth(options: BenchOptions, *, model: str) -> Iterator[Measurement]:
    """One model on a small and on a large graph in turn; the large one has the large bias."""
    config = options.config(model, feature_scaling="none")
    sizes = QUICK_GROWTH_NODES if options.quick else GROWTH_NODES
    works: dict[str, Work] = {}
    counts: dict[str, int] = {}
    for nodes in sizes:
        graph = random_graph(nodes, nodes * GROWTH_DEGREE // 2, GROWTH_WIDTH)
        step = make_step(graph, config)
        name = f"{nodes:,} nodes"
        counts[name] = warm(step)
        works[name] = partial(run_steps, step, counts[name])
    seconds = in_turn(works, options.repeats)
    place = f"growth/{label(config)}"
    times = {name: [v / counts[name] for v in values] for name, values in seconds.items()}
    for name, values in times.items():
        yield Measurement(f"{place}/{name}", "s", tuple(values))
    small, large = times.values()
    yield Measurement(f"{place}/large_over_small", "x", ratios(large, small))
    yield Measurement(f"{place}/peak_memory", "MiB", (peak_memory(),))


def train_reddit_size(options: BenchOptions) -> Iterator[Measurement]:
    """Step time and memory; the memory is that of making the graph, too."""
    config = options.config("cade_ms", feature_scaling="none")
    graph = random_graph(*(QUICK_REDDIT if options.quick else REDDIT))
    step = make_step(graph, config)
    del graph
    count = warm(step)
    (seconds,) = in_turn({"steps": partial(run_steps, step, count)}, options.repeats).values()
    place = f"reddit_size/{label(config)}"
    values = tuple(value / count for value in seconds)
    yield Measurement(f"{place}/step", "s", values)
    yield Measurement(
        f"{place}/pairs", "pairs/s", tuple(options.batch_size / value for value in values)
    )
    yield Measurement(f"{place}/peak_memory", "MiB", (peak_memory(),))
