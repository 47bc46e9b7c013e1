"""Turns results into a report: tables beside the paper's numbers, tests, plots."""

import json
from pathlib import Path
from typing import Any

from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.experiments import plots
from cade_tf.experiments.metrics import METRICS, UNRANKED, main_metrics
from cade_tf.experiments.single_run import write_json
from cade_tf.experiments.statistics import paired_test
from cade_tf.files import atomic_write

RESULTS_FILE = "results.json"
REPORT_FILE = "report.md"
NOTES_FILE = "notes.md"
"""What people have to say about the numbers, beside them and kept when they are written anew."""


def write(results: dict[str, Any], folder: Path) -> Path:
    """Writes results.json, the plots and report.md, which takes in a notes.md found there.

    Args:
        results: What `runner.run` gave.
        folder: Folder of the report.

    Returns:
        Path of report.md.
    """
    write_json(folder / RESULTS_FILE, results)
    pictures = [path.name for path in plots.draw(results, folder)]
    notes = folder / NOTES_FILE
    discussion = notes.read_text().strip() if notes.is_file() else ""
    with atomic_write(folder / REPORT_FILE) as file:
        file.write(render(results, pictures, discussion).encode())
    return folder / REPORT_FILE


def read(folder: Path) -> dict[str, Any]:
    """What the results.json of a report holds.

    Args:
        folder: Folder of the report.

    Raises:
        InputError: There is none, or it is damaged.
    """
    path = folder / RESULTS_FILE
    try:
        results: dict[str, Any] = json.loads(path.read_text())
    except FileNotFoundError:
        raise InputError(str(path), "a report's results", "no such file", "Run it first.") from None
    except ValueError as error:
        raise InputError(str(path), "JSON", error, "Restore it from the repository.") from None
    if not isinstance(results, dict) or "entries" not in results:
        raise InputError(str(path), "a report's entries", "none", "Restore it from the repository.")
    return results


def render(results: dict[str, Any], pictures: list[str], discussion: str = "") -> str:
    """The report as Markdown.

    Args:
        results: What `runner.run` gave.
        pictures: Names of the plots.
        discussion: What is said about them.
    """
    parts = [f"# {results['title']}", _preamble(results)]
    if discussion:
        parts += ["## Discussion", discussion]
    for task in METRICS:
        for probe, metric, title in METRICS[task]:
            table = score_table(results, task, probe, metric)
            if table:
                parts += [f"## {title}", table]
    tests = _paired_tests(results)
    if tests:
        title = "Against the recipe" if results["bars"] else "CADE against GraphSAGE"
        parts += [f"## {title}, paired by split", tests]
    if results["timed"]:
        parts += ["## Seconds of training", _time_table(results)]
    if pictures:
        parts += ["## Plots", *(f"![{name}]({name})" for name in pictures)]
    missing = _missing(results)
    if missing:
        parts += ["## Not available", missing]
    recipes = _recipes(results)
    if recipes:
        parts += ["## Recipes", recipes]
    return "\n\n".join(parts) + "\n"


def _preamble(results: dict[str, Any]) -> str:
    splits = results["splits"]
    lines = [
        f"Percent, mean ± sample standard deviation over {splits} "
        f"{'split' if splits == 1 else 'splits'}; the paper's number in brackets; the best of a "
        "column in bold.",
        f"Written on {results['date']} at commit {results['commit']} with "
        + ", ".join(f"{name} {version}" for name, version in results["versions"].items())
        + ".",
    ]
    if results["quick"]:
        lines.insert(0, "**A quick run: few steps and one split. It shows that everything works.**")
    replaced = dict.fromkeys(e["dataset"] for e in results["entries"] if e.get("instead"))
    if replaced:
        lines.append(
            f"Without labels ({', '.join(replaced)}) the study is done by link prediction instead, "
            "with 10 % of the edges hidden."
        )
    if results["validating"]:
        lines.insert(0, "**Scores of validation data, for choosing a recipe.**")
    return "\n\n".join(lines)


def score_table(results: dict[str, Any], task: str, probe: str, metric: str) -> str:
    """A Markdown table of one metric; empty where no entry has it.

    Args:
        results: What `runner.run` gave.
        task: Task of the entries to show.
        probe: Probe or protocol.
        metric: Metric.
    """
    entries = [e for e in results["entries"] if e.get("task") == task and probe in e["scores"]]
    entries = [e for e in entries if metric in e["scores"][probe]]
    best: dict[str, float] = {}
    for entry in entries:
        mean = entry["scores"][probe][metric]["mean"]
        best[entry["column"]] = max(mean, best.get(entry["column"], -1.0))

    def shown(entry: dict[str, Any]) -> str:
        score = entry["scores"][probe][metric]
        text = f"{100 * score['mean']:.1f}"
        if score["mean"] == best[entry["column"]] and metric not in UNRANKED:
            text = f"**{text}**"
        if score["std"] is not None:
            text += f" ± {100 * score['std']:.1f}"
        if len(score["values"]) < results["splits"]:
            text += f" ({len(score['values'])} of {results['splits']} splits)"
        printed = entry["paper"].get(metric)
        return text if printed is None else f"{text} [{printed:.2f}]"

    return _grid(entries, shown)


def _grid(entries: list[dict[str, Any]], shown: Any) -> str:
    """Rows by columns, in the order in which they first appear."""
    if not entries:
        return ""
    rows = list(dict.fromkeys(entry["row"] for entry in entries))
    columns = list(dict.fromkeys(entry["column"] for entry in entries))
    texts = {(entry["row"], entry["column"]): shown(entry) for entry in entries}
    lines = ["| | " + " | ".join(columns) + " |", "|---" * (len(columns) + 1) + "|"]
    for row in rows:
        values = [texts.get((row, column), "") for column in columns]
        lines.append(f"| {row} | " + " | ".join(values) + " |")
    return "\n".join(lines)


def _time_table(results: dict[str, Any]) -> str:
    entries = [entry for entry in results["entries"] if "scores" in entry]
    return _grid(entries, lambda entry: f"{entry['training_seconds']['mean']:.1f}")


def _paired_tests(results: dict[str, Any]) -> str:
    entries = [entry for entry in results["entries"] if "scores" in entry]
    places = {(e["row"], e["column"], e["task"]): e for e in entries}
    lines = []
    for entry in entries:
        other = places.get((entry["against"], entry["column"], entry["task"]))
        if other is None:
            continue
        for probe, metric, _ in main_metrics(entry["task"], results["bars"]):
            test = paired_test(
                entry["scores"][probe][metric]["values"], other["scores"][probe][metric]["values"]
            )
            p_values = ["" if p is None else f"{p:.3f}" for p in (test.t_p, test.wilcoxon_p)]
            lines.append(
                f"| {entry['column']} | {entry['row']} - {other['row']} | {probe} {metric} | "
                f"{100 * test.difference:+.2f} | {test.pairs} | {p_values[0]} | {p_values[1]} |"
            )
    if not lines:
        return ""
    head = ["| | | score | difference | splits | p, paired t | p, Wilcoxon |", "|---" * 7 + "|"]
    return "\n".join(head + lines)


def _missing(results: dict[str, Any]) -> str:
    places: dict[str, list[str]] = {}
    for entry in results["entries"]:
        if entry.get("reason"):
            places.setdefault(entry["reason"], []).append(f"{entry['column']} {entry['row']}")
    return "\n".join(f"- {', '.join(where)}: {reason}" for reason, where in places.items())


def _recipes(results: dict[str, Any]) -> str:
    """Options of each row that differ from the defaults, read off the first cell."""
    defaults = Config()
    lines: dict[str, None] = {}
    for entry in results["entries"]:
        if "scores" not in entry:
            continue
        flags = entry["cells"][0]["flags"]
        changed = []
        for name, value in flags.items():
            default = getattr(defaults, name)
            plain = list(default) if isinstance(default, tuple) else default
            value = list(value) if isinstance(value, (list, tuple)) else value
            if value != plain and name != "seed" and name not in entry["changes"]:
                text = ",".join(map(str, value)) if isinstance(value, list) else value
                changed.append(f"`--{name}={text}`")
        shown = " ".join(changed) or "the defaults"
        lines[f"- {entry['dataset']}, {entry['row']}: {shown}"] = None
    return "\n".join(lines)
