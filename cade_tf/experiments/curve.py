"""The training curve: score against step on validation nodes, which says what budget is enough.

A curve is one run of a model. Its points are written as they come, a line of JSON each, and its
run directory holds checkpoints, so that a curve that is stopped goes on.
"""

import dataclasses
import itertools
import json
import shutil
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf
from scipy.special import softmax

from cade_tf.config import MODELS, Config
from cade_tf.evaluation import classification
from cade_tf.experiments.cells import commit, load_graph, part_of
from cade_tf.experiments.declarations import FIXED_SPLIT, UNDIVIDED, labelled_title
from cade_tf.experiments.methods import METHODS
from cade_tf.experiments.plots import axes_of
from cade_tf.experiments.report import REPORT_FILE, markdown_table, notes_of, write_page
from cade_tf.experiments.runner import VALIDATION_SEED
from cade_tf.experiments.single_run import versions
from cade_tf.graph.graph import Graph
from cade_tf.graph.splits import node_split
from cade_tf.inference.on_demand import neighbor_key
from cade_tf.inference.whole_pass import WholePass, gather_candidates
from cade_tf.training.metrics import rank_me
from cade_tf.training.trainer import train_graph

NAME = "curve"
TITLE = "Training curves: score against step, the paper's method"
POINTS = (
    *(100, 200, 250, 400, 500, 600, 800),
    *(1000, 1500, 2000, 3000, 4000, 5000, 6500, 8000, 10000, 15000, 20000),
)
EVERY = 50
WALKS = 5
"""Walks of Algorithm 1 at a point, for 100 of the paper: twenty times as fast."""

UNSEEN = 0.3
CLOSE = 0.003
PROBES = ("logreg", "sgd")
DIAGNOSES = {
    "norm": "mean length",
    "mean_cosine": "mean cosine",
    "rank": "RankMe",
    "A_norm": "length of A",
    "A1A2": "cosine of A's halves",
    "bias_norm": "mean length of a bias row",
    "candidate_norm": "mean length of a candidate",
    "constant_share": "of it, the same for all nodes",
    "stranger_affinity": "affinity of unrelated nodes, one in each role",
}
SAMPLE = 2000
"""Nodes that the diagnoses look at."""

_PREAMBLE = (
    f"`--preset=paper` on split {VALIDATION_SEED}, which no table uses, scored on its "
    "validation nodes; the test nodes and their edges are out of sight. Two options differ "
    f"from the preset: `--embed_walks={WALKS}` at each point, and what a row names. One run "
    "each: with 1380, 364 and 126 validation nodes on Pubmed, BlogCatalog and Digits, a "
    "difference below about 1, 2 and 3 points is noise.\n\n"
    "*Enough* is the first step from which on every point is within 0.3 points of the end of "
    "the pass. Each line of a .jsonl file is a point; its first line has the flags and the "
    "commit."
)


@dataclasses.dataclass(frozen=True, eq=False)
class Curve:
    """One line of the plot.

    Args:
        dataset: Name of a data set.
        model: Name of a model.
        changes: Options that differ from `--preset=paper`.

    Example:

    >>> Curve("pubmed", "cade_ma", {"normalize": "output"}).name
    'pubmed-cade_ma-normalize_output'
    """

    dataset: str
    model: str
    changes: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def name(self) -> str:
        """Name of its file."""
        changed = [f"{name}_{value}" for name, value in self.changes.items()]
        return "-".join([self.dataset, self.model, *changed])

    @property
    def title(self) -> str:
        """Name in tables and plots."""
        changed = [f"--{name}={value}" for name, value in self.changes.items()]
        return " ".join([METHODS[self.model].title, *changed])

    def config(self) -> Config:
        """Options of its run."""
        given = {"embed_walks": WALKS, **self.changes}
        return Config.from_given(
            preset="paper",
            model=self.model,
            unseen_ratio=UNSEEN,
            split_seed=VALIDATION_SEED,
            seed=VALIDATION_SEED,
            validate_every=EVERY,
            summary_every=0,
            checkpoint_minutes=3.0,
            keep_checkpoints=1,
            **given,
        )


_FASTER_BIAS: list[dict[str, Any]] = [{"bias_learning_rate": rate} for rate in (10.0, 100.0)]
# Readings and options that were searched, as departures from the preset.
_SEARCHED: dict[str, dict[str, list[dict[str, Any]]]] = {
    "pubmed": {
        "cade_ms": [UNDIVIDED],
        "cade_ma": [UNDIVIDED, {"attention_temperature": 4.0}],
    },
    "blogcatalog": {
        "cade_gb": _FASTER_BIAS,
        "cade_ms": [
            UNDIVIDED,
            UNDIVIDED | {"normalize": "none"},
            UNDIVIDED | {"normalize": "both"},
            {"attention_temperature": 16.0},
        ],
        "cade_ma": [
            UNDIVIDED,
            {"attention_temperature": 4.0},
            UNDIVIDED | {"normalize": "output"},
            UNDIVIDED | {"normalize": "encoder"},
            UNDIVIDED | {"last_activation": "relu"},
            UNDIVIDED | {"last_activation": "relu", "normalize": "output"},
        ],
    },
    "digits": {"cade_ma": [UNDIVIDED, UNDIVIDED | {"normalize": "encoder"}]},
    "subppi": {"cade_gb": _FASTER_BIAS, "cade_ms": [UNDIVIDED]},
}
CURVES = tuple(
    Curve(dataset, model, changes)
    for dataset, searched in _SEARCHED.items()
    for model in MODELS
    for changes in [{}, *searched.get(model, [])]
)


def trace(curve: Curve, folder: Path, cache_dir: Path, data_dir: str | None = None) -> None:
    """Trains a model and appends its points to its file; goes on where it was stopped.

    Args:
        curve: What to train.
        folder: Folder of the report, with a file for each curve.
        cache_dir: Where its run directory is kept until it is complete.
        data_dir: Folder of the data sets.

    Raises:
        InputError: Data or labels are missing.
    """
    found = read(curve, folder)
    if found and found[-1].get("last"):
        return
    config = curve.config()
    graph = load_graph(curve.dataset, data_dir)
    graph, labels, seen, scored = part_of(graph, node_split(graph, config), validating=True)
    path, run_dir = folder / f"{curve.name}.jsonl", cache_dir / f"{NAME}-{curve.name}"
    done = {point["step"] for point in found}
    if not found:
        flags = json.loads(config.to_json())
        header = {"curve": curve.name, "flags": flags, "commit": commit(), "versions": versions()}
        _append(path, header)

    def point(model: Any, step: int, last: bool = False) -> dict[str, float]:
        if not last and (step in done or step not in POINTS):
            return {}
        started = time.monotonic()
        embeddings = model.embed(
            graph,
            walks=config.embed_walks,
            seed=config.seed,
            batch_size=config.embed_batch_size,
            progress=False,
        )
        scores = {
            probe: classification.score(embeddings, labels, seen, scored, probe).micro_f1
            for probe in PROBES
        }
        described = {"step": step, **scores, **diagnosis(model, graph, embeddings)}
        described["embed"] = round(time.monotonic() - started, 1)
        _append(path, described | ({"last": True} if last else {}))
        return {}

    trained = train_graph(
        graph.subgraph(seen), config, run_dir=run_dir, progress=False, validate=point
    )
    point(trained.model, trained.steps, last=True)
    shutil.rmtree(run_dir, ignore_errors=True)


def diagnosis(model: Any, graph: Graph, embeddings: np.ndarray) -> dict[str, float]:
    """What tells a healthy run from a collapsed one: those of `DIAGNOSES` that the model has."""
    lengths = np.linalg.norm(embeddings, axis=1)
    chosen = np.random.default_rng(0).permutation(len(embeddings))[:SAMPLE]
    units = embeddings[chosen] / np.maximum(lengths[chosen, None], 1e-12)
    cosines = units @ units.T
    count = len(chosen)
    found = {
        "norm": float(lengths.mean()),
        "mean_cosine": float((cosines.sum() - count) / max(count * (count - 1), 1)),
        "rank": rank_me(units),
    }

    vector = getattr(model.attention, "vector", None)
    if vector is not None:
        # What the attention chooses from, in one sampling of the neighbourhoods.
        encoded = WholePass(model, model.tables(graph)).candidates(neighbor_key(tf.constant(0)))
        candidates = gather_candidates(encoded, tf.constant(chosen))
        halves = np.asarray(vector.value)
        found |= _roles(halves, candidates.numpy(), model.attention_temperature)
    if model.bias is not None:
        rows = np.asarray(model.bias.table.value)
        found["bias_norm"] = float(np.linalg.norm(rows, axis=1).mean())
    return found


def _roles(vector: np.ndarray, candidates: np.ndarray, temperature: float) -> dict[str, float]:
    """Whether CADE-MA tells nodes apart or only their two roles in a pair.

    Args:
        vector: The halves of A, [2, dim]: one for a node, one for its partner.
        candidates: Outputs of the K aggregators, [nodes, K, dim].
        temperature: Of the attention.
    """
    half_lengths = np.linalg.norm(vector, axis=1)
    lengths = np.linalg.norm(candidates, axis=2).mean()
    constants = np.linalg.norm(candidates.mean(axis=0), axis=1).mean()
    first, second = np.array_split(np.arange(len(candidates)), 2)
    one, other = vector / temperature
    strangers = _attended(candidates[first], one) @ _attended(candidates[second], other).T
    return {
        "A_norm": float(np.linalg.norm(vector)),
        "A1A2": float(vector[0] @ vector[1] / half_lengths.prod()),
        "candidate_norm": float(lengths),
        "constant_share": float(constants / max(lengths, 1e-12)),
        "stranger_affinity": float(strangers.mean()),
    }


def _attended(candidates: np.ndarray, half: np.ndarray) -> np.ndarray:
    """Sums of candidates, weighted by the softmax of their products with a half of A."""
    weights = softmax(candidates @ half, axis=1)
    summed: np.ndarray = np.einsum("nk,nkd->nd", weights, candidates)
    return summed


def read(curve: Curve, folder: Path) -> list[dict[str, Any]]:
    """The points of a curve, by step; empty where it has not begun."""
    path = folder / f"{curve.name}.jsonl"
    if not path.is_file():
        return []
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    points = {line["step"]: line for line in lines if "step" in line}
    return [points[step] for step in sorted(points)]


def _append(path: Path, line: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")


def enough(points: Sequence[Mapping[str, Any]], probe: str) -> int | None:
    """The first step from which on every point is within 0.3 points of the end of the pass.

    Returns:
        A step; None for a curve that has not reached the end.

    Example:

    >>> ends = [{"step": 1, "sgd": 0.8}, {"step": 2, "sgd": 0.902}]
    >>> enough([*ends, {"step": 3, "sgd": 0.9, "last": True}], "sgd")
    2
    """
    if not points or not points[-1].get("last"):
        return None
    step = points[-1]["step"]
    for point in reversed(points):
        if abs(point[probe] - points[-1][probe]) > CLOSE:
            break
        step = point["step"]
    return int(step)


def write(folder: Path) -> Path:
    """Writes the plots and report.md from the points that are there.

    Returns:
        Path of report.md.

    Raises:
        InputError: matplotlib is missing.
    """
    parts = [f"# {TITLE}", _PREAMBLE, *notes_of(folder)]
    for dataset in dict.fromkeys(curve.dataset for curve in CURVES):
        mine = {c: read(c, folder) for c in CURVES if c.dataset == dataset}
        parts.append(f"## {_heading(dataset)}")
        if not any(mine.values()):
            parts.append("Not run yet.")
            continue
        for probe in PROBES:
            parts += [f"Micro-F1 by `{probe}`, percent:", _score_table(mine, probe)]
            picture = _draw(dataset, mine, probe, folder)
            parts.append(f"![{picture.name}]({picture.name})")
        parts += ["What the models are like:", _diagnosis_table(mine)]
    return write_page(folder / REPORT_FILE, parts)


def _heading(dataset: str) -> str:
    split = "the data's own split" if dataset in FIXED_SPLIT else f"{100 * UNSEEN:.0f} % unseen"
    return f"{labelled_title(dataset)}, {split}, validation nodes"


def _score_table(curves: Mapping[Curve, list[dict[str, Any]]], probe: str) -> str:
    steps = sorted({p["step"] for points in curves.values() for p in points if not p.get("last")})
    rows = []
    for curve, points in curves.items():
        by_step = {p["step"]: f"{100 * p[probe]:.1f}" for p in points}
        end, budget = "not run", ""
        if points:
            step = points[-1]["step"]
            end = f"stopped at {step}"
            if points[-1].get("last"):
                end, budget = f"{by_step[step]} (step {step})", str(enough(points, probe))
        rows.append([curve.title, *(by_step.get(step, "") for step in steps), end, budget])
    return markdown_table(["", *map(str, steps), "end of the pass", "enough"], rows)


def _diagnosis_table(curves: Mapping[Curve, list[dict[str, Any]]]) -> str:
    rows = [
        [curve.title, str(point["step"])]
        + [f"{point[name]:.3g}" if name in point else "" for name in DIAGNOSES]
        for curve, points in curves.items()
        for point in points
    ]
    return markdown_table(["", "step", *DIAGNOSES.values()], rows)


def _draw(
    dataset: str, curves: Mapping[Curve, list[dict[str, Any]]], probe: str, folder: Path
) -> Path:
    path = folder / f"{dataset}-{probe}.png"
    with axes_of(
        path, _heading(dataset), "step of 512 pairs", f"micro-F1, probe {probe}, %"
    ) as axes:
        markers = {model: itertools.cycle("osD^vPX*") for model in MODELS}
        for curve, points in curves.items():
            marker = next(markers[curve.model])
            if points:
                steps, scores = [p["step"] for p in points], [100 * p[probe] for p in points]
                axes.plot(
                    *(steps, scores),
                    color=f"C{MODELS.index(curve.model)}",
                    linestyle=":" if curve.changes else "-",
                    marker=marker,
                    label=curve.title,
                )
    return path
