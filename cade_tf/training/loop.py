"""The outer loop: checkpoints, summaries, validation, progress and an orderly end."""

import contextlib
import dataclasses
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import tensorflow as tf

from cade_tf.cli.progress import Progress
from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.inference.encoder import Encoder
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.sampling.row_file import RowFile
from cade_tf.training import devices
from cade_tf.training.checkpoints import Checkpoints
from cade_tf.training.early_stopping import EarlyStopping
from cade_tf.training.metrics import STEP_METRICS
from cade_tf.training.run_folder import CHECKPOINT_FOLDER
from cade_tf.training.signals import RunStopped, StopRequest
from cade_tf.training.step import TrainingStep
from cade_tf.training.summaries import Summaries

STEPS_PER_CALL = 10

Validate: TypeAlias = Callable[[Encoder, int], dict[str, float]]
"""Scores an encoder after some step, by name; higher is better."""

_log = logging.getLogger(__name__)


class _Record(tf.Module):
    """What a finished or resumed run must remember to report."""

    def __init__(self) -> None:
        super().__init__(name="record")
        self.seconds = tf.Variable(0.0, dtype=tf.float64, trainable=False, name="seconds")
        self.metrics = tf.Variable(tf.zeros([len(STEP_METRICS)]), trainable=False, name="metrics")


class ModelWeights(tf.Module):
    """All weights of a model; a checkpoint of a Keras model would miss layers kept in lists."""

    def __init__(self, model: DualEncoder) -> None:
        super().__init__(name="weights")
        self.values = [w.value for w in model.weights]


@dataclasses.dataclass(frozen=True)
class Progressed:
    """How a run ended.

    Attributes:
        metrics: Means of the last steps; empty where there was no step.
        steps: Steps of the whole run, earlier processes included.
        seconds: Their time.
        best_step: Step whose weights were kept, where validation chose one.
    """

    metrics: dict[str, float]
    steps: int
    seconds: float
    best_step: int | None


class Loop:
    """Drives a `TrainingStep` to its last step, from wherever a run directory says it stands.

    Args:
        step: The inner loop.
        encoder: What validation scores.
        config: Options.
        run_dir: Folder of the run; None keeps nothing.
        validate: Scores the encoder every `validate_every` steps.
        progress: Whether to show progress.
    """

    def __init__(
        self,
        step: TrainingStep,
        encoder: Encoder,
        config: Config,
        *,
        run_dir: Path | None = None,
        validate: Validate | None = None,
        progress: bool = True,
    ) -> None:
        self.step = step
        self.encoder = encoder
        self.config = config
        self.run_dir = run_dir
        self.validate = validate if config.validate_every else None
        self.progress = progress
        self._record = _Record()
        self._stopping = EarlyStopping(config.patience) if config.stop_on != "none" else None
        if self._stopping is not None and self.validate is None:
            raise InputError(
                "stop_on", "a function that validates", "none", "Pass validate to train()."
            )
        bias = step.model.bias
        self._row_file: RowFile | None = None
        if bias is not None and isinstance(bias.variable, RowFile):
            self._row_file = bias.variable
            self._row_file.open_in(run_dir)
        chief = devices.is_chief(step.strategy)
        self._checkpoints = self._make_checkpoints(chief) if run_dir is not None else None
        self._summaries: Summaries | None = None
        if run_dir is not None and chief and config.summary_every:
            self._summaries = Summaries(run_dir)
        self._saved_step = -1
        self._saved_time = time.monotonic()

    def _make_checkpoints(self, chief: bool) -> Checkpoints:
        step = self.step
        weights = ModelWeights(step.model)
        state = {
            "model": weights,
            "optimizer": step.optimizer,
            "bias_optimizer": step.bias_optimizer,
            "loss_scale": step.loss_scale,
            "step": step.step,
            "record": self._record,
            "early_stopping": self._stopping,
        }
        return Checkpoints(
            Path(self.run_dir or "") / CHECKPOINT_FOLDER,
            {name: part for name, part in state.items() if part is not None},
            weights,
            keep=self.config.keep_checkpoints,
            writes=chief,
            files=self._row_file,
        )

    def run(self) -> Progressed:
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
            self._summaries.flags(self.config)
        try:
            with StopRequest() as stop:
                self._steps(first, stop)
        finally:
            if self._summaries is not None:
                self._summaries.close()
        best_step = self._restore_best()
        done = self._done()
        metrics = dict(zip(STEP_METRICS, map(float, self._record.metrics.numpy()), strict=True))
        return Progressed(
            metrics if done else {}, done, float(self._record.seconds.numpy()), best_step
        )

    def _restore(self) -> int:
        if self._checkpoints is not None:
            found = self._checkpoints.restore()
            if found:
                _log.info("Continuing %s at step %d.", self.run_dir, found)
                self._saved_step = found
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
        last, size = self.step.last, self.config.batch_size
        with Progress(
            "training",
            last,
            "steps",
            quiet=not self.progress,
            plain_seconds=self.config.progress_seconds,
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
                self._record.seconds.assign_add(seconds)
                self._record.metrics.assign(values)
                self._after(done, count, values, count / max(seconds, 1e-9))
                loss, mrr = values[0], values[STEP_METRICS.index("mrr")]
                speed = count * size / max(seconds, 1e-9)
                bar.advance(count, f"loss {loss:.3f}  MRR {mrr:.3f}  {speed:,.0f} pairs/s")
                if stop.number is not None and done < last:
                    self._save(done)
                    raise RunStopped(self._farewell(done), stop.number)
        self._save(done)

    def _advance(self, count: int) -> np.ndarray:
        with contextlib.nullcontext() if self._row_file is None else self._row_file.failures():
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
            f"step {done + 1}: {fault} is not finite{where}. Lower --learning_rate or clip more "
            "(--clip_norm), and start anew with --fresh."
        )

    # --- what is due after some steps --------------------------------------------------------

    def _after(self, done: int, count: int, values: np.ndarray, speed: float) -> None:
        config = self.config

        def due(every: int) -> bool:
            return every > 0 and (done // every > (done - count) // every or done == self.step.last)

        if self._summaries is not None:
            if due(config.summary_every):
                self._summaries.scalars(done, self._scalars(values, speed))
            if due(config.detail_every):
                self._summaries.details(self.step)
        if self.validate is not None and due(config.validate_every):
            self._validate(done)
        late = time.monotonic() - self._saved_time > 60 * config.checkpoint_minutes
        if late or due(config.checkpoint_every):
            self._save(done)

    def _scalars(self, values: np.ndarray, speed: float) -> dict[str, float]:
        named = {f"train/{n}": float(v) for n, v in zip(STEP_METRICS, values, strict=True)}
        named["collapse/mean_cosine"] = named.pop("train/mean_cosine")
        return {
            **named,
            "train/learning_rate": float(self.step.learning_rate()),
            "norm/gradient": float(self.step.gradient_norm.numpy()),
            "speed/steps_per_second": speed,
            "speed/pairs_per_second": speed * self.config.batch_size,
        }

    def _validate(self, done: int) -> None:
        if self.validate is None:
            return
        scores = self.validate(self.encoder, done)
        if self._summaries is not None:
            self._summaries.scalars(done, {f"validation/{n}": v for n, v in scores.items()})
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
            self._best_weights = [w.numpy() for w in self.step.model.weights]

    def _restore_best(self) -> int | None:
        if self._stopping is None or self._stopping.best_step is None:
            return None
        if self._checkpoints is not None:
            self._checkpoints.restore_best(self._stopping.best_step)
        else:
            for weight, value in zip(self.step.model.weights, self._best_weights, strict=True):
                weight.assign(value)
        return self._stopping.best_step

    def _save(self, done: int) -> None:
        if self._checkpoints is None or done == self._saved_step:
            return
        self._checkpoints.save(done)
        if self._summaries is not None:
            self._summaries.flush()
        self._saved_step = done
        self._saved_time = time.monotonic()
