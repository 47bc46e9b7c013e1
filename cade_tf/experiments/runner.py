"""Runs the cells of an experiment and gathers them into results."""

import dataclasses
import datetime
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cade_tf.cli.progress import Progress
from cade_tf.config import MODELS, Config
from cade_tf.errors import InputError
from cade_tf.experiments import cells
from cade_tf.experiments.cells import CLASSIFICATION, LINKS, Cell
from cade_tf.experiments.entries import EITHER, LINK_UNSEEN, Entry, Experiment
from cade_tf.experiments.methods import method_of
from cade_tf.experiments.single_run import versions

QUICK_STEPS = 40
QUICK_WALKS = 2

Recipe = Callable[[str, str, str], Config]
"""From task, data set and method to the options of that row."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class Settings:
    """How much of an experiment to run, and where.

    Args:
        recipe: Options of each row.
        cache_dir: Where cells are kept.
        data_dir: Folder of the data sets.
        splits: Splits of each entry; None for the experiment's own number.
        methods: Methods to run; empty for all.
        datasets: Data sets to run; empty for all.
        quick: One split, few steps, the entries marked for it.
        validating: Score validation data instead of test data.
        fresh: Compute cells again that are kept already.
        report_only: Compute nothing, gather what is kept.
    """

    recipe: Recipe
    cache_dir: Path
    data_dir: str | None = None
    splits: int | None = None
    methods: tuple[str, ...] = ()
    datasets: tuple[str, ...] = ()
    quick: bool = False
    validating: bool = False
    fresh: bool = False
    report_only: bool = False


def run(experiment: Experiment, settings: Settings) -> dict[str, Any]:
    """Runs an experiment; cells computed before are read instead.

    Missing data or labels, and trainings that diverge, leave their entries without numbers and
    with the reason; everything else runs.

    Args:
        experiment: What to run.
        settings: How.

    Returns:
        What results.json holds.

    Raises:
        InputError: The choice of methods and data sets leaves nothing.
    """
    entries = _chosen(experiment, settings)
    splits = settings.splits or (1 if settings.quick else experiment.splits)
    reasons: dict[int, str] = {}
    found: dict[tuple[int, int], dict[str, Any]] = {}
    waiting: list[tuple[int, Cell]] = []
    for index, split in _by_dataset_and_split(entries, splits):
        try:
            cell = cell_of(entries[index], split, settings)
        except InputError as error:
            reasons[index] = str(error)
            continue
        kept = None if settings.fresh else cells.cached(cell, settings.cache_dir)
        if kept is not None:
            found[index, split] = kept
        elif not settings.report_only:
            waiting.append((index, cell))
    total = len(waiting) + len(found)
    with Progress(experiment.name, total, "cells", plain_seconds=0.0) as progress:
        progress.start_at(len(found))
        for index, cell in waiting:
            place = f"{entries[index].column}, {entries[index].row}, split {cell.split_seed}"
            if index in reasons:
                progress.advance(note=f"{place}: left out")
                continue
            try:
                result = cells.compute(cell, settings.cache_dir, settings.data_dir)
            except (InputError, FloatingPointError) as error:
                reasons[index] = str(error)
                progress.advance(note=f"{place}: {error}")
                continue
            found[index, cell.split_seed] = result
            progress.advance(note=f"{place}: {_headline(result)}")
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "axis": experiment.axis,
        "timed": experiment.timed,
        "bars": experiment.bars,
        "quick": settings.quick,
        "validating": settings.validating,
        "splits": splits,
        "versions": versions(),
        "commit": cells.commit(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "entries": [
            _gathered(
                entry,
                [found[index, split] for split in range(splits) if (index, split) in found],
                reasons.get(index),
            )
            for index, entry in enumerate(entries)
        ],
    }


def _chosen(experiment: Experiment, settings: Settings) -> list[Entry]:
    for name in settings.methods:
        method_of(name)
    entries = [
        entry
        for entry in experiment.entries
        if (not settings.methods or entry.method in settings.methods)
        and (not settings.datasets or entry.dataset in settings.datasets)
        and (entry.quick or not settings.quick)
    ]
    if not entries:
        raise InputError(
            "methods and datasets",
            f"some that {experiment.name} has",
            ", ".join((*settings.methods, *settings.datasets)) or "--quick",
            "It has "
            + ", ".join(sorted({e.method for e in experiment.entries}))
            + " on "
            + ", ".join(sorted({e.dataset for e in experiment.entries}))
            + ".",
        )
    return entries


def _by_dataset_and_split(entries: list[Entry], splits: int) -> Iterator[tuple[int, int]]:
    """All methods of a split before the next split, so that a stopped run can be compared."""
    for dataset in dict.fromkeys(entry.dataset for entry in entries):
        for split in range(splits):
            for index, entry in enumerate(entries):
                if entry.dataset == dataset:
                    yield index, split


def _headline(result: dict[str, Any]) -> str:
    classified = result["task"] == CLASSIFICATION
    probe, metric = ("logreg", "micro_f1") if classified else ("strong", "auc")
    return f"{100 * result['scores'][probe][metric]:.1f} in {result['seconds']:.0f} s"


def cell_of(entry: Entry, split: int, settings: Settings) -> Cell:
    """The cell of an entry on one split.

    Raises:
        InputError: The data that decide about the task are missing, or the recipe does not fit.
    """
    task = entry.task
    if task == EITHER:
        graph = cells.load_graph(entry.dataset, settings.data_dir)
        task = LINKS if graph.labels is None else CLASSIFICATION
    config = settings.recipe(task, entry.dataset, method_of(entry.method).recipe)
    config = config.replace(**entry.changes, seed=config.seed + split)
    if entry.method in MODELS:
        config = config.replace(model=entry.method)
    if config.validate_every:
        raise InputError(
            "validate_every",
            "0 in the recipe of an experiment",
            config.validate_every,
            "All methods get the same fixed budget; choose --steps with --validating.",
        )
    if settings.quick:
        config = config.replace(
            steps=min(config.steps, QUICK_STEPS),
            epochs=0,
            embed_walks=min(config.embed_walks, QUICK_WALKS),
        )
    return Cell(
        dataset=entry.dataset,
        task=task,
        method=entry.method,
        unseen_ratio=LINK_UNSEEN if task == LINKS else entry.unseen_ratio,
        hidden_ratio=entry.hidden_ratio if task == LINKS else None,
        split_seed=split,
        config=config,
        validating=settings.validating,
    )


def _gathered(entry: Entry, results: list[dict[str, Any]], reason: str | None) -> dict[str, Any]:
    """An entry with means and spreads of its cells."""
    described = {
        "row": entry.row,
        "column": entry.column,
        "dataset": entry.dataset,
        "method": entry.method,
        "changes": dict(entry.changes),
        "against": entry.against,
        "paper": dict(entry.paper),
        "x": entry.x,
    }
    if not results:
        return described | {"reason": reason or "not run"}
    scores = {
        probe: {
            metric: summary([result["scores"][probe][metric] for result in results])
            for metric in metrics
        }
        for probe, metrics in results[0]["scores"].items()
        if all(probe in result["scores"] for result in results)
    }
    return described | {
        "task": results[0]["task"],
        "instead": entry.task == EITHER and results[0]["task"] == LINKS,
        "scores": scores,
        "seconds": summary([result["seconds"] for result in results]),
        "training_seconds": summary([result["training_seconds"] for result in results]),
        "reason": reason,
        "cells": results,
    }


def summary(values: list[float]) -> dict[str, Any]:
    """Mean, sample standard deviation (None for one value) and the values themselves."""
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return {"mean": float(np.mean(values)), "std": spread, "values": values}
