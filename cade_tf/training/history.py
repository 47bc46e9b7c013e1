"""Metrics of a run by step."""

import json
import logging
import math
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from cade_tf.files import write_text

HISTORY_FILE = "history.json"
MOST_STEPS = 4000
"""Steps that a history holds at most: enough for curves, and a bound for long runs."""

_log = logging.getLogger(__name__)


class History:
    """Numbers that a run gave after some of its steps; of too many, an even choice is kept.

    Example:

    >>> history = History()
    >>> history.add(10, {"loss": 0.7})
    >>> history.add(20, {"loss": 0.5, "validation_mrr": 0.4})
    >>> history.columns()
    {'step': [10, 20], 'loss': [0.7, 0.5], 'validation_mrr': [nan, 0.4]}
    """

    def __init__(self) -> None:
        self._rows: dict[int, dict[str, float]] = {}

    def add(self, step: int, values: Mapping[str, float]) -> None:
        """Takes numbers after a step, together with others of the same step."""
        self._rows.setdefault(step, {}).update(values)
        if len(self._rows) > MOST_STEPS:
            steps = sorted(self._rows)
            grid = np.linspace(steps[0], steps[-1], MOST_STEPS // 2)
            kept = np.unique(np.searchsorted(steps, grid))
            self._rows = {steps[place]: self._rows[steps[place]] for place in kept}

    def columns(self) -> dict[str, list[float]]:
        """A list for each name, `step` first; NaN where a step has no number of that name."""
        names = dict.fromkeys(name for row in self._rows.values() for name in row)
        steps = sorted(self._rows)
        columns: dict[str, list[float]] = {"step": list(steps)}
        for name in names:
            columns[name] = [self._rows[step].get(name, math.nan) for step in steps]
        return columns

    def save(self, run_dir: Path) -> None:
        """Writes the numbers to the folder of the run."""
        text = json.dumps({str(step): self._rows[step] for step in sorted(self._rows)})
        write_text(run_dir / HISTORY_FILE, text + "\n")

    def load(self, run_dir: Path, last: int) -> None:
        """Takes over the numbers of a run that is continued.

        Args:
            run_dir: Folder of the run; one without numbers, of an earlier version, has no past.
            last: Step at which it is continued; what came later will come again.
        """
        path = run_dir / HISTORY_FILE
        if not path.is_file():
            return
        try:
            rows = json.loads(path.read_text())
            found = {
                int(step): {str(name): float(value) for name, value in row.items()}
                for step, row in rows.items()
            }
        except (ValueError, AttributeError, TypeError) as error:
            # Nothing but curves depends on it: a run is worth more.
            _log.warning("%s cannot be read (%s); the history starts here.", path, error)
            return
        self._rows = {step: row for step, row in found.items() if step <= last}
