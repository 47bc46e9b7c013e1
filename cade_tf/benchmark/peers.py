"""A peer's own script in its own environment, in turn with ours."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path

from cade_tf.benchmark.measure import Measurement
from cade_tf.benchmark.options import BenchOptions
from cade_tf.benchmark.processes import Job, JobFailed, output_lines, run_job

STEPS, WARMUP = 60, 10


KINDS = {
    "train": (Job("training.as_peer", {"count": STEPS, "warmup": WARMUP}), "steps_per_s"),
    "embed": (Job("workloads.embed_as_peer"), "nodes_per_s"),
}


def compare(
    options: BenchOptions,
    kind: str,
    ours: Callable[[Job, BenchOptions], list[Measurement]] = run_job,
) -> Iterator[Measurement]:
    """GraphSAGE's training or embedding, ours and the peer's round by round.

    Args:
        options: Options; they name the peer.
        kind: train or embed.
        ours: Runs a job of ours.

    Raises:
        JobFailed: One of the two failed, or the peer did not print what it should.
    """
    job, field = KINDS[kind]
    for _ in range(options.peer_rounds):
        mine, *others = ours(job, options)
        name, theirs = run_peer(options, field, embed=kind == "embed")
        yield from (mine, *others)
        yield Measurement(f"peer/{kind}/{name}", mine.unit, (theirs,))
        yield Measurement(f"peer/{kind}/ours_over_peer", "x", (mine.median / theirs,))


def run_peer(options: BenchOptions, field: str, *, embed: bool) -> tuple[str, float]:
    """Runs the peer's script once.

    Args:
        options: Options; they name the peer and the sizes of the work.
        field: What to read of the JSON that it prints last.
        embed: Whether it embeds all nodes instead of training.

    Returns:
        What the peer calls itself (`peer` of its JSON; else the name of its file), and the number.

    Raises:
        JobFailed: It failed, or its last line is no JSON with a positive number of that name.
    """
    flags = {
        "data": options.peer_data,
        "dim": options.dim,
        "fanouts": ",".join(map(str, options.fanouts)),
        "batch": options.batch_size,
        "negatives": options.negatives,
        "steps": STEPS,
        "warmup": WARMUP,
        "threads": os.cpu_count(),
    }
    command = [str(options.peer_python), str(options.peer)]
    command += [part for name, value in flags.items() for part in (f"--{name}", str(value))]
    path = {"PYTHONPATH": options.peer_pythonpath} if options.peer_pythonpath else {}
    last = output_lines(command + ["--embed"] * embed, environment=path)[-1]
    try:
        printed = json.loads(last)
        value = float(printed[field])
    except (ValueError, KeyError, TypeError) as error:
        raise JobFailed(f"{options.peer} should print {field} as JSON, printed {last}") from error
    if not value > 0:
        raise JobFailed(f"{options.peer} printed {field} = {value}, which no machine has")
    return printed.get("peer", Path(str(options.peer)).stem).replace("/", "-"), value
