"""From options to a training step that only waits to be timed."""

from typing import Any

import tensorflow as tf

from cade_tf.benchmark.measure import seconds_of, steps_a_repeat
from cade_tf.config import Config
from cade_tf.graph.features import node_features
from cade_tf.graph.graph import Features, Graph
from cade_tf.inference.encoder import Encoder, fit_transform
from cade_tf.models.factory import make_model
from cade_tf.sampling.graph_tables import make_graph_tables
from cade_tf.training.step import TrainingStep


def make_step(graph: Graph, config: Config, features: Features | None = None) -> TrainingStep:
    """A training step of a model on a graph.

    Args:
        graph: The training graph.
        config: Options.
        features: Scaled features, where several steps share them.
    """
    if features is None:
        features = scaled_features(graph, config)
    model = make_model(
        config, feature_width=features.shape[1], num_known=graph.num_nodes, seed=config.seed
    )
    return TrainingStep(model, make_graph_tables(graph, features), config)


def scaled_features(graph: Graph, config: Config) -> Features:
    """The features of a graph as training would scale them."""
    return fit_transform(graph, config, config.seed).apply(node_features(graph))


def make_encoder(graph: Graph, config: Config) -> Encoder:
    """An untrained encoder: as fast as a trained one."""
    transform = fit_transform(graph, config, config.seed)
    width = transform.apply(node_features(graph)[:1]).shape[1]
    return Encoder(
        model=make_model(config, feature_width=width, num_known=graph.num_nodes),
        transform=transform,
        known_ids=graph.ids,
        walk_length=config.walk_length,
        feature_names=graph.feature_names,
        structural=not graph.num_features,
    )


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
