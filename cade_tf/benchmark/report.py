"""The report: the machine, targets, tables; and every value as a line of JSON."""

import datetime
import json
import os
import platform
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

from cade_tf import machine
from cade_tf.benchmark.measure import Measurement
from cade_tf.benchmark.suite import Results
from cade_tf.experiments.cells import commit
from cade_tf.experiments.report import markdown_table
from cade_tf.experiments.single_run import versions
from cade_tf.files import write_text

RESULTS_FILE = "results.jsonl"
REPORT_FILE = "report.md"

GROUPS = {
    "train": "Training",
    "literal": "The paper's algorithms tree by tree, against the fast path",
    "embed": "Embedding all nodes",
    "peer": "Against the peer, in turn",
    "end_to_end": "From files to embeddings.npy",
    "sizes": "Large graphs",
    "startup": "Start of a process",
}


class Target(NamedTuple):
    """A bound of one measurement, for two cores, Pubmed and the default options.

    Attributes:
        title: What is bounded.
        measurement: Name of the measurement.
        bound: The bound, in its unit.
        unit: Unit of both; `x` for a ratio.
        at_least: Whether it is a lower bound; otherwise an upper one.
    """

    title: str
    measurement: str
    bound: float
    unit: str = "x"
    at_least: bool = False

    def met(self, value: float) -> bool:
        """Whether a value keeps the bound."""
        return value >= self.bound if self.at_least else value <= self.bound


def _share(title: str, place: str) -> Target:
    return Target(
        f"arithmetic share, {title}", f"train/{place}/arithmetic_share", 0.75, at_least=True
    )


def _step(title: str, place: str, seconds: float) -> Target:
    return Target(f"step, {title}", f"train/{place}/step", seconds, "s")


def _embedding(title: str, column: str) -> Target:
    name = f"embed/cade_ms-k10/{column}"
    return Target(f"Algorithm 1, CADE-MS, {title}", name, 25_500.0, "nodes/s", at_least=True)


TARGETS = (
    Target("GraphSAGE training, ours / peer", "peer/train/ours_over_peer", 2.0, at_least=True),
    Target("GraphSAGE embedding, ours / peer", "peer/embed/ours_over_peer", 3.0, at_least=True),
    _share("CADE-MS, mean", "cade_ms-k10/mean"),
    _share("GraphSAGE, pool", "graphsage/pool"),
    _share("GraphSAGE, LSTM", "graphsage/lstm"),
    _step("CADE-MS, pool", "cade_ms-k10/pool", 0.56),
    _step("CADE-MA, pool", "cade_ma-k10/pool", 1.01),
    _step("CADE-MS, LSTM", "cade_ms-k10/lstm", 1.60),
    _step("CADE-MA, LSTM", "cade_ma-k10/lstm", 2.33),
    Target("peak memory, CADE-MA, LSTM", "train/cade_ma-k10/lstm/peak_memory", 3072.0, "MiB"),
    _embedding("one walk", "sampled"),
    _embedding("each of 40 walks", "of_40_walks"),
    Target("GraphSAGE, literal / fast path", "literal/graphsage/speedup", 10.0, at_least=True),
    Target("CADE-MS, literal / fast path", "literal/cade_ms-k10/speedup", 10.0, at_least=True),
    Target("CADE-MA, literal / fast path", "literal/cade_ma-k10/speedup", 10.0, at_least=True),
    Target("start and first step of the quickstart", "startup/quickstart/first_step", 6.0, "s"),
    Target(
        "CADE-MS, step, 2,000,000 / 20,000 nodes",
        "sizes/2,000,000 nodes/over_20,000_nodes",
        2.0,
    ),
    Target("peak memory, CADE-MS, Reddit's size", "sizes/Reddit's size/peak_memory", 8192.0, "MiB"),
)
"""What the implementation promises. Times are half of those before distinct rows were shared."""


def describe_machine() -> dict[str, Any]:
    """Processor, GPU, cores, memory, load, versions, commit and date."""
    import tensorflow as tf

    details = tf.config.experimental.get_device_details
    gpus = [details(gpu)["device_name"] for gpu in tf.config.list_physical_devices("GPU")]
    cpuinfo = Path("/proc/cpuinfo")
    lines = cpuinfo.read_text().splitlines() if cpuinfo.is_file() else []
    named = [line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")]
    affinity = getattr(os, "sched_getaffinity", None)
    return {
        "processor": ", ".join([*named[:1], *gpus]) or platform.processor() or "unknown",
        "cores": len(affinity(0)) if affinity else os.cpu_count(),
        "memory_gib": round(machine.memory_bytes() / 2**30, 1),
        # Other work on the machine would explain bad numbers.
        "load_before": round(os.getloadavg()[0], 2),
        "system": f"{platform.system()} {platform.machine()}",
        "versions": versions(),
        "commit": commit(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
    }


def write(header: dict[str, Any], results: Results, folder: Path) -> Path:
    """Writes results.jsonl and report.md, whose path it returns.

    The lines of the former: one about the machine, one for each measurement and failure.
    """
    records = [header, *(one.record() for one in results.measurements)]
    records += [{"failed": title, "reason": why} for title, why in results.failures.items()]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    write_text(folder / RESULTS_FILE, lines)
    write_text(folder / REPORT_FILE, render(header, results))
    return folder / REPORT_FILE


def render(header: dict[str, Any], results: Results) -> str:
    """The report as Markdown."""
    parts = ["# Benchmark", _preamble(header)]
    # The targets are those of the full sizes.
    targets = [] if header["options"]["quick"] else _target_rows(results)
    if targets:
        parts += ["## Targets", markdown_table(["what", "target", "measured", ""], targets)]
    for group, title in GROUPS.items():
        found = [one for one in results.measurements if one.name.split("/")[0] == group]
        if found:
            parts += [f"## {title}", _grid(found)]
    if results.failures:
        parts += ["## Failed", *(f"- {title}: {why}" for title, why in results.failures.items())]
    return "\n\n".join(parts) + "\n"


def _preamble(header: dict[str, Any]) -> str:
    machine, options = header["machine"], header["options"]
    versions = ", ".join(f"{name} {version}" for name, version in machine["versions"].items())
    fanouts = ",".join(map(str, options["fanouts"]))
    lines = [
        "Medians, quartiles in brackets. Warm-up and compilation are not counted, except in "
        "embedding (sampled), in the first call of the embedding against the peer, in whole runs "
        "and in the start of a process. What is compared was run in turn, round by round; a ratio "
        "is the median of the rounds' ratios. Peak memory is that of a process of its own.",
        f"Data: {options['dataset'] or options['graph']}; batch {options['batch_size']}, fan-outs "
        f"{fanouts}, {options['dim']} dimensions, K = {options['k']}, Q = {options['negatives']}, "
        f"{options['precision']}, dense features, device {options['device']}. Whole runs have the "
        "options of the recommended preset and one pass of Algorithm 1.",
        f"Machine: {machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"{machine['system']}; load before the run {machine['load_before']}. Written on "
        f"{machine['date']} at commit {machine['commit']} with {versions}.",
    ]
    if options["quick"]:
        lines.insert(0, "**A quick run of tiny models. It shows that everything works.**")
    return "\n\n".join(lines)


def _target_rows(results: Results) -> list[list[str]]:
    by_name = {one.name: one for one in results.measurements}
    rows = []
    for target in TARGETS:
        if target.measurement in by_name:
            one = by_name[target.measurement]
            bound = "at least" if target.at_least else "at most"
            bound = f"{bound} {format_value(target.bound, target.unit)}"
            verdict = "met" if target.met(one.median) else "**missed**"
            rows.append([target.title, bound, _cell(one), verdict])
    return rows


def _grid(found: Iterable[Measurement]) -> str:
    """Rows by what was measured, columns by quantity, both in order of first appearance."""
    cells: dict[tuple[str, str], str] = {}
    for one in found:
        _, *path, column = one.name.split("/")
        cells[", ".join(path), column.replace("_", " ")] = _cell(one)
    rows = list(dict.fromkeys(row for row, _ in cells))
    columns = list(dict.fromkeys(column for _, column in cells))
    table = [[row, *(cells.get((row, column), "") for column in columns)] for row in rows]
    return markdown_table(["", *columns], table)


def _cell(one: Measurement) -> str:
    text = format_value(one.median, one.unit)
    if len(one.values) == 1:
        return text
    factor, digits, _ = _scale(one.median, one.unit)
    low, high = (f"{factor * value:,.{digits}f}" for value in one.spread)
    return f"{text} [{low}, {high}]"


def format_value(value: float, unit: str) -> str:
    """A number with its unit, as short as it is still telling.

    Example:

    >>> format_value(0.0123, "s"), format_value(1536.0, "MiB"), format_value(2.0, "x")
    ('12.3 ms', '1,536 MiB', '2.00')
    """
    factor, digits, shown = _scale(value, unit)
    return f"{factor * value:,.{digits}f}{shown}"


def _scale(value: float, unit: str) -> tuple[float, int, str]:
    """Factor, decimals and suffix by which values near this one are shown."""
    if unit == "x":
        return 1.0, 2, ""
    if unit == "s" and value < 1:
        return 1000.0, 1 if value < 0.1 else 0, " ms"
    if unit == "steps":
        return 1.0, 0, ""
    return 1.0, 2 if unit == "s" else 1 if value < 100 else 0, f" {unit}"
