"""Training steps: the four models in turn, their arithmetic, their memory, their aggregators."""

from collections.abc import Iterator
from functools import partial

from cade_tf.benchmark import arithmetic
from cade_tf.benchmark.measure import Measurement, Work, in_turn, peak_memory, ratios, seconds_of
from cade_tf.benchmark.options import BenchOptions
from cade_tf.benchmark.preparation import make_step, run_steps, warm
from cade_tf.config import Config
from cade_tf.graph import loading
from cade_tf.graph.features import FeatureTransform, node_features
from cade_tf.sampling.tables import SparseTable
from cade_tf.training.step import TrainingStep

BASELINE = "graphsage"
MEMORY_STEPS = 30


def label(config: Config) -> str:
    """How a model is called in a report."""
    return f"{config.model}-k{config.k}" if config.model in ("cade_ms", "cade_ma") else config.model


def steps(options: BenchOptions) -> Iterator[Measurement]:
    """All models in turn in one process, each with the bare products of its step."""
    half, whole = (options.config("cade_ma", k=k) for k in (options.k // 2, options.k))
    baseline = options.config(BASELINE)
    configs = [baseline, options.config("cade_gb"), options.config("cade_ms"), half, whole]
    graph = loading.load(baseline)
    transform = FeatureTransform.fit(node_features(graph), baseline, baseline.seed)
    prepared = {label(config): make_step(graph, config, transform) for config in configs}
    found = {one.name: one for one in step_times(prepared, "mean", options)}
    yield from found.values()

    def times(config: Config) -> tuple[float, ...]:
        return found[f"train/{label(config)}/mean/step"].values

    for config in configs[1:]:
        name = f"train/{label(config)}/mean/over_{BASELINE}"
        yield Measurement(name, "x", ratios(times(config), times(baseline)))
    name = f"train/{label(whole)}/mean/over_half_k"
    yield Measurement(name, "x", ratios(times(whole), times(half)))


def aggregator(options: BenchOptions, *, model: str, name: str) -> Iterator[Measurement]:
    """One model with one aggregator, in a process of its own."""
    config = options.config(model, aggregator=name)
    step = make_step(loading.load(config), config)
    run_steps(step, 1)
    # Before the products, whose factors need memory too.
    held = peak_memory()
    # With K these steps take seconds, and their products as long again.
    single = max(step.model.samplings, step.model.parameter_sets) == 1
    yield from step_times({label(config): step}, name, options, with_products=single)
    yield Measurement(f"train/{label(config)}/{name}/peak_memory", "MiB", (held,))


def memory(options: BenchOptions, *, model: str, k: int) -> Iterator[Measurement]:
    """The memory of a process that loads the graph and trains one model."""
    config = options.config(model, k=k)
    step = make_step(loading.load(config), config)
    run_steps(step, MEMORY_STEPS)
    yield Measurement(f"train/{label(config)}/mean/peak_memory", "MiB", (peak_memory(),))


def as_peer(options: BenchOptions, *, count: int, warmup: int) -> Iterator[Measurement]:
    """GraphSAGE as a peer's script measures itself: one time of many steps."""
    config = options.config(BASELINE)
    step = make_step(loading.load(config), config)
    run_steps(step, warmup)
    seconds = seconds_of(partial(run_steps, step, count))
    yield Measurement("peer/train/ours", "steps/s", (count / seconds,))


def step_times(
    prepared: dict[str, TrainingStep],
    aggregator: str,
    options: BenchOptions,
    *,
    with_products: bool = True,
) -> Iterator[Measurement]:
    """Times training steps in turn, and their bare products where features are dense.

    Args:
        prepared: The steps by name of the model.
        aggregator: Name of their aggregator.
        options: Options of the benchmark.
        with_products: Whether the products are timed at all.
    """
    counts = {name: warm(step) for name, step in prepared.items()}
    works: dict[str, Work] = {}
    for name, step in prepared.items():
        works[name] = partial(run_steps, step, counts[name])
        if with_products and not isinstance(step.sampler.graph.features, SparseTable):
            works[_products(name)] = _bare_products(step, counts[name])
    seconds = in_turn(works, options.repeats)
    for name, count in counts.items():
        place = f"train/{name}/{aggregator}"
        mine = tuple(value / count for value in seconds[name])
        yield Measurement(f"{place}/step", "s", mine)
        yield Measurement(f"{place}/speed", "steps/s", tuple(1 / value for value in mine))
        yield Measurement(
            f"{place}/pairs", "pairs/s", tuple(options.batch_size / value for value in mine)
        )
        if _products(name) in seconds:
            bare = tuple(value / count for value in seconds[_products(name)])
            yield Measurement(f"{place}/products", "s", bare)
            yield Measurement(f"{place}/arithmetic_share", "x", ratios(bare, mine))


def _products(name: str) -> str:
    return f"{name}, products"


def _bare_products(step: TrainingStep, count: int) -> Work:
    """As many products as `count` steps need, with the sizes of the next batch."""
    sizes, sampler = arithmetic.batch_sizes(step), step.sampler
    needed = arithmetic.products(step.model, sizes, sampler.batch_size, sampler.negatives)
    run = arithmetic.bare_products(needed)

    def repeat() -> None:
        for _ in range(count):
            run()

    return repeat
