"""From lines of JSON to a report: targets, tables, a plot."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from cade_tf.benchmark.measure import Measurement
from cade_tf.benchmark.plot import draw
from cade_tf.benchmark.suite import Results
from cade_tf.benchmark.targets import measured
from cade_tf.errors import InputError
from cade_tf.files import atomic_write

RESULTS_FILE = "results.jsonl"
REPORT_FILE = "report.md"
PLOT_FILE = "bench.png"

GROUPS = {
    "train": "Training",
    "literal": "The paper's algorithms tree by tree, against the fast path",
    "embed": "Embedding all nodes",
    "peer": "Against the peer, in turn",
    "growth": "A growing graph",
    "reddit_size": "A graph of Reddit's size",
    "walks": "Walks",
    "load": "Loading",
    "startup": "Start of a process",
}


def write_lines(header: dict[str, Any], results: Results, folder: Path) -> None:
    """Writes results.jsonl: a line about the machine, one for each measurement and failure."""
    records = [header, *(one.record() for one in results.measurements)]
    records += [{"failed": title, "reason": why} for title, why in results.failures.items()]
    with atomic_write(folder / RESULTS_FILE) as file:
        file.write("".join(json.dumps(record) + "\n" for record in records).encode())


def read_lines(folder: Path) -> tuple[dict[str, Any], Results]:
    """Reads what `write_lines` wrote.

    Raises:
        InputError: The file is missing or damaged.
    """
    try:
        header, *records = map(json.loads, (folder / RESULTS_FILE).read_text().splitlines())
        failures = {r["failed"]: r["reason"] for r in records if "failed" in r}
        found = [Measurement.from_record(r) for r in records if "failed" not in r]
    except (OSError, ValueError, KeyError) as error:
        raise InputError(
            str(folder / RESULTS_FILE), "lines of JSON", error, "Run cade bench again."
        ) from error
    return header, Results(found, failures)


def write_report(folder: Path) -> Path:
    """Makes the plot and report.md of the folder's results.jsonl.

    Returns:
        Path of report.md.
    """
    header, results = read_lines(folder)
    draw(results.measurements, header["options"]["k"], folder / PLOT_FILE)
    with atomic_write(folder / REPORT_FILE) as file:
        file.write(render(header, results).encode())
    return folder / REPORT_FILE


def render(header: dict[str, Any], results: Results) -> str:
    """The report as Markdown."""
    parts = ["# Benchmark", _preamble(header), "## Targets", _target_table(header, results)]
    parts += [f"![times better than the target, and step times]({PLOT_FILE})"]
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
        "embedding (sampled), in the first call of the embedding against the peer, and in the "
        "start of a process. What is compared was run in turn, round by round; a ratio is the "
        "median of the rounds' ratios. Peak memory is that of a process of its own.",
        f"Data: {options['dataset'] or options['graph']}; batch {options['batch_size']}, fan-outs "
        f"{fanouts}, {options['dim']} dimensions, Q = {options['negatives']}, float32, "
        f"{'dense' if options['densify_features'] else 'as loaded'} features.",
        f"Machine: {machine['processor']}, {machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"{machine['system']}; load before the run {machine['load_before']}. Written on "
        f"{machine['date']} at commit {machine['commit']} with {versions}.",
    ]
    if options["quick"]:
        lines.insert(0, "**A quick run of tiny models. It shows that everything works.**")
    return "\n\n".join(lines)


def _target_table(header: dict[str, Any], results: Results) -> str:
    by_name = {one.name: one for one in results.measurements}
    lines = ["| what | target | measured | |", "|---|---|---|---|"]
    for target, one in measured(header["options"]["k"], by_name):
        sense = "at least" if target.at_least else "at most"
        if one is None:
            shown, verdict = "not measured", ""
        else:
            shown = _cell(one)
            verdict = "met" if target.met(one.median) else "**missed**"
        if header["options"]["quick"]:
            # The targets are those of the full sizes.
            verdict = ""
        bound = f"{sense} {format_value(target.bound, target.unit)}"
        lines.append(f"| {target.title} | {bound} | {shown} | {verdict} |")
    return "\n".join(lines)


def _grid(found: Iterable[Measurement]) -> str:
    """Rows by what was measured, columns by quantity, both in order of first appearance."""
    cells: dict[tuple[str, str], str] = {}
    for one in found:
        _, *path, column = one.name.split("/")
        cells[", ".join(path), column.replace("_", " ")] = _cell(one)
    rows = list(dict.fromkeys(row for row, _ in cells))
    columns = list(dict.fromkeys(column for _, column in cells))
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for row in rows:
        values = [cells.get((row, column), "") for column in columns]
        lines.append(f"| {row} | " + " | ".join(values) + " |")
    return "\n".join(lines)


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
    return 1.0, 2 if unit == "s" else 1 if value < 100 else 0, f" {unit}"
