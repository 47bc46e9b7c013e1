"""TensorBoard events of a run."""

import functools
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from cade_tf.config import Config, FeatureOptions, ModelOptions, SplitOptions, TrainingOptions
from cade_tf.layers.bi_attention import entropy
from cade_tf.presets import paper
from cade_tf.training import curves
from cade_tf.training.checkpoints import writing_to
from cade_tf.training.metrics import rank_me
from cade_tf.training.node_map import NodeMap
from cade_tf.training.step import TrainingStep
from cade_tf.training.uncached import uncached

EVENTS_FOLDER = "train"
"""Folder of a run's curves: a run in TensorBoard is called by its folder."""

FINAL_FOLDER = "final"
"""Folder of final scores, apart from the curves: the HParams table then shows these alone."""

_EXPLAINING = (
    "dataset",
    "graph",
    *SplitOptions.field_names(),
    *FeatureOptions.field_names(),
    *ModelOptions.field_names(),
    *TrainingOptions.field_names(),
)

_MAP = (
    "Some nodes in the plane by t-SNE, coloured by class where there are classes. Every picture "
    "starts from the places of the one before. In a healthy run classes separate or stay apart."
)

PIXELS = 16
"""Side of one entry of an attention matrix in its picture."""


class Summaries:
    """Writes what TensorBoard shows: scalars often, all else seldom, so that it costs little.

    Args:
        run_dir: Folder of the run; curves go to its folder `train`, final scores to `final`.

    Example:

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     summaries = Summaries(Path(folder))
    ...     summaries.scalars(1, {"loss": 0.5})
    ...     summaries.close()
    """

    def __init__(self, run_dir: Path) -> None:
        self.run_dir = run_dir
        self.folder = run_dir / EVENTS_FOLDER
        self._map: NodeMap | None = None

    @functools.cached_property
    def _writer(self) -> Any:
        """Makes its file at once: only where there is something to write."""
        return tf.summary.create_file_writer(str(self.folder))

    def scalars(self, step: int, values: Mapping[str, float]) -> None:
        """Writes numbers by the names of their curves; see `curves.CURVES`."""
        with self._writer.as_default(step=uncached(step)):
            for name, value in values.items():
                _scalar(name, value)

    def start(self, config: Config) -> None:
        """Writes what stands at the beginning of a run: a guide, the charts, the options."""
        from tensorboard.plugins.custom_scalar import metadata

        with self._writer.as_default(step=0):
            tf.summary.text("1_is_this_run_healthy", curves.guide())
            tf.summary.write(
                metadata.CONFIG_SUMMARY_TAG,
                curves.layout().SerializeToString(),
                metadata=tf.compat.v1.SummaryMetadata.FromString(
                    metadata.create_summary_metadata().SerializeToString()
                ),
            )
        self.flags(config)

    def flags(self, config: Config) -> None:
        """Writes the options as a table of text."""
        rows = "".join(f"| {n} | {getattr(config, n)} |\n" for n in config.field_names())
        with self._writer.as_default(step=0):
            tf.summary.text("2_flags", "| flag | value |\n|---|---|\n" + rows)

    def details(self, step: TrainingStep) -> None:
        """Looks into the model: weights, attention, some nodes, whether embeddings collapse."""
        number = step.step.numpy()
        scores = step.look()
        if not bool(tf.reduce_all(tf.math.is_finite(scores.dual.nodes))):
            return  # The step will say what is wrong.
        self._map = self._map or NodeMap(step)
        nodes = self._map.picture()
        with self._writer.as_default(step=number):
            _weights(step)
            if nodes is not None:
                tf.summary.image("some_nodes/by_tsne", nodes[None], description=_MAP)
            _scalar("rank_me", rank_me(scores.dual.nodes.numpy()))
            if step.model.attention is not None:
                _attention(tf.cast(scores.dual.attention, tf.float32))

    def final(
        self,
        config: Config,
        scores: Mapping[str, float],
        step: int,
        comparison: str = "",
    ) -> None:
        """Writes options and final scores as one trial of the HParams table.

        TensorBoard itself makes the columns of what it finds in all runs; see `explaining`.

        Args:
            config: Options of the run.
            scores: Final scores by name.
            step: The last step.
            comparison: A table of the model and others, written as text.
        """
        from tensorboard.plugins.hparams import api

        shown = explaining(config)
        trial = f"{self.run_dir.absolute().parent.name}/{self.run_dir.absolute().name}"
        folder = self.run_dir / FINAL_FOLDER
        with writing_to(folder):
            writer = tf.summary.create_file_writer(str(folder))
            with writer.as_default(step=step):
                api.hparams(shown, trial_id=trial)
                for name, value in scores.items():
                    tf.summary.scalar(f"score/{name}", value, description=_score(name))
                if comparison:
                    # Four spaces before each line keep the columns in Markdown.
                    tf.summary.text("comparison", textwrap.indent(comparison, "    "))
            writer.close()

    def flush(self) -> None:
        """Makes everything visible to readers.

        Raises:
            OSError: The disk is full.
        """
        if "_writer" in self.__dict__:
            with writing_to(self.folder):
                self._writer.flush()

    def close(self) -> None:
        """Ends the file."""
        if "_writer" in self.__dict__:
            with writing_to(self.folder):
                self._writer.close()


def explaining(config: Config) -> dict[str, bool | float | int | str]:
    """The model, and the options that a user chose and that may explain a score.

    What the defaults or the preset say is the same in most runs, and would fill the table with
    constant columns; where and how a run is kept explains no score.

    Args:
        config: Options of a run, in which nothing is left to decide.
    """
    usual = dict(config.decided or {})
    if config.preset == "paper":
        usual = paper.options(config.model)
        del usual["preset"]
    return {
        name: _plain(getattr(config, name))
        for name in _EXPLAINING
        if name == "model" or getattr(config, name) != usual.get(name, config.default(name))
    }


def _score(name: str) -> str:
    if name == "mrr":
        return "Mean reciprocal rank of a node's partner in the last steps of training."
    return f"{name} of a classifier on the final embeddings, on nodes that training did not see."


def _scalar(name: str, value: Any) -> None:
    number = uncached(float(value))
    tf.summary.scalar(curves.tag(name), number, description=curves.description(name))


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
        name = weight.path.split("/", 1)[-1]
        tf.summary.histogram(f"weights/{name}", values, description=f"Values of {name}.")
    _scalar("weights_norm", squares**0.5)
    # A bias that lies elsewhere would have to be read whole.
    if step.model.bias is not None and step.model.bias.store is None:
        table = tf.convert_to_tensor(step.model.bias.table)
        lengths = tf.norm(table, axis=1)
        _scalar("global_bias_norm", tf.norm(lengths))
        tf.summary.histogram(
            "weights/global_bias_row_norms",
            lengths,
            description="Length of each known node's row of the global bias.",
        )


def _attention(attention: tf.Tensor) -> None:
    """The K x K matrices of a batch: their entries, their mean, how sharp they are."""
    k = attention.shape[-1]
    if k > 1:
        _scalar("attention_entropy", tf.reduce_mean(entropy(attention)) / (2 * np.log(k)))
    tf.summary.histogram(
        "attention/weights",
        attention,
        description="All entries of the attention matrices of some pairs.",
    )
    mean = tf.reduce_mean(attention, axis=0).numpy()
    tf.summary.image(
        "attention/mean",
        _picture(mean)[None],
        description="Mean K x K attention of some pairs. One even colour: all count alike.",
    )


def _picture(matrix: np.ndarray) -> np.ndarray:
    """A matrix of weights as an image: [height, width, 3], dark for 0, bright for twice the mean.

    On this scale equal weights have one middle colour, and no noise looks like a preference.
    """
    level = np.minimum(matrix / (2 * max(float(matrix.mean()), 1e-12)), 1.0)
    colors = np.stack([level**0.5, level, 0.25 + 0.5 * (1 - level)], axis=-1)
    return np.kron(colors, np.ones((PIXELS, PIXELS, 1))).astype(np.float32)
