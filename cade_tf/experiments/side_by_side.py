"""A model and others on the same split and budget, as one small table."""

import dataclasses
import time
from pathlib import Path
from typing import Any

from cade_tf.config import Config
from cade_tf.evaluation import comparison as quality
from cade_tf.experiments.single_run import (
    score_labels,
    scored_split,
    start_fresh,
    train_and_evaluate,
)
from cade_tf.graph import datasets, splits
from cade_tf.graph.features import FeatureTransform, node_features

RAW_FEATURES = "raw_features"


@dataclasses.dataclass(frozen=True)
class Row:
    """One line of the table."""

    method: str
    scores: dict[str, float]
    seconds: float
    warning: str | None = None
    scored_on: str = "unseen nodes"
    untrained: tuple[quality.NodeScores | quality.LinkQuality, ...] = ()


def run_methods(config: Config, run_dir: Path, *, progress: bool = True) -> list[Row]:
    """Runs the methods to compare with, then the model itself.

    The model's run is `run_dir`; each other model's is a folder of its name in it.

    Returns:
        A row for each method; none for a worker that is not the chief.
    """
    config = start_fresh(config, run_dir)
    rows = []
    for method in config.compare:
        if method == RAW_FEATURES:
            rows.append(_raw_features(config))
        elif method != config.model:
            single = config.replace(model=method, compare=())
            rows += _model(single, run_dir / method, progress, compared=False)
    own = _model(config, run_dir, progress, compared=True)
    return [*rows, *own] if own else []


def _raw_features(config: Config) -> Row:
    started = time.monotonic()
    graph = datasets.load(config)
    split = splits.node_split(graph, config)
    features = node_features(graph)
    transform = FeatureTransform.fit(features[split.seen], config, config.seed)
    scored = scored_split(graph.labels, split)
    scores = score_labels(transform.apply(features), graph.labels, scored)
    return Row(RAW_FEATURES, _micro(scores), time.monotonic() - started)


def _model(config: Config, run_dir: Path, progress: bool, *, compared: bool) -> list[Row]:
    result = train_and_evaluate(config, run_dir, progress=progress, compared=compared)
    return rows_of(config, result)


def rows_of(config: Config, result: dict[str, Any]) -> list[Row]:
    """The row of a finished run; none where there is no result, as in a worker."""
    if not result:
        return []
    scores, seconds = _micro(result.get("scores", {})), result["total_seconds"]
    compared = result.get("comparison", ())
    kind = quality.LinkQuality if any("auc" in row for row in compared) else quality.NodeScores
    untrained = tuple(kind(**row) for row in compared)
    scored_on = result.get("scored_on", Row.scored_on)
    return [Row(config.model, scores, seconds, result["warning"], scored_on, untrained)]


def _micro(scores: dict[str, dict[str, float]]) -> dict[str, float]:
    return {probe: values["micro_f1"] for probe, values in scores.items()}


def table(rows: list[Row]) -> str:
    """The rows as text: micro-F1 by probe, and seconds; then the last against no training."""
    probes = sorted({probe for row in rows for probe in row.scores})
    width = max(len(row.method) for row in rows)
    head = f"{'method':<{width}}" + "".join(f"  {probe:>7}" for probe in probes) + "  seconds"
    lines = [head, "-" * len(head)]
    for row in rows:
        cells = "".join(f"  {row.scores[p]:>7.3f}" if p in row.scores else " " * 9 for p in probes)
        lines.append(f"{row.method:<{width}}{cells}  {row.seconds:>7.1f}")
    if probes:
        lines.append(f"(micro-F1 of {rows[-1].scored_on}, by probe)")
    lines += [f"warning, {row.method}: {row.warning}" for row in rows if row.warning]
    if rows[-1].untrained:
        how = quality.how(rows[-1].scored_on) if rows[-1].scores else quality.HOW_LINKS
        lines += ["", quality.table(rows[-1].untrained), how]
    return "\n".join(lines)
