"""The outer loop of a cluster: hands out steps, waits for them, keeps checkpoints."""

import time
from pathlib import Path

import numpy as np
import tensorflow as tf

from cade_tf.config import Config
from cade_tf.progress import Shown, make_bar
from cade_tf.scale.cluster import Cluster, lost_servers
from cade_tf.training.checkpoints import Checkpoints
from cade_tf.training.loop import Weights
from cade_tf.training.metrics import STEP_METRICS, brief, named
from cade_tf.training.run_folder import CHECKPOINT_FOLDER
from cade_tf.training.signals import RunStopped, StopRequest
from cade_tf.training.step import TrainingStep
from cade_tf.training.summaries import Summaries
from cade_tf.training.uncached import uncached

STEPS_PER_CALL = 5
CALLS_PER_WORKER = 10


class ClusterLoop:
    """Drives a `TrainingStep` whose variables lie on parameter servers.

    The steps are numbered by the chief and done by the workers as they come, each on the weights
    that it finds. Between two rounds of calls nobody works: then numbers are told, and checkpoints
    written. A call whose worker was lost is repeated, as a whole.

    Args:
        cluster: Who does the work.
        step: The inner loop.
        last: Steps of the whole run.
        config: Options.
        run_dir: Folder of the run, on a file system that servers see too.
        progress: Whether to show progress.
    """

    def __init__(
        self,
        cluster: Cluster,
        step: TrainingStep,
        last: int,
        config: Config,
        run_dir: Path,
        progress: Shown,
    ) -> None:
        self.cluster = cluster
        self.step = step
        self.last = last
        self.config = config
        self.progress = progress
        self.run_dir = run_dir
        self.metrics = tf.Variable(tf.zeros([len(STEP_METRICS)]), trainable=False)
        self.seconds = tf.Variable(0.0, dtype=tf.float64, trainable=False)
        weights = Weights(step.model.weights)
        state = {
            "model": weights,
            "bias": None if step.model.bias is None else step.model.bias.store,
            "optimizer": Weights(step.optimizer.variables),
            "loss_scale": step.loss_scale,
            "step": step.step,
            "metrics": self.metrics,
            "seconds": self.seconds,
        }
        self._checkpoints = Checkpoints(
            run_dir / CHECKPOINT_FOLDER,
            {name: part for name, part in state.items() if part is not None},
            weights,
            keep=config.keep_checkpoints,
        )

    def run(self) -> int:
        """Continues from the last checkpoint to the last step.

        Returns:
            Steps of the whole run.

        Raises:
            ClusterLost: A parameter server went away; the last checkpoint is intact.
            RunStopped: A signal asked for an end; the state is saved.
            FloatingPointError: A number was not finite; the last checkpoint is from before.
        """
        with lost_servers():
            done = self._checkpoints.restore() or 0
        self.cluster.heard()
        last, saved, saved_time = self.last, done, time.monotonic()
        config = self.config
        summaries = Summaries(self.run_dir) if config.summary_every else None
        with (
            StopRequest() as stop,
            make_bar(self.progress, "training", last, "steps", config.progress_seconds) as bar,
        ):  # fmt: skip
            bar.start_at(done)
            while done < last:
                count = self._round(done)
                done += count
                values = self.metrics.numpy()
                bar.advance(count, brief(values))
                if summaries is not None:
                    summaries.scalars(done, named(values))
                    summaries.flush()
                late = time.monotonic() - saved_time > 60 * config.checkpoint_minutes
                due = done // config.checkpoint_every > saved // config.checkpoint_every
                if late or due or done == last or stop.number is not None:
                    with lost_servers():
                        self._checkpoints.save(done)
                    self.cluster.heard()
                    saved, saved_time = done, time.monotonic()
                if stop.number is not None and done < last:
                    text = f"stopped after step {done}, saved in {self.run_dir}."
                    raise RunStopped(text, stop.number)
        return done

    def _round(self, done: int) -> int:
        """Steps until the next pause; returns how many."""
        every = self.config.checkpoint_every
        most = self.cluster.workers * CALLS_PER_WORKER * STEPS_PER_CALL
        end = min(done + most, self.last, (done // every + 1) * every)
        started = time.monotonic()
        calls = [
            (tf.constant(uncached(first)), tf.constant(min(STEPS_PER_CALL, end - first)))
            for first in range(done, end, STEPS_PER_CALL)
        ]
        results = self.cluster.run_all(self.step.run_numbers, calls)
        with lost_servers():
            fault = self.step.fault()
            if fault is not None:
                raise FloatingPointError(
                    f"between steps {done + 1} and {end}: {fault} is not finite; the last "
                    f"checkpoint in {self.run_dir} is from before. Lower the learning rate or "
                    "clip gradients more (clip_norm), and start afresh."
                )
            self.step.step.assign(uncached(end))
        self.seconds.assign_add(uncached(time.monotonic() - started))
        self.metrics.assign(np.mean(results, axis=0))
        return end - done
