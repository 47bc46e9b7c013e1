"""The outer loop: checkpoints, summaries, validation, progress and an orderly end."""

import dataclasses
import logging
import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Protocol, TypeAlias

import keras
import numpy as np
import tensorflow as tf

from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.progress import Shown, make_bar
from cade_tf.training import devices
from cade_tf.training.checkpoints import Checkpoints
from cade_tf.training.early_stopping import EarlyStopping
from cade_tf.training.history import History
from cade_tf.training.metrics import STEP_METRICS, brief, named
from cade_tf.training.run_folder import CHECKPOINT_FOLDER
from cade_tf.training.signals import RunStopped, StopRequest
from cade_tf.training.step import TrainingStep
from cade_tf.training.summaries import Summaries
from cade_tf.training.uncached import uncached

STEPS_PER_CALL = 10
COPIED_ROWS = 65536
"""Rows of a weight that are copied at a time: for more of a large bias there is no room."""
HISTORY_STEPS = 20
"""Steps between entries of the history where there are no summaries."""
DETAILS = 10
"""How often TensorBoard gets details of a run that does not say how often."""

Validate: TypeAlias = Callable[[DualEncoder, int], dict[str, float]]
"""Scores a model after some step, by name; higher is better."""

_log = logging.getLogger(__name__)


class _Record(tf.Module):
    """What a finished or resumed run must remember to report."""

    def __init__(self) -> None:
        super().__init__(name="record")
        self.seconds = tf.Variable(0.0, dtype=tf.float64, trainable=False, name="seconds")
        self.metrics = tf.Variable(tf.zeros([len(STEP_METRICS)]), trainable=False, name="metrics")


class Weights(tf.Module):
    """Variables of a Keras object; a checkpoint of the object would miss layers kept in lists.

    Args:
        variables: Keras variables.
    """

    def __init__(self, variables: Sequence[keras.Variable]) -> None:
        super().__init__(name="weights")
        self.values = [variable.value for variable in variables]


class StoredState(Protocol):
    """State of a run that is too large for variables: rows of the global bias in a file."""

    def open_in(self, run_dir: Path | None) -> None:
        """Makes the state ready, in the folder of a run."""

    def failures(self) -> AbstractContextManager[None]:
        """Turns TensorFlow's errors about the state into errors of the machine."""

    def save(self, path: Path) -> None:
        """Writes a copy."""

    def restore(self, path: Path) -> None:
        """Reads a copy back."""


@dataclasses.dataclass(frozen=True)
class RunEnd:
    """How a run ended.

    Attributes:
        metrics: Means of the last steps; empty where there was no step.
        steps: Steps of the whole run, earlier processes included.
        seconds: Their time.
        best_step: Step whose weights were kept, where validation chose one.
        history: Metrics by step; see `History.columns`.
    """

    metrics: dict[str, float]
    steps: int
    seconds: float
    best_step: int | None
    history: dict[str, list[float]]


class Loop:
    """Drives a `TrainingStep` to its last step, from wherever a run directory says it stands.

    Args:
        step: The inner loop.
        last: Steps of the whole run.
        config: Options.
        run_dir: Folder of the run; None keeps nothing.
        validate: Scores the model every `validate_every` steps.
        progress: Whether to show progress.
        stored: State of the run that is not in variables.
        smallest_gain: Rise of the score to stop on that counts, as a share of it.
        validates_start: Whether the weights before the first step are scored too, so that they
            are kept where no step improves on them.
    """

    def __init__(
        self,
        step: TrainingStep,
        last: int,
        config: Config,
        *,
        run_dir: Path | None = None,
        validate: Validate | None = None,
        progress: Shown = True,
        stored: StoredState | None = None,
        smallest_gain: float = 0.0,
        validates_start: bool = False,
    ) -> None:
        self.step = step
        self.last = last
        self.config = config
        self.run_dir = run_dir
        self.validate = validate if config.validate_every else None
        self.progress = progress
        self.validates_start = validates_start
        self._record = _Record()
        self._history = History()
        self._stopping: EarlyStopping | None = None
        if config.stop_on != "none":
            self._stopping = EarlyStopping(config.patience, smallest_gain)
        self._stored = stored
        if stored is not None:
            stored.open_in(run_dir)
        chief = devices.is_chief(step.strategy)
        self._checkpoints = self._make_checkpoints(chief) if run_dir is not None else None
        self._summaries: Summaries | None = None
        if run_dir is not None and chief and config.summary_every:
            self._summaries = Summaries(run_dir)
        self._best_weights: list[np.ndarray] = []
        if self._stopping is not None and self._checkpoints is None:
            self._best_weights = [np.empty(w.shape, w.dtype) for w in step.model.weights]
        self._saved_step = -1
        self._saved_time = time.monotonic()

    def _make_checkpoints(self, chief: bool) -> Checkpoints:
        step = self.step
        weights = Weights(step.model.weights)
        state = {
            "model": weights,
            "optimizer": Weights(step.optimizer.variables),
            "loss_scale": step.loss_scale,
            "step": step.step,
            "record": self._record,
            "early_stopping": self._stopping,
            "stored": self._stored,
        }
        return Checkpoints(
            Path(self.run_dir or "") / CHECKPOINT_FOLDER,
            {name: part for name, part in state.items() if part is not None},
            weights,
            keep=self.config.keep_checkpoints,
            writes=chief,
            files=self._stored,
        )

    def run(self) -> RunEnd:
        """Continues to the last step.

        Returns:
            How the run ended.

        Raises:
            RunStopped: A signal asked for an end; the state is saved.
            FloatingPointError: A number was not finite; the state before it is saved.
            OSError: Something cannot be written; earlier checkpoints are intact.
            InputError: The checkpoints cannot be read, or workers do not share them.
        """
        first = self._restore()
        if self._summaries is not None and not first:
            self._summaries.start(self.config)
            self._summaries.details(self.step)
        try:
            if self.validates_start and not first and self.last:
                self._validate(0)
            with StopRequest() as stop:
                self._steps(first, stop)
        finally:
            if self._summaries is not None:
                self._summaries.close()
        best_step = self._restore_best()
        done = self._done()
        return RunEnd(
            named(self._record.metrics.numpy()) if done else {},
            done,
            float(self._record.seconds.numpy()),
            best_step,
            self._history.columns(),
        )

    def _restore(self) -> int:
        if self._checkpoints is not None:
            found = self._checkpoints.restore()
            if found:
                _log.info("Continuing %s at step %d.", self.run_dir, found)
                self._saved_step = found
                self._history.load(Path(self.run_dir or ""), found)
        if not devices.all_equal(self.step.strategy, self._done()):
            raise InputError(
                "run_dir",
                "one folder that all workers share",
                f"step {self._done()} here and another elsewhere",
                "Put it on a file system that every machine sees.",
            )
        return self._done()

    def _done(self) -> int:
        return int(self.step.step.numpy())

    def _steps(self, first: int, stop: StopRequest) -> None:
        last, size = self.last, self.config.batch_size
        with make_bar(
            self.progress, "training", last, "steps", self.config.progress_seconds
        ) as bar:
            bar.start_at(first)
            done = first
            while done < last and not (self._stopping is not None and self._stopping.exhausted):
                count = min(STEPS_PER_CALL - done % STEPS_PER_CALL, last - done)
                started = time.monotonic()
                values = self._advance(count)
                seconds = time.monotonic() - started
                self._check_finite(done, values)
                done += count
                self._record.seconds.assign_add(uncached(seconds))
                self._record.metrics.assign(values)
                self._after(done, count, values, count / max(seconds, 1e-9))
                speed = count * size / max(seconds, 1e-9)
                bar.advance(count, f"{brief(values)}  {speed:,.0f} pairs/s")
                if stop.number is not None and done < last:
                    self._save(done)
                    raise RunStopped(self._farewell(done), stop.number)
        self._save(done)

    def _advance(self, count: int) -> np.ndarray:
        with nullcontext() if self._stored is None else self._stored.failures():
            return self.step.advance(count).numpy()

    def _farewell(self, done: int) -> str:
        if self.run_dir is None:
            return f"stopped after step {done}."
        return f"stopped after step {done}, saved in {self.run_dir}; the same command continues."

    def _check_finite(self, before: int, values: np.ndarray) -> None:
        """Ends a run whose numbers are lost, keeping the last state in which they were not."""
        fault = self.step.fault()
        if fault is None:
            return
        done = self._done()
        if done > before:
            self._record.metrics.assign(values)
        self._save(done)
        where = f"; the state before it is in {self.run_dir}" if self.run_dir is not None else ""
        raise FloatingPointError(
            f"step {done + 1}: {fault} is not finite{where}. Lower the learning rate or clip "
            "gradients more (clip_norm), and start afresh."
        )

    # --- what is due after some steps --------------------------------------------------------

    def _after(self, done: int, count: int, values: np.ndarray, speed: float) -> None:
        config = self.config

        def due(every: int) -> bool:
            return every > 0 and (done // every > (done - count) // every or done == self.last)

        if due(config.summary_every or HISTORY_STEPS):
            scalars = self._scalars(values, speed)
            self._history.add(done, scalars)
            if self._summaries is not None:
                self._summaries.scalars(done, scalars)
        every = config.detail_every or math.ceil(self.last / DETAILS)
        if self._summaries is not None and due(every):
            self._summaries.details(self.step)
        if self.validate is not None and due(config.validate_every):
            self._validate(done)
        late = time.monotonic() - self._saved_time > 60 * config.checkpoint_minutes
        if late or due(config.checkpoint_every):
            self._save(done)

    def _scalars(self, values: np.ndarray, speed: float) -> dict[str, float]:
        return {
            **named(values),
            "learning_rate": float(self.step.learning_rate()),
            "gradient_norm": float(self.step.gradient_norm.numpy()),
            "steps_per_second": speed,
            "pairs_per_second": speed * self.config.batch_size,
        }

    def _validate(self, done: int) -> None:
        if self.validate is None:
            return
        scores = self.validate(self.step.model, done)
        found = {f"validation_{name}": float(score) for name, score in scores.items()}
        self._history.add(done, found)
        if self._summaries is not None:
            self._summaries.scalars(done, found)
        if self._stopping is None:
            return
        if self.config.stop_on not in scores:
            raise InputError(
                "stop_on", "one of " + ", ".join(scores), self.config.stop_on, "Choose another."
            )
        if self._stopping.better(done, scores[self.config.stop_on]):
            self._keep_best(done)
        elif self._stopping.exhausted:
            _log.info(
                "No better %s since step %s: stopping.",
                self.config.stop_on,
                self._stopping.best_step,
            )

    def _keep_best(self, done: int) -> None:
        if self._checkpoints is not None:
            self._checkpoints.save_best(done)
        else:
            for kept, weight in zip(self._best_weights, self.step.model.weights, strict=True):
                for rows in _portions(len(kept)):
                    kept[rows] = tf.gather(weight.value, rows)

    def _restore_best(self) -> int | None:
        if self._stopping is None or self._stopping.best_step is None:
            return None
        if self._checkpoints is not None:
            self._checkpoints.restore_best(self._stopping.best_step)
        else:
            for weight, kept in zip(self.step.model.weights, self._best_weights, strict=True):
                for rows in _portions(len(kept)):
                    weight.value.scatter_update(tf.IndexedSlices(kept[rows], rows))
        return self._stopping.best_step

    def _save(self, done: int) -> None:
        if self._checkpoints is None or done == self._saved_step:
            return
        if self._checkpoints.writes:
            # Before the checkpoint: a run that is continued leaves out what it will do again.
            self._history.save(Path(self.run_dir or ""))
        self._checkpoints.save(done)
        if self._summaries is not None:
            self._summaries.flush()
        self._saved_step = done
        self._saved_time = time.monotonic()


def _portions(count: int) -> Iterator[np.ndarray]:
    """Numbers of rows, some after the others."""
    for first in range(0, count, COPIED_ROWS):
        yield np.arange(first, min(first + COPIED_ROWS, count))
