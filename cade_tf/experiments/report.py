"""Turns results into a report: two blocks next to the paper's numbers, tests, times, plots."""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

from cade_tf import presets
from cade_tf.errors import InputError
from cade_tf.experiments import paper, plots
from cade_tf.experiments.cells import load_graph
from cade_tf.experiments.declarations import METRICS, UNRANKED, labelled_title, main_metrics
from cade_tf.experiments.methods import method_of
from cade_tf.files import read_json, write_json, write_text

RESULTS_FILE = "results.json"
REPORT_FILE = "report.md"
NOTES_FILE = "notes.md"
"""What people have to say about the numbers; kept when the numbers are written again."""

BLOCKS = (None, *presets.PRESETS)
_DATA_COLUMNS = ("nodes", "edges", "classes", "features", "average degree")


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table as Markdown.

    Example:

    >>> print(markdown_table(["", "score"], [["CADE", "84.0"]]))
    | | score |
    |---|---|
    | CADE | 84.0 |
    """
    first = "".join(f"| {title} " if title else "| " for title in head) + "|"
    lines = [f"| {' | '.join(row)} |" for row in rows]
    return "\n".join([first, "|---" * len(head) + "|", *lines])


def write_page(path: Path, parts: Iterable[str]) -> Path:
    """Writes paragraphs, with a blank line between them.

    Returns:
        The path.
    """
    write_text(path, "\n\n".join(parts) + "\n")
    return path


def notes_of(folder: Path) -> list[str]:
    """The discussion that a notes.md holds, after a heading; nothing where there is none."""
    notes = folder / NOTES_FILE
    return ["## Discussion", notes.read_text().strip()] if notes.is_file() else []


def write(results: dict[str, Any], folder: Path) -> Path:
    """Writes results.json, the plots and report.md, which takes in a notes.md found there.

    Returns:
        Path of report.md.
    """
    write_json(folder / RESULTS_FILE, results)
    pictures = [path.name for path in plots.draw(results, folder)]
    return write_page(folder / REPORT_FILE, render(results, pictures, notes_of(folder)))


def write_data(folder: Path, data_dir: str | None = None) -> Path:
    """Writes the paper's table of data sets next to what the files hold.

    A data set that is not there is shown as such.

    Returns:
        Path of report.md.
    """
    rows, reasons = [], []
    for dataset, printed in paper.DATA.items():
        title = labelled_title(dataset)
        try:
            graph = load_graph(dataset, data_dir)
        except InputError:
            reasons.append(f"{title} is not available here; `cade data list` says where it is.")
            cells = [f"not available [{number:,}]" for number in printed]
        else:
            degree = 2 * graph.num_edges / graph.num_nodes
            found = (graph.num_nodes, graph.num_edges, graph.num_classes, graph.num_features)
            cells = [f"{a:,} [{b:,}]" for a, b in zip(found, printed, strict=False)]
            cells.append(f"{degree:.2f} [{printed[-1]:.2f}]")
        rows.append([title, *cells])
    parts = ["# Data sets", "Counted from the files; the paper's number in brackets."]
    parts += [markdown_table(["", *_DATA_COLUMNS], rows), *reasons, *notes_of(folder)[1:]]
    return write_page(folder / REPORT_FILE, parts)


def read(folder: Path) -> dict[str, Any]:
    """What the results.json of a report holds.

    Raises:
        InputError: There is none, or it is damaged.
    """
    path, remedy = folder / RESULTS_FILE, "Restore it from the repository."
    if not path.is_file():
        raise InputError(str(path), "a report's results", "no such file", "Run it first.")
    results = read_json(path, remedy)
    if "entries" not in results:
        raise InputError(str(path), "a report's entries", "none", remedy)
    return results


def render(
    results: dict[str, Any], pictures: Iterable[str] = (), discussion: Iterable[str] = ()
) -> list[str]:
    """The paragraphs of the report."""
    parts = [f"# {results['title']}", _preamble(results), *discussion]
    marks = _Marks(results)
    for task in METRICS:
        for place, (probe, metric, title) in enumerate(METRICS[task]):
            table = score_table(results, task, probe, metric, marks=marks, all_rows=not place)
            parts += _section(title, table)
    parts += _section("Marks", marks.legend())
    parts += _section("CADE against GraphSAGE, paired by split", _paired_tests(results))
    timed = [e for e in results["entries"] if e.get("step_milliseconds")]
    times = _grid(timed, lambda entry: spread_text(entry["step_milliseconds"], 1.0, 0))
    parts += _section("Processor milliseconds per training step", times)
    parts += _section("Options", _options(results))
    return parts + _section("Plots", "\n\n".join(f"![{name}]({name})" for name in pictures))


def _section(title: str, text: str) -> list[str]:
    return [f"## {title}", text] if text else []


class _Marks:
    """Letters next to cells that did not run, or that a reader should be warned of."""

    def __init__(self, results: dict[str, Any]) -> None:
        self.splits = results["splits"]
        self.texts: dict[str, str] = {}

    def of(self, entry: dict[str, Any]) -> str:
        """The marks of a cell, with a blank before them; empty for most."""
        texts = []
        if entry.get("warning"):
            texts.append(f"**collapsed**: {entry['warning']}")
        if "scores" not in entry:
            texts.append(f"not run: {entry['reason']}" if entry["reason"] else "not run yet")
        elif len(entry["cells"]) < len(self.splits):
            done = ", ".join(str(cell["split_seed"]) for cell in entry["cells"])
            reason = f"; {entry['reason']}" if entry["reason"] else ""
            texts.append(f"split {done} of {', '.join(map(str, self.splits))} only{reason}")
        return "".join(f" ({self._letter(text)})" for text in texts)

    def _letter(self, text: str) -> str:
        return self.texts.setdefault(text, chr(ord("a") + len(self.texts)))

    def legend(self) -> str:
        """What the letters mean."""
        return "\n".join(f"- ({letter}) {text}" for text, letter in self.texts.items())


def _preamble(results: dict[str, Any]) -> str:
    splits = results["splits"]
    commits = sorted(
        {str(c["commit"]) for e in results["entries"] for c in e.get("cells", ())} or {"none"}
    )
    lines = [
        f"Percent, mean ± sample standard deviation over split "
        f"{', '.join(map(str, splits))}; the paper's number in brackets; the best of a "
        "column in bold. *The paper's method* is `--preset=paper`, *recommended* is "
        "`--preset=recommended`; *Options* below lists what this experiment changes in them.",
        f"Written on {results['date']} with "
        + ", ".join(f"{name} {version}" for name, version in results["versions"].items())
        + f"; cells of commit {', '.join(commits)}.",
        "Options were chosen on validation data of splits from 100 on, which no report scores.",
    ]
    if results["quick"]:
        lines.insert(0, "**A quick run: few steps and one split. It shows that everything works.**")
    if results["validating"]:
        lines.insert(0, "**Scores of validation data, for choosing options.**")
    return "\n\n".join(lines)


def score_table(
    results: dict[str, Any],
    task: str,
    probe: str,
    metric: str,
    *,
    marks: _Marks | None = None,
    all_rows: bool = False,
) -> str:
    """A Markdown table of one metric; empty where no entry has it.

    Args:
        results: What `runner.run` gave.
        task: Task of the entries to show.
        probe: Probe or protocol.
        metric: Metric.
        marks: Letters next to cells.
        all_rows: Whether to show entries that did not run, too.
    """
    marks = marks or _Marks(results)
    mine = [entry for entry in results["entries"] if entry["task"] == task]

    def found(entry: dict[str, Any]) -> dict[str, Any] | None:
        score: dict[str, Any] | None = entry.get("scores", {}).get(probe, {}).get(metric)
        return score

    entries = [entry for entry in mine if found(entry) or (all_rows and "scores" not in entry)]
    if not all_rows and not any(map(found, mine)):
        return ""
    best: dict[str, float] = {}
    for entry in entries:
        score = found(entry)
        if score:
            best[entry["column"]] = max(score["mean"], best.get(entry["column"], -1.0))

    def shown(entry: dict[str, Any]) -> str:
        score = found(entry)
        printed = entry["paper"].get(metric)
        paper = "" if printed is None else f" [{printed:.2f}]"
        if score is None:
            return f"not run{paper}{marks.of(entry)}"
        is_best = score["mean"] == best[entry["column"]] and metric not in UNRANKED
        return spread_text(score, 100.0, 1, bold=is_best) + paper + marks.of(entry)

    return _grid(entries, shown)


def spread_text(score: dict[str, Any], factor: float, digits: int, bold: bool = False) -> str:
    """Mean and standard deviation of a `runner.summary`; the mean alone of one value."""
    text = f"{factor * score['mean']:.{digits}f}"
    if bold:
        text = f"**{text}**"
    if score["std"] is not None:
        text += f" ± {factor * score['std']:.{digits}f}"
    return text


def _grid(entries: list[dict[str, Any]], shown: Callable[[dict[str, Any]], str]) -> str:
    """Blocks of rows by columns, in the order in which they first appear."""
    if not entries:
        return ""
    columns = list(dict.fromkeys(entry["column"] for entry in entries))
    rows: list[list[str]] = []
    for block in BLOCKS:
        mine = [entry for entry in entries if entry["preset"] == block]
        if mine and block is not None:
            rows.append([f"*{presets.TITLES[block]}*" + " |" * len(columns)])
        texts = {(entry["row"], entry["column"]): shown(entry) for entry in mine}
        for row in dict.fromkeys(entry["row"] for entry in mine):
            rows.append([row, *(texts.get((row, column), "") for column in columns)])
    return markdown_table(["", *columns], rows)


def _paired_tests(results: dict[str, Any]) -> str:
    entries = [entry for entry in results["entries"] if "scores" in entry]
    places = {(e["preset"], e["row"], e["column"]): e for e in entries}
    rows = []
    for entry in entries:
        other = places.get((entry["preset"], entry["against"], entry["column"]))
        if other is None:
            continue
        for probe, metric, _ in main_metrics(entry["task"]):
            first, second = (e["scores"][probe][metric]["values"] for e in (entry, other))
            rows.append(
                [
                    entry["preset"],
                    entry["column"],
                    f"{entry['row']} - {other['row']}",
                    f"{probe} {metric}",
                    *paired_test(first, second),
                ]
            )
    head = ("preset", "", "", "score", "difference", "splits", "p, paired t", "p, Wilcoxon")
    return markdown_table(head, rows) if rows else ""


def paired_test(first: Sequence[float], second: Sequence[float]) -> tuple[str, str, str, str]:
    """Whether one method beats another: scores on the same splits, pair by pair.

    Args:
        first: Scores of the one method, by split.
        second: Scores of the other; splits beyond the shorter list are left out.

    Returns:
        Mean difference in points, number of pairs, two-sided p-values of the paired t test and of
        Wilcoxon's signed-rank test, which cannot fall below 0.05 with fewer than six pairs; empty
        where they are undefined.

    Example:

    >>> paired_test([0.8, 0.9, 0.85], [0.7, 0.8, 0.77])
    ('+9.33', '3', '0.005', '0.250')
    """
    pairs = min(len(first), len(second))
    differences = np.asarray(first[:pairs], float) - np.asarray(second[:pairs], float)
    t_p = wilcoxon_p = ""
    if pairs > 1 and np.ptp(differences) > 0.0:
        t_p = f"{stats.ttest_1samp(differences, 0.0).pvalue:.3f}"
        wilcoxon_p = f"{stats.wilcoxon(differences, method='exact').pvalue:.3f}"
    return f"{100 * differences.mean():+.2f}", str(pairs), t_p, wilcoxon_p


def _options(results: dict[str, Any]) -> str:
    """What each row changes in its preset, and what a baseline has in place of one."""
    places: dict[str, dict[str, list[str]]] = {}
    for entry in results["entries"]:
        rows = places.setdefault(_options_of(entry), {})
        rows.setdefault(entry["row"], []).append(entry["column"])
    lines = []
    for options, rows in places.items():
        # Rows that have the same options in the same columns share a line.
        by_columns: dict[str, list[str]] = {}
        for row, columns in rows.items():
            by_columns.setdefault("; ".join(columns), []).append(row)
        where = [f"{', '.join(names)} ({columns})" for columns, names in by_columns.items()]
        lines.append(f"- {options}: {' and '.join(where)}")
    if results["quick"]:
        lines.append("- All trained rows: at most 40 steps and 2 walks in Algorithm 1 (`--quick`)")
    return "\n".join(lines)


def _options_of(entry: dict[str, Any]) -> str:
    preset = entry["preset"]
    changes = entry["changes"] if preset else method_of(entry["method"]).options
    shown = " ".join(f"`--{name}={_text(value)}`" for name, value in changes.items())
    if preset is None:
        return shown or "no options"
    return f"`--preset={preset}`" + (f" with {shown}" if shown else ", nothing changed")


def _text(value: Any) -> str:
    return ",".join(map(str, value)) if isinstance(value, (list, tuple)) else str(value)
