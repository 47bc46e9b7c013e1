"""The results section of the README, generated from the committed reports."""

from pathlib import Path

from cade_tf.errors import InputError
from cade_tf.experiments import report
from cade_tf.experiments.metrics import METRICS, main_metrics
from cade_tf.experiments.report import RESULTS_FILE, score_table
from cade_tf.experiments.tables import EXPERIMENTS

BEGIN = "<!-- results:begin (written by cade reproduce readme) -->"
END = "<!-- results:end -->"


def section(reports: Path) -> str:
    """The main tables of every report, in the order of the paper; of a study of bars, the bars.

    Args:
        reports: Folder with one folder for each experiment.

    Returns:
        Markdown.
    """
    parts = []
    for name in EXPERIMENTS:
        folder = reports / name
        if not (folder / RESULTS_FILE).is_file():
            continue
        results = report.read(folder)
        parts.append(f"### {results['title']}")
        command = f"cade reproduce {name}" + (" --validating" if results["validating"] else "")
        where = f"[full report](runs/reports/{name}/report.md); `{command}`"
        if results["bars"]:
            parts += [
                f"![{p.stem}](runs/reports/{name}/{p.name})" for p in sorted(folder.glob("*.png"))
            ]
            data = "Validation data" if results["validating"] else "Test data"
            parts.append(f"{data}, {results['splits']} split(s); {where}.")
            continue
        tables = [
            (title, score_table(results, task, probe, metric))
            for task in METRICS
            for probe, metric, title in main_metrics(task, None)
        ]
        parts += [f"{title}:\n\n{table}" for title, table in tables if table]
        parts.append(
            f"Percent, {results['splits']} split(s), the paper's number in brackets; {where}."
        )
    return "\n\n".join(parts) or "No report has been committed yet."


def updated(text: str, reports: Path) -> str:
    """A README with its results section replaced.

    Args:
        text: The README, with both markers.
        reports: Folder of the reports.

    Raises:
        InputError: A marker is missing.
    """
    if BEGIN not in text or END not in text.split(BEGIN, 1)[1]:
        raise InputError("README.md", f"the lines {BEGIN} and {END}", "none", "Add them.")
    before, rest = text.split(BEGIN, 1)
    after = rest.split(END, 1)[1]
    return f"{before}{BEGIN}\n\n{section(reports)}\n\n{END}{after}"
