"""One screen about all reports: which of the paper's numbers are reached, which claims hold."""

import itertools
import statistics
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from cade_tf import presets
from cade_tf.experiments import report
from cade_tf.experiments.cells import CLASSIFICATION
from cade_tf.experiments.declarations import (
    EXPERIMENTS,
    FULL_PASS,
    UNDIVIDED_TITLE,
    main_metrics,
)
from cade_tf.experiments.methods import METHODS

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

_FAMILIES = {"graphsage": "GraphSAGE", "cade": "CADE"}
_BLOCKS = [presets.TITLES[preset] for preset in presets.PRESETS]
Results = dict[str, dict[str, Any]]
Entry = dict[str, Any]


class Comparison(NamedTuple):
    """Two numbers of which the paper says that the first is larger.

    Attributes:
        first: Its value, in percent or milliseconds; None where it was not run.
        second: As `first`.
        holds: Whether the claim holds for this pair.
        place: What is compared, for a reader.
    """

    first: float | None
    second: float | None
    holds: bool
    place: str


class Claim(NamedTuple):
    """A sentence of the paper, and from the entries of an experiment's block to what tests it."""

    text: str
    experiment: str
    compare: Callable[[list[Entry]], list[Comparison]]


def _scores(entry: Entry | None) -> dict[int, float]:
    """Its main score by split, in percent; empty where it was not run."""
    if entry is None or "scores" not in entry:
        return {}
    probe, metric, _ = main_metrics(entry["task"])[0]
    values = entry["scores"][probe][metric]["values"]
    splits = [cell["split_seed"] for cell in entry["cells"]]
    return {split: 100 * value for split, value in zip(splits, values, strict=True)}


def _pair(first: Entry | None, second: Entry | None, place: str) -> Comparison:
    """Means over the splits that both have: other splits would compare other nodes."""
    mine, others = _scores(first), _scores(second)
    common = sorted(mine.keys() & others.keys())
    if not common:
        return Comparison(None, None, False, place)
    a, b = (statistics.fmean(scores[split] for split in common) for scores in (mine, others))
    return Comparison(a, b, a > b, place)


def _setting(entry: Entry) -> tuple[str | None, bool]:
    """What two entries must have in common to be compared: aggregator, and the whole pass."""
    return entry["changes"].get("aggregator"), entry["row"].endswith(FULL_PASS)


def _above(
    firsts: Sequence[str], seconds: Sequence[str], dataset: str | None = None
) -> Callable[[list[Entry]], list[Comparison]]:
    """Each of some methods above each of others, in every column and with every aggregator."""

    def compare(entries: list[Entry]) -> list[Comparison]:
        chosen = [e for e in entries if dataset is None or e["dataset"] == dataset]
        pairs = []
        for second, entry in itertools.product(seconds, chosen):
            others = {
                _setting(e): e
                for e in chosen
                if e["method"] == second and e["column"] == entry["column"]
            }
            # A baseline has neither aggregator nor budget and is compared with all.
            aggregator, full = _setting(entry)
            settings = ((aggregator, full), (aggregator, False), (None, False))
            other = next((others[setting] for setting in settings if setting in others), None)
            if entry["method"] in firsts and other is not None:
                place = f"{entry['row']} over {other['row']}, {entry['column']}"
                pairs.append(_pair(entry, other, place))
        return pairs

    return compare


def _at(entries: list[Entry], method: str, x: float) -> Entry | None:
    return next((e for e in entries if e["method"] == method and e["x"] == x), None)


def _narrow_above_wide(entries: list[Entry]) -> list[Comparison]:
    wide = _at(entries, "graphsage", 400)
    return [
        _pair(_at(entries, method, 50), wide, f"{METHODS[method].title} with 50 dimensions")
        for method in ("cade_ms", "cade_ma")
    ]


def _best_at_five(entries: list[Entry]) -> list[Comparison]:
    five = _at(entries, "cade_ms", 5)
    others = [e for e in entries if e["method"] == "cade_ms" and e["x"] != 5]
    return [_pair(five, other, f"K = 5 over K = {other['x']}") for other in others]


def _flat_time(entries: list[Entry]) -> list[Comparison]:
    ends = [_at(entries, "cade_ma", k) for k in (20, 1)]
    many, one = (
        float(end["step_milliseconds"]["mean"]) if end and end.get("step_milliseconds") else None
        for end in ends
    )
    flat = many is not None and one is not None and many <= FLAT_TIME * one
    return [Comparison(many, one, flat, "milliseconds per step at K = 20 and at K = 1")]


_MS, _MA, _CADE, _SAGE = ("cade_ms",), ("cade_ma",), ("cade_ms", "cade_ma"), ("graphsage",)
_RAW = ("raw_features",)
CLAIMS = (
    Claim("CADE is above GraphSAGE (Table 1)", "table1", _above(_CADE, _SAGE)),
    Claim("CADE-MA is above CADE-MS (Table 1)", "table1", _above(_MA, _MS)),
    Claim("CADE is above RawFeats on Pubmed", "table1", _above(_CADE, _RAW, "pubmed")),
    Claim(
        "RawFeats is best on BlogCatalog", "table1", _above(_RAW, (*_SAGE, *_CADE), "blogcatalog")
    ),
    Claim(
        "CADE is above GraphSAGE with every aggregator (Table 2)", "table2", _above(_CADE, _SAGE)
    ),
    Claim("CADE is above GraphSAGE in links (Table 3)", "table3", _above(_CADE, _SAGE)),
    Claim(
        "CADE-MS is above GraphSAGE with as many neighbours (Figure 4a)",
        "sampling",
        _above(_MS, _SAGE),
    ),
    Claim(
        "The global bias alone helps (CADE-gb over GraphSAGE, Figure 4a)",
        "sampling",
        _above(("cade_gb",), _SAGE),
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


def render(results: Results, others: Iterable[str] = ()) -> list[str]:
    """The paragraphs of the page.

    Args:
        results: Results by name of experiment.
        others: Names of reports that are no such experiments.
    """
    claims = [[claim.text, *_verdicts(claim, results)] for claim in CLAIMS]
    parts = [
        "# Reports",
        "Written by `cade reproduce summary` from the `results.json` of each report. Nodes are "
        "scored by micro-F1, by the probe `logreg` / `sgd`; links by AUC under the protocol "
        "`paper`, which is our guess at the paper's. PPI and subPPI have reconstructed labels.",
        "## Which of the paper's numbers are reached",
        "A cell of the paper is *reached* where our mean is at or above its number.",
        _reached_table(results),
        "## Which of the paper's claims hold",
        report.markdown_table(["claim", *_BLOCKS], claims),
        "## All reports",
    ]
    lines = [f"- [{results[n]['title']}]({n}/report.md)" for n in EXPERIMENTS if n in results]
    lines += [f"- [{n}]({n}/report.md): {OTHER_REPORTS[n]}" for n in OTHER_REPORTS if n in others]
    lines += [f"- {name}: not run" for name in EXPERIMENTS if name not in results]
    return [*parts, "\n".join(lines)]


def _reached_table(results: Results) -> str:
    rows = []
    for name in (name for name in EXPERIMENTS if name in results):
        for (method, title), full in itertools.product(_FAMILIES.items(), (False, True)):
            mine = [
                e
                for e in results[name]["entries"]
                if e["paper"] and e["preset"] and e["method"].startswith(method)
                if e["row"].endswith(FULL_PASS) == full
            ]
            blocks = [[e for e in mine if e["preset"] == p] for p in presets.PRESETS]
            if mine:
                link = f"[{name}]({name}/report.md), {title}{FULL_PASS * full}"
                cells = ["" if full and not block else _reached(block) for block in blocks]
                rows.append([link, str(len(blocks[0])), *cells, _missed(blocks[0])])
    missed = "missed with both probes by the paper's method"
    head = ["", "cells of the paper", *_BLOCKS, missed]
    empty = "No report of the paper's tables is here yet."
    return report.markdown_table(head, rows) if rows else empty


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


def _verdicts(claim: Claim, results: Results) -> list[str]:
    entries = results[claim.experiment]["entries"] if claim.experiment in results else []
    # Rows that stand there for comparison are nobody's claim.
    entries = [e for e in entries if not e["row"].startswith(UNDIVIDED_TITLE)]
    return [
        verdict(claim.compare([e for e in entries if e["preset"] in (preset, None)]))
        for preset in presets.PRESETS
    ]


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
    return report.write_page(folder / FILE, render(results, others))
