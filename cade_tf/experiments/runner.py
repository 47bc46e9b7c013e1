"""Runs the cells of an experiment and gathers them into results."""

import concurrent.futures
import contextlib
import dataclasses
import datetime
import multiprocessing
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.experiments import cells
from cade_tf.experiments.cells import CLASSIFICATION, LINKS, Cell
from cade_tf.experiments.declarations import LINK_UNSEEN, Entry, Experiment
from cade_tf.experiments.methods import method_of
from cade_tf.experiments.options import ReproduceOptions
from cade_tf.experiments.single_run import versions
from cade_tf.progress import Shown, make_bar

VALIDATION_SEED = 100
"""Splits on which options are chosen count from here, those of reports from 0."""

QUICK_STEPS = 40
QUICK_WALKS = 2
_UNTOLD = ("unseen_ratio", "hidden_ratio", "quick", "unavailable")
"""What results.json does not say of an entry: its column's title or its reason does."""


def run(
    experiment: Experiment,
    options: ReproduceOptions,
    *,
    cells_per_process: int = 0,
    progress: Shown = True,
) -> dict[str, Any]:
    """Runs an experiment; cells computed before are read instead.

    Missing data or labels, and trainings that diverge, leave their entries without numbers and
    with the reason; everything else runs.

    Args:
        experiment: What to run.
        options: How much of it.
        cells_per_process: Cells that a process of its own computes before another one takes its
            place, so that what TensorFlow keeps of every model does not add up; 0 computes all of
            them in this process.
        progress: Whether to show progress.

    Returns:
        What results.json holds: all entries, those that did not run with the reason.

    Raises:
        InputError: The choice names what the experiment has not, or leaves nothing.
    """
    entries = [e for e in experiment.entries if e.quick or not options.quick]
    _check_choice(experiment, entries, options)
    count = options.splits or (1 if options.quick else experiment.splits)
    first = VALIDATION_SEED if options.validating else 0
    splits = range(first, first + count)
    reasons: dict[int, str] = {}
    found: dict[tuple[int, int], dict[str, Any]] = {}
    waiting: list[tuple[int, Cell]] = []
    for index, split in _by_dataset_and_split(entries, splits):
        entry = entries[index]
        if entry.unavailable is not None:
            reasons[index] = entry.unavailable
            continue
        try:
            cell = cell_of(entry, split, options)
        except InputError as error:
            reasons[index] = str(error)
            continue
        chosen = options.chosen(entry) and not options.report_only
        kept = cells.cached(cell, Path(options.cells))
        if kept is not None and not (options.fresh and chosen):
            found[index, split] = kept
        elif chosen:
            waiting.append((index, cell))
    with (
        _computing(cells_per_process if waiting else 0) as compute,
        make_bar(progress, experiment.name, len(waiting), "cells", plain_seconds=0.0) as bar,
    ):
        for index, cell in waiting:
            entry = entries[index]
            block = f"{entry.preset}, " if entry.preset else ""
            place = f"{block}{entry.column}, {entry.row}, split {cell.split_seed}"
            if index in reasons:
                bar.advance(note=f"{place}: left out")
                continue
            try:
                result = compute(cell, Path(options.cells), options.data_dir)
            except (InputError, FloatingPointError) as error:
                reasons[index] = str(error)
                bar.advance(note=f"{place}: {error}")
                continue
            found[index, cell.split_seed] = result
            bar.advance(note=f"{place}: {_headline(result)}")
    return {
        "experiment": experiment.name,
        "title": experiment.title,
        "axis": experiment.axis,
        "quick": options.quick,
        "validating": options.validating,
        "splits": list(splits),
        "versions": versions(),
        "commit": cells.commit(),
        "date": datetime.datetime.now(datetime.UTC).date().isoformat(),
        "entries": [
            _gathered(
                entry,
                [found[index, split] for split in splits if (index, split) in found],
                reasons.get(index),
            )
            for index, entry in enumerate(entries)
        ],
    }


def _check_choice(experiment: Experiment, entries: list[Entry], options: ReproduceOptions) -> None:
    options.check_names(
        experiment.name,
        methods=(entry.method for entry in entries),
        datasets=(entry.dataset for entry in entries),
        rows=(entry.row for entry in entries),
        columns=(entry.column for entry in entries),
    )
    if not any(options.chosen(entry) for entry in entries):
        options.refuse_choice(experiment.name)


def _by_dataset_and_split(entries: list[Entry], splits: range) -> Iterator[tuple[int, int]]:
    """All methods of a split before the next split, so that a stopped run can be compared."""
    for dataset in dict.fromkeys(entry.dataset for entry in entries):
        for split in splits:
            for index, entry in enumerate(entries):
                if entry.dataset == dataset:
                    yield index, split


@contextlib.contextmanager
def _computing(cells_per_process: int) -> Iterator[Callable[..., dict[str, Any]]]:
    """`cells.compute`, here or in processes that are replaced from time to time."""
    if not cells_per_process:
        yield cells.compute
        return
    with concurrent.futures.ProcessPoolExecutor(
        max_workers=1,
        mp_context=multiprocessing.get_context("spawn"),
        initializer=end_with_parent,
        max_tasks_per_child=cells_per_process,
    ) as pool:
        yield lambda *given: pool.submit(cells.compute, *given).result()


def end_with_parent() -> None:
    """Ends this process when the command that started it is gone, also where it was killed."""
    parent = multiprocessing.parent_process()
    if parent is None:
        return

    def wait() -> None:
        parent.join()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _headline(result: dict[str, Any]) -> str:
    classified = result["task"] == CLASSIFICATION
    probe, metric = ("logreg", "micro_f1") if classified else ("strong", "auc")
    return f"{100 * result['scores'][probe][metric]:.1f} in {result['seconds']:.0f} s"


def cell_of(entry: Entry, split: int, options: ReproduceOptions) -> Cell:
    """The cell of an entry on one split.

    Raises:
        InputError: The data are missing, or options do not fit.
    """
    method = method_of(entry.method)
    links = entry.task == LINKS
    cell = Cell(
        dataset=entry.dataset,
        task=entry.task,
        method=entry.method,
        unseen_ratio=LINK_UNSEEN if links else entry.unseen_ratio,
        hidden_ratio=entry.hidden_ratio if links else None,
        split_seed=split,
        config=Config(**method.options),
        validating=options.validating,
    )
    config = cell.config
    if entry.preset is not None:
        # The recommended preset decides when the cell is computed.
        config = Config.from_given(preset=entry.preset, model=method.model, **entry.changes)
    config = config.replace(seed=split)
    if options.quick:
        config = config.replace(
            steps=min(config.steps or QUICK_STEPS, QUICK_STEPS),
            epochs=0,
            embed_walks=min(config.embed_walks, QUICK_WALKS),
        )
    return dataclasses.replace(cell, config=config)


def _gathered(entry: Entry, results: list[dict[str, Any]], reason: str | None) -> dict[str, Any]:
    """An entry with means and spreads of its cells."""
    described = {name: value for name, value in vars(entry).items() if name not in _UNTOLD}
    described |= {"changes": dict(entry.changes), "paper": dict(entry.paper)}
    if not results:
        return described | {"reason": reason}
    scores = {
        probe: {
            metric: summary([result["scores"][probe][metric] for result in results])
            for metric in metrics
        }
        for probe, metrics in results[0]["scores"].items()
        if all(probe in result["scores"] for result in results)
    }
    # Cells of earlier versions, and methods without steps, have none.
    steps = [t for result in results if (t := result.get("step_milliseconds")) is not None]
    warnings = [result["details"].get("warning") for result in results]
    return described | {
        "scores": scores,
        "seconds": summary([result["seconds"] for result in results]),
        "step_milliseconds": summary(steps) if steps else None,
        "warning": next((warning for warning in warnings if warning), None),
        "reason": reason,
        "cells": results,
    }


def summary(values: list[float]) -> dict[str, Any]:
    """Mean, sample standard deviation (None for one value) and the values themselves."""
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return {"mean": float(np.mean(values)), "std": spread, "values": values}
