"""From options to a training step that only waits to be timed."""

from typing import Any

import tensorflow as tf

from cade_tf.benchmark.measure import seconds_of, steps_a_repeat
from cade_tf.config import Config
from cade_tf.graph.features import FeatureTransform
from cade_tf.graph.graph import Graph
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.models.factory import make_model
from cade_tf.training import trainer
from cade_tf.training.step import TrainingStep


def make_step(
    graph: Graph, config: Config, transform: FeatureTransform | None = None
) -> TrainingStep:
    """A training step of a model on a graph.

    Args:
        graph: The training graph.
        config: Options.
        transform: Scaling of the features, where several steps share it.
    """
    model = adapted_model(graph, config, transform)
    return trainer.make_step(model, model.tables(graph), config)[0]


def adapted_model(
    graph: Graph, config: Config, transform: FeatureTransform | None = None
) -> DualEncoder:
    """An untrained model: as fast as a trained one."""
    model = make_model(config)
    model.adapt(graph, transform=transform)
    return model


def run_steps(step: TrainingStep, count: int) -> Any:
    """Does some steps and waits for them.

    Raises:
        FloatingPointError: A number was not finite, so that fewer steps were done.
    """
    metrics = step.run(tf.constant(count)).numpy()
    fault = step.fault()
    if fault is not None:
        raise FloatingPointError(f"{fault} was not finite.")
    return metrics


def warm(step: TrainingStep) -> int:
    """Compiles a step and finds out how many of them make a good repeat."""
    run_steps(step, 1)
    return steps_a_repeat(seconds_of(lambda: run_steps(step, 1)))
