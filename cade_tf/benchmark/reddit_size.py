"""CADE-MS on a generated graph of the size of Reddit."""

from collections.abc import Iterator
from functools import partial

from cade_tf.benchmark.generated import random_graph
from cade_tf.benchmark.measure import Measurement, in_turn, peak_memory
from cade_tf.benchmark.options import BenchOptions
from cade_tf.benchmark.preparation import make_step, run_steps, warm
from cade_tf.benchmark.training import label

NODES, EDGES, WIDTH = 232_965, 11_600_000, 602
QUICK = (2_000, 20_000, 32)


def train_reddit_size(options: BenchOptions) -> Iterator[Measurement]:
    """Step time and memory; the memory is that of making the graph, too."""
    config = options.config("cade_ms", feature_scaling="none")
    graph = random_graph(*(QUICK if options.quick else (NODES, EDGES, WIDTH)))
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
