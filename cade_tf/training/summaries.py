"""TensorBoard events of a run."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from cade_tf.config import (
    Config,
    FeatureOptions,
    ModelOptions,
    SplitOptions,
    TrainingOptions,
)
from cade_tf.layers.bi_attention import entropy
from cade_tf.training.checkpoints import writing_to
from cade_tf.training.metrics import rank_me
from cade_tf.training.step import TrainingStep

_EXPLAINING = (
    "dataset",
    *SplitOptions.field_names(),
    *FeatureOptions.field_names(),
    *ModelOptions.field_names(),
    *TrainingOptions.field_names(),
)

PIXELS = 16
"""Side of one entry of an attention matrix in its picture."""


class Summaries:
    """Writes what TensorBoard shows: scalars often, all else seldom, so that it costs little.

    Args:
        folder: Folder of the run.

    Example:

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     summaries = Summaries(Path(folder))
    ...     summaries.scalars(1, {"train/loss": 0.5})
    ...     summaries.close()
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._writer = tf.summary.create_file_writer(str(folder))

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        """Writes numbers by their names."""
        with self._writer.as_default(step=step):
            for name, value in values.items():
                tf.summary.scalar(name, value)

    def flags(self, config: Config) -> None:
        """Writes the options as a table of text."""
        rows = "".join(f"| {n} | {getattr(config, n)} |\n" for n in config.field_names())
        with self._writer.as_default(step=0):
            tf.summary.text("flags", "| flag | value |\n|---|---|\n" + rows)

    def details(self, step: TrainingStep) -> None:
        """Looks into the model: weights, attention, and whether embeddings collapse."""
        number = int(step.step.numpy())
        scores = step.look()
        with self._writer.as_default(step=number):
            _weights(step)
            tf.summary.scalar("collapse/rank_me", rank_me(scores.dual.nodes.numpy()))
            if step.model.attention is not None:
                _attention(tf.cast(scores.dual.attention, tf.float32))

    def final(self, config: Config, scores: Mapping[str, float], step: int) -> None:
        """Writes options and final scores as one trial of the HParams table.

        Options that say where and how a run is kept are left out: they explain no score.
        """
        from tensorboard.plugins.hparams import api

        shown = {name: _plain(getattr(config, name)) for name in _EXPLAINING}
        with self._writer.as_default(step=step):
            api.hparams_config(
                hparams=[api.HParam(name) for name in shown],
                metrics=[api.Metric(f"score/{n}", display_name=n) for n in scores],
            )
            api.hparams(shown)
            for name, value in scores.items():
                tf.summary.scalar(f"score/{name}", value)

    def flush(self) -> None:
        """Makes everything visible to readers.

        Raises:
            OSError: The disk is full.
        """
        with writing_to(self.folder):
            self._writer.flush()

    def close(self) -> None:
        """Ends the file."""
        with writing_to(self.folder):
            self._writer.close()


def _plain(value: Any) -> bool | float | int | str:
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    return value if isinstance(value, bool | int | float) else str(value)


def _weights(step: TrainingStep) -> None:
    squares = 0.0
    for weight in step.dense_weights:
        values = tf.convert_to_tensor(weight)
        squares += float(tf.reduce_sum(tf.square(values)))
        # Without the model's name, which counts the models of a process, runs compare.
        tf.summary.histogram("weights/" + weight.path.split("/", 1)[-1], values)
    tf.summary.scalar("norm/weights", squares**0.5)
    # A bias that lies elsewhere would have to be read whole.
    if step.model.bias is not None and step.model.bias.store is None:
        table = tf.convert_to_tensor(step.model.bias.table)
        lengths = tf.norm(table, axis=1)
        tf.summary.scalar("norm/global_bias", tf.norm(lengths))
        tf.summary.histogram("weights/global_bias_row_norms", lengths)


def _attention(attention: tf.Tensor) -> None:
    """The K x K matrices of a batch: their entries, their mean, how sharp they are."""
    tf.summary.scalar("attention/entropy", tf.reduce_mean(entropy(attention)))
    tf.summary.histogram("attention/weights", attention)
    mean = tf.reduce_mean(attention, axis=0).numpy()
    tf.summary.image("attention/mean", _picture(mean)[None])


def _picture(matrix: np.ndarray) -> np.ndarray:
    """A matrix as an image, dark for 0 and bright for its largest entry: [height, width, 3]."""
    level = matrix / max(float(matrix.max()), 1e-12)
    colors = np.stack([level**0.5, level, 0.25 + 0.5 * (1 - level)], axis=-1)
    return np.kron(colors, np.ones((PIXELS, PIXELS, 1))).astype(np.float32)
