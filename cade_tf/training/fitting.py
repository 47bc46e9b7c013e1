"""`model.fit`: the training step driven by Keras callbacks."""

from collections.abc import Sequence
from typing import Any

import keras
import numpy as np

from cade_tf.errors import InputError
from cade_tf.graph.graph import Graph
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.progress import Shown, make_bar
from cade_tf.sampling.batch import PairSampler
from cade_tf.training.arguments import require_edges
from cade_tf.training.metrics import STEP_METRICS, brief, named
from cade_tf.training.step import TrainingStep

STEPS_PER_CALL = 10
EPOCHS = 20
RISING = ("mrr", "positive_affinity")
"""Metrics of which more is better."""


def fit(
    model: DualEncoder,
    graph: Graph,
    *,
    steps: int,
    steps_per_epoch: int | None = None,
    callbacks: Sequence[keras.callbacks.Callback] = (),
    progress: Shown = True,
    **sampling: Any,
) -> keras.callbacks.History:
    """Trains a compiled model; see `DualEncoder.fit`.

    Args:
        model: The model.
        graph: The training graph.
        steps: Steps of the whole training.
        steps_per_epoch: Steps over which callbacks see means.
        callbacks: Keras callbacks.
        progress: Whether to show progress.
        **sampling: Arguments of `PairSampler`.
    """
    if steps < 0:
        raise InputError("steps", "at least 0", steps, "Raise it.")
    require_edges(graph, steps)
    if model.preparation is None:
        model.adapt(graph)
    if not model.compiled:
        model.compile()
    model.trained_on = graph
    sampler = PairSampler(
        graph=model.tables(graph),
        shape=model.tree_shape,
        walk_length=model.walk_length,
        seed=model.seed,
        **sampling,
    )
    step = TrainingStep(model, sampler, model.loss, model.optimizer)
    every = steps_per_epoch or max(steps // EPOCHS, 1)
    _tell_directions(callbacks)
    listeners = keras.callbacks.CallbackList(
        list(callbacks), add_history=True, model=model, epochs=-(-steps // every), steps=every
    )
    model.stop_training = False
    listeners.on_train_begin()
    # A backup that a callback restored says how far the training was.
    done = int(model.optimizer.iterations.numpy())
    step.step.assign(done)
    logs: dict[str, float] = {}
    with make_bar(progress, "training", steps, "steps") as bar:
        bar.start_at(done)
        while done < steps and not model.stop_training:
            epoch, end = done // every, min((done // every + 1) * every, steps)
            listeners.on_epoch_begin(epoch)
            logs = _epoch(step, done, end, every, listeners, bar)
            listeners.on_epoch_end(epoch, logs)
            done = end
    listeners.on_train_end(logs)
    return model.history


def _epoch(
    step: TrainingStep,
    first: int,
    end: int,
    every: int,
    listeners: keras.callbacks.CallbackList,
    bar: Any,
) -> dict[str, float]:
    """Steps first..end-1; returns the means of their metrics."""
    total, done = np.zeros(len(STEP_METRICS)), first
    while done < end:
        count = min(STEPS_PER_CALL, end - done)
        listeners.on_train_batch_begin(done % every)
        values = step.advance(count).numpy()
        if step.fault() is not None:
            raise FloatingPointError(
                f"step {done + 1} or one soon after: {step.fault()} is not finite. "
                "Lower the learning rate, or clip gradients."
            )
        done += count
        total += count * values
        bar.advance(count, brief(values))
        listeners.on_train_batch_end((done - 1) % every, named(values))
    return named(total / (end - first))


def _tell_directions(callbacks: Sequence[keras.callbacks.Callback]) -> None:
    """Tells callbacks that watch a metric which way is better, where nobody has.

    Keras knows it of its own metrics only.
    """
    for callback in callbacks:
        if getattr(callback, "mode", None) == "auto" and callback.monitor in RISING:
            callback.mode = "max"
