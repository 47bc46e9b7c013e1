"""All cases of the benchmark, one process after the other."""

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from cade_tf.benchmark import peers
from cade_tf.benchmark.measure import Measurement, joined
from cade_tf.benchmark.options import CASES, QUICKSTART, BenchOptions
from cade_tf.benchmark.processes import Job, JobFailed, run_job
from cade_tf.config import MODELS
from cade_tf.progress import Progress

FEW = 3


@dataclasses.dataclass(frozen=True)
class Results:
    """What a benchmark found.

    Args:
        measurements: What was measured, in order.
        failures: What each failed part said, by its title.
    """

    measurements: list[Measurement]
    failures: dict[str, str]


@dataclasses.dataclass(frozen=True)
class Part:
    """A piece of a case.

    Args:
        title: What to call it.
        work: Measures it.
    """

    title: str
    work: Callable[[], list[Measurement]]


def run(options: BenchOptions, keep: Callable[[Results], None] = lambda results: None) -> Results:
    """Runs the cases that the options choose; a part that fails does not stop the others.

    Args:
        options: Options, already sized.
        keep: Called with all results so far after every part.
    """
    parts = list(parts_of(options))
    found: list[Measurement] = []
    failures: dict[str, str] = {}
    with Progress("bench", len(parts), "parts", plain_seconds=0.0) as progress:
        for part in parts:
            try:
                found += part.work()
            except JobFailed as error:
                failures[part.title] = str(error)
            progress.advance(note=part.title + (": failed" if part.title in failures else ""))
            keep(Results(joined(found), failures))
    return Results(joined(found), failures)


def parts_of(options: BenchOptions) -> Iterator[Part]:
    """The parts of the chosen cases; without a peer there is nothing to compare with one."""
    for case in options.cases or CASES:
        if case != "peer":
            for title, job in _jobs(case, options):
                yield Part(f"{case} {title}".strip(), partial(run_job, job, options))
        elif options.peer is not None:
            for kind in peers.KINDS:
                yield Part(f"peer {kind}", partial(_compare, options, kind))


def _compare(options: BenchOptions, kind: str) -> list[Measurement]:
    return list(peers.compare(options, kind))


def _jobs(case: str, options: BenchOptions) -> Iterator[tuple[str, Job]]:
    """Titles and jobs of a case."""

    def few(task: str, **arguments: Any) -> Job:
        return Job(task, arguments, most_repeats=FEW)

    match case:
        case "steps":
            yield "", Job("training.steps")
        case "memory":
            for model, k in (
                ("graphsage", options.k),
                ("cade_ms", options.k),
                ("cade_ma", options.k // 2),
                ("cade_ma", options.k),
            ):
                yield f"{model} {k}", Job("training.memory", {"model": model, "k": k})
        case "aggregators":
            for name in ("pool", "lstm"):
                for model in reversed(MODELS):
                    yield f"{name} {model}", few("training.aggregator", model=model, name=name)
        case "literal":
            for model in ("graphsage", "cade_ms", "cade_ma"):
                yield model, few("literal.speedup", model=model)
        case "embedding":
            yield "", few("workloads.embedding")
        case "walks":
            yield "", Job("workloads.walks")
        case "loading":
            yield "", Job("workloads.load")
        case "startup":
            arguments = {"config": QUICKSTART.to_json()}
            job = Job("workloads.first_step", arguments, "startup/quickstart/first_step")
            for number in range(min(options.repeats, FEW)):
                yield f"{number + 1}", job
        case "growth":
            for model in ("cade_gb", "cade_ms"):
                yield model, Job("generated.growth", {"model": model})
        case "reddit_size":
            yield "", Job("generated.train_reddit_size")
