"""One screen about all reports: which of the paper's numbers are reached, which claims hold."""

import dataclasses
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from cade_tf import presets
from cade_tf.experiments import report
from cade_tf.experiments.cells import CLASSIFICATION
from cade_tf.experiments.declarations import EXPERIMENTS
from cade_tf.experiments.metrics import main_metrics
from cade_tf.files import atomic_write

NAME = "summary"
FILE = "README.md"
FLAT_TIME = 1.1
"""A time that grows by less than this factor counts as independent."""

OTHER_REPORTS = {
    "data": "data sets",
    "default": "what is trained by default: the rule, and what it is worth",
    "curve": "training curves, by which budgets were chosen",
    "bench": "speed and memory",
    "scale": "graphs larger than memory",
    "reliability": "attacks, mutants and a long run",
}

Results = dict[str, dict[str, Any]]
Entry = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Two numbers of which the paper says that the first is larger.

    Args:
        first: Its value, in percent or seconds; None where it was not run.
        second: As `first`.
        holds: Whether the claim holds for this pair.
        place: What is compared, for a reader.
    """

    first: float | None
    second: float | None
    holds: bool
    place: str


@dataclasses.dataclass(frozen=True)
class Claim:
    """A sentence of the paper that numbers can test.

    Args:
        text: The sentence.
        experiment: Whose results it is about.
        compare: From the entries of a block to what has to be compared.
    """

    text: str
    experiment: str
    compare: Callable[[list[Entry]], list[Comparison]]


def _score(entry: Entry | None) -> float | None:
    if entry is None or "scores" not in entry:
        return None
    probe, metric, _ = main_metrics(entry["task"])[0]
    return 100 * float(entry["scores"][probe][metric]["mean"])


def _pair(first: Entry | None, second: Entry | None, place: str) -> Comparison:
    a, b = _score(first), _score(second)
    return Comparison(a, b, a is not None and b is not None and a > b, place)


def _above(
    firsts: Iterable[str], second: str, dataset: str | None = None
) -> Callable[[list[Entry]], list[Comparison]]:
    """Each of some methods above another, in every column and with every aggregator."""
    firsts = tuple(firsts)

    def compare(entries: list[Entry]) -> list[Comparison]:
        chosen = [e for e in entries if dataset is None or e["dataset"] == dataset]
        others = {
            (e["column"], e["changes"].get("aggregator")): e
            for e in chosen
            if e["method"] == second
        }
        pairs = []
        for entry in chosen:
            if entry["method"] not in firsts:
                continue
            key = (entry["column"], entry["changes"].get("aggregator"))
            # A baseline has no aggregator and is compared with all.
            other = others.get(key) or others.get((entry["column"], None))
            if other is not None:
                place = f"{entry['row']} over {other['row']}, {entry['column']}"
                pairs.append(_pair(entry, other, place))
        return pairs

    return compare


def _at(entries: list[Entry], method: str, x: float) -> Entry | None:
    return next((e for e in entries if e["method"] == method and e["x"] == x), None)


def _narrow_above_wide(entries: list[Entry]) -> list[Comparison]:
    wide = _at(entries, "graphsage", 400)
    return [
        _pair(_at(entries, method, 50), wide, f"{method} with 50 dimensions")
        for method in ("cade_ms", "cade_ma")
    ]


def _best_at_five(entries: list[Entry]) -> list[Comparison]:
    five = _at(entries, "cade_ms", 5)
    others = [e for e in entries if e["method"] == "cade_ms" and e["x"] != 5]
    return [_pair(five, other, f"K = 5 over K = {other['x']}") for other in others]


def _flat_time(entries: list[Entry]) -> list[Comparison]:
    ends = [_at(entries, "cade_ma", k) for k in (20, 1)]
    seconds = [
        float(end["training_seconds"]["mean"]) if end and "scores" in end else None for end in ends
    ]
    many, one = seconds
    flat = many is not None and one is not None and many <= FLAT_TIME * one
    return [Comparison(many, one, flat, "seconds at K = 20 and at K = 1")]


_CADE = ("cade_ms", "cade_ma")
CLAIMS = (
    Claim("CADE is above GraphSAGE (Table 1)", "table1", _above(_CADE, "graphsage")),
    Claim("CADE-MA is above CADE-MS (Table 1)", "table1", _above(("cade_ma",), "cade_ms")),
    Claim("CADE is above RawFeats on Pubmed", "table1", _above(_CADE, "raw_features", "pubmed")),
    Claim(
        "RawFeats is best on BlogCatalog",
        "table1",
        lambda entries: [
            pair
            for method in ("graphsage", *_CADE)
            for pair in _above(("raw_features",), method, "blogcatalog")(entries)
        ],
    ),
    Claim(
        "CADE is above GraphSAGE with every aggregator (Table 2)",
        "table2",
        _above(_CADE, "graphsage"),
    ),
    Claim("CADE is above GraphSAGE in links (Table 3)", "table3", _above(_CADE, "graphsage")),
    Claim(
        "CADE-MS is above GraphSAGE with as many neighbours (Figure 4a)",
        "sampling",
        _above(("cade_ms",), "graphsage"),
    ),
    Claim(
        "The global bias alone helps (CADE-gb over GraphSAGE, Figure 4a)",
        "sampling",
        _above(("cade_gb",), "graphsage"),
    ),
    Claim(
        "CADE with 50 dimensions is above GraphSAGE with 400 (Figure 4b)",
        "dimensions",
        _narrow_above_wide,
    ),
    Claim("CADE-MS is best at K = 5 (Figure 5)", "k", _best_at_five),
    Claim("The time of CADE-MA does not depend on K (Figure 5)", "k", _flat_time),
)


def verdict(comparisons: list[Comparison]) -> str:
    """Holds, does not, or was not run; with the figures that decide.

    Example:

    >>> verdict([Comparison(84.0, 83.0, True, "A over B")])
    'holds: A over B 84.0 / 83.0'
    >>> verdict([Comparison(None, 83.0, False, "A over B")])
    'not run'
    """
    run = [c for c in comparisons if c.first is not None and c.second is not None]
    if not run:
        return "not run"
    failed = [c for c in run if not c.holds]
    missing = f"; {len(comparisons) - len(run)} not run" if len(run) < len(comparisons) else ""
    # The comparison that decides: the clearest failure, or the narrowest success.
    shown = min(failed or run, key=lambda c: (c.first or 0.0) - (c.second or 0.0))
    figure = f"{shown.place} {shown.first:.1f} / {shown.second:.1f}"
    if not failed:
        count = f" in {len(run)} of {len(run)}" if len(run) > 1 else ""
        return f"holds{count}: {figure}{missing}"
    if len(failed) == len(run):
        return f"**does not hold**: {figure}{missing}"
    return f"**does not hold** in {len(failed)} of {len(run)}: {figure}{missing}"


def render(results: Results, others: Iterable[str] = ()) -> str:
    """The page as Markdown.

    Args:
        results: Results by name of experiment.
        others: Names of reports that are no such experiments.
    """
    paper, recommended = (presets.TITLES[p] for p in presets.PRESETS)
    parts = [
        "# Reports",
        "Written by `cade reproduce summary` from the `results.json` of each report. Nodes are "
        "scored by micro-F1, by the probe `logreg` / `sgd`; links by AUC under the protocol "
        "`paper`, which is our guess at the paper's. PPI and subPPI have reconstructed labels.",
        "## Which of the paper's numbers are reached",
        "A cell of the paper is *reached* where our mean is at or above its number.",
        _reached_table(results),
        "## Which of the paper's claims hold",
        f"| claim | {paper} | {recommended} |\n|---|---|---|\n"
        + "\n".join(_claim_line(claim, results) for claim in CLAIMS),
        "## All reports",
    ]
    lines = [f"- [{results[n]['title']}]({n}/report.md)" for n in EXPERIMENTS if n in results]
    lines += [f"- [{n}]({n}/report.md): {OTHER_REPORTS[n]}" for n in OTHER_REPORTS if n in others]
    lines += [f"- {name}: not run" for name in EXPERIMENTS if name not in results]
    return "\n\n".join([*parts, "\n".join(lines)]) + "\n"


def _reached_table(results: Results) -> str:
    columns = [presets.TITLES[preset] for preset in presets.PRESETS]
    lines = [
        "| | cells of the paper | "
        + " | ".join(columns)
        + " | missed with both probes by the paper's method |"
    ]
    lines.append("|---" * (len(columns) + 3) + "|")
    for name in EXPERIMENTS:
        entries = results[name]["entries"] if name in results else []
        for method, title in (("graphsage", "GraphSAGE"), ("cade", "CADE")):
            mine = [
                e for e in entries if e["paper"] and e["preset"] and e["method"].startswith(method)
            ]
            if not mine:
                continue
            blocks = [[e for e in mine if e["preset"] == p] for p in presets.PRESETS]
            cells = [_reached(block) for block in blocks]
            lines.append(
                f"| [{name}]({name}/report.md), {title} | {len(blocks[0])} | "
                + " | ".join([*cells, _missed(blocks[0])])
                + " |"
            )
    return "\n".join(lines) if len(lines) > 2 else "No report of the paper's tables is here yet."


def _gaps(entry: Entry) -> list[float]:
    """Ours minus the paper's, in points: both probes of labels, or the paper's protocol."""
    gaps = []
    for probe, metric, _ in main_metrics(entry["task"]):
        if entry["task"] == CLASSIFICATION or probe == "paper":
            gaps.append(100 * entry["scores"][probe][metric]["mean"] - entry["paper"][metric])
    return gaps


def _reached(entries: list[Entry]) -> str:
    run = [entry for entry in entries if "scores" in entry]
    if not run:
        return "not run"
    gaps = [_gaps(entry) for entry in run]
    counts = [sum(gap >= 0 for gap in column) for column in zip(*gaps, strict=True)]
    missing = f", {len(entries) - len(run)} not run" if len(run) < len(entries) else ""
    return f"{' / '.join(map(str, counts))} of {len(run)}{missing}"


def _missed(entries: list[Entry]) -> str:
    missed = [
        f"{entry['row']} {entry['column']} by {-max(_gaps(entry)):.1f}"
        for entry in entries
        if "scores" in entry and max(_gaps(entry)) < 0
    ]
    return "; ".join(missed)


def _claim_line(claim: Claim, results: Results) -> str:
    entries = results[claim.experiment]["entries"] if claim.experiment in results else []
    cells = [
        verdict(claim.compare([e for e in entries if e["preset"] in (preset, None)]))
        for preset in presets.PRESETS
    ]
    return f"| {claim.text} | " + " | ".join(cells) + " |"


def write(folder: Path) -> Path:
    """Writes the page next to the reports that it is about.

    Args:
        folder: Folder with a folder for each report.

    Returns:
        Path of the page.
    """
    results = {
        name: report.read(folder / name)
        for name in EXPERIMENTS
        if (folder / name / report.RESULTS_FILE).is_file()
    }
    others = [name for name in OTHER_REPORTS if (folder / name / report.REPORT_FILE).is_file()]
    with atomic_write(folder / FILE) as file:
        file.write(render(results, others).encode())
    return folder / FILE
