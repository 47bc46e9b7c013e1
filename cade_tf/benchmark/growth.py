"""Whether a step takes longer on a larger graph of the same degree."""

from collections.abc import Iterator
from functools import partial

from cade_tf.benchmark.generated import random_graph
from cade_tf.benchmark.measure import Measurement, Work, in_turn, peak_memory, ratios
from cade_tf.benchmark.options import BenchOptions
from cade_tf.benchmark.preparation import make_step, run_steps, warm
from cade_tf.benchmark.training import label

NODES = (20_000, 2_000_000)
QUICK_NODES = (500, 5_000)
DEGREE = 10
WIDTH = 64


def growth(options: BenchOptions, *, model: str) -> Iterator[Measurement]:
    """One model on a small and on a large graph in turn; the large one has the large bias."""
    config = options.config(model, feature_scaling="none")
    sizes = QUICK_NODES if options.quick else NODES
    works: dict[str, Work] = {}
    counts: dict[str, int] = {}
    for nodes in sizes:
        graph = random_graph(nodes, nodes * DEGREE // 2, WIDTH)
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
