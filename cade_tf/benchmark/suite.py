"""All cases of the benchmark, one process after the other."""

import dataclasses
import json
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from cade_tf.benchmark.measure import Measurement, joined
from cade_tf.benchmark.options import CASES, QUICKSTART, BenchOptions
from cade_tf.benchmark.processes import Job, JobFailed, output_lines, run_job
from cade_tf.config import AGGREGATORS, MODELS
from cade_tf.presets.recommended import STEPS as RECOMMENDED_STEPS
from cade_tf.progress import Shown, make_bar

PEER_STEPS, PEER_WARMUP = 60, 10
PEER_KINDS = {
    "train": (Job("cases.train_as_peer", {"count": PEER_STEPS, "warmup": PEER_WARMUP}), "steps"),
    "embed": (Job("cases.embed_as_peer"), "nodes"),
}
WHOLE_RUNS = ("cade_ms", "graphsage", "smoothed_pca")

Part = tuple[str, Callable[[], list[Measurement]]]
"""A title, and what measures it."""


@dataclasses.dataclass(frozen=True)
class Results:
    """What a benchmark found.

    Args:
        measurements: What was measured, in order.
        failures: What each failed part said, by its title.
    """

    measurements: list[Measurement]
    failures: dict[str, str]


def run(
    options: BenchOptions, keep: Callable[[Results], object], *, progress: Shown = True
) -> Results:
    """Runs the cases that the options choose; a part that fails does not stop the others.

    Args:
        options: Options, already sized.
        keep: Called with all results so far after every part.
        progress: Whether, or how, to show what is done.
    """
    parts = list(parts_of(options))
    found: list[Measurement] = []
    failures: dict[str, str] = {}
    with make_bar(progress, "bench", len(parts), "parts", plain_seconds=0.0) as bar:
        for title, work in parts:
            try:
                found += work()
            except JobFailed as error:
                failures[title] = str(error)
            bar.advance(note=title + (": failed" if title in failures else ""))
            keep(Results(joined(found), failures))
    return Results(joined(found), failures)


def parts_of(options: BenchOptions) -> Iterator[Part]:
    """The parts of the chosen cases; without a peer there is nothing to compare with one."""
    for case in options.cases or CASES:
        if case == "peer":
            for kind in PEER_KINDS if options.peer is not None else ():
                yield f"peer {kind}", partial(compare, options, kind)
        elif case == "end_to_end":
            for generated in (False, True):
                name = "generated" if generated else options.dataset or options.graph
                yield f"end_to_end {name}", partial(whole_runs, options, generated=generated)
        else:
            for title, job in _jobs(case, options):
                yield f"{case} {title}".strip(), partial(run_job, job, options)


def _jobs(case: str, options: BenchOptions) -> Iterator[tuple[str, Job]]:
    """Titles and jobs of a case."""
    match case:
        case "steps":
            for aggregator in AGGREGATORS:
                for model in reversed(MODELS):
                    arguments = {"model": model, "aggregator": aggregator}
                    yield f"{model} {aggregator}", Job("cases.steps", arguments)
        case "literal":
            for model in ("graphsage", "cade_ms", "cade_ma"):
                yield model, Job("literal.speedup", {"model": model})
        case "embedding":
            yield "", Job("cases.embedding")
        case "startup":
            arguments = {"config": QUICKSTART.to_json()}
            job = Job("cases.first_step", arguments, "startup/quickstart/first_step")
            for number in range(options.repeats):
                yield f"{number + 1}", job
        case "sizes":
            yield "growth", Job("cases.growth")
            yield "Reddit", Job("cases.reddit_size")


# --- peers -----------------------------------------------------------------------------------


def compare(options: BenchOptions, kind: str) -> list[Measurement]:
    """GraphSAGE's training or embedding, ours and the peer's round by round.

    Args:
        options: Options; they name the peer.
        kind: train or embed.

    Raises:
        JobFailed: One of the two failed, or the peer did not print what it should.
    """
    job, field = PEER_KINDS[kind]
    found: list[Measurement] = []
    with tempfile.TemporaryDirectory() as folder:
        run_job(Job("cases.write_graph", {"folder": folder, "generated": False}), options)
        for _ in range(options.repeats):
            mine, *others = run_job(job, options)
            name, theirs = run_peer(options, folder, f"{field}_per_s")
            found += [mine, *others, Measurement(f"peer/{kind}/{name}", mine.unit, (theirs,))]
            ratio = mine.median / theirs
            found.append(Measurement(f"peer/{kind}/ours_over_peer", "x", (ratio,)))
    return found


def run_peer(
    options: BenchOptions, folder: str, field: str, *, steps: int = PEER_STEPS
) -> tuple[str, float]:
    """Runs the peer's script once.

    Args:
        options: Options; they name the peer and the sizes of the work.
        folder: Where its data are.
        field: What to read of the JSON that it prints last: steps_per_s, or nodes_per_s, for
            which it embeds all nodes instead of training.
        steps: Training steps that it times.

    Returns:
        What the peer calls itself (`peer` of its JSON; else the name of its file), and the number.

    Raises:
        JobFailed: It failed, or its last line is no JSON with a positive number of that name.
    """
    flags = {
        "data": Path(folder, "peer.npz"),
        "dim": options.dim,
        "fanouts": ",".join(map(str, options.fanouts)),
        "batch": options.batch_size,
        "negatives": options.negatives,
        "steps": steps,
        "warmup": PEER_WARMUP,
        "threads": os.cpu_count(),
    }
    command = [str(options.peer_python), str(options.peer)]
    command += [part for name, value in flags.items() for part in (f"--{name}", str(value))]
    path = {"PYTHONPATH": options.peer_pythonpath} if options.peer_pythonpath else {}
    embed = ["--embed"] if field == "nodes_per_s" else []
    last = output_lines(command + embed, environment=path)[-1]
    try:
        printed = json.loads(last)
        value = float(printed[field])
    except (ValueError, KeyError, TypeError) as error:
        raise JobFailed(f"{options.peer} should print {field} as JSON, printed {last}") from error
    if not value > 0:
        raise JobFailed(f"{options.peer} printed {field} = {value}, which no machine has")
    return printed.get("peer", Path(str(options.peer)).stem).replace("/", "-"), value


def whole_runs(options: BenchOptions, *, generated: bool) -> list[Measurement]:
    """From files to embeddings, ours and the peer's, once each.

    The peer trains as many steps as the recommended preset, in a process whose time is taken, and
    embeds in another one, of which only the embedding counts.

    Raises:
        JobFailed: One of them failed.
    """
    found: list[Measurement] = []
    with tempfile.TemporaryDirectory() as folder:
        arguments: dict[str, Any] = {"folder": folder}
        (nodes,) = run_job(Job("cases.write_graph", {**arguments, "generated": generated}), options)
        data = "generated" if generated else options.dataset or Path(str(options.graph)).stem
        place = f"end_to_end/{data} ({int(nodes.median):,} nodes)"
        for method in WHOLE_RUNS:
            arguments.update(method=method, place=f"{place}/{method}")
            timed_as = f"{place}/{method}/whole_run"
            found += run_job(Job("cases.whole_run", dict(arguments), timed_as), options)
        if options.peer is not None:
            started = time.perf_counter()
            name, _ = run_peer(options, folder, "steps_per_s", steps=RECOMMENDED_STEPS)
            seconds = time.perf_counter() - started
            _, speed = run_peer(options, folder, "nodes_per_s")
            seconds += nodes.median / speed
            found.append(Measurement(f"{place}/{name}/whole_run", "s", (seconds,)))
    return found
