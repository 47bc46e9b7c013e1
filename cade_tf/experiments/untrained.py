"""A trained model against what needs no training: raw features and smoothed PCA."""

import logging

import numpy as np

from cade_tf.baselines import smoothed_pca
from cade_tf.config import Config, FeatureOptions
from cade_tf.evaluation.classification import labelled
from cade_tf.evaluation.comparison import NodeScores, compare_nodes
from cade_tf.evaluation.design import Matrix
from cade_tf.graph.features import node_features
from cade_tf.graph.graph import Graph
from cade_tf.graph.splits import NodeSplit

MOST_NODES = 10_000
"""Nodes of each side, those a probe learns and those it is scored on; more are sampled."""

LARGEST_DENSE = 250_000_000
"""Numbers of smoothed features, which are dense, up to which they are made."""

_log = logging.getLogger(__name__)


def compare(
    graph: Graph, split: NodeSplit, scored: NodeSplit, embeddings: np.ndarray, config: Config
) -> list[NodeScores]:
    """Scores raw features, smoothed PCA and a model's embeddings alike.

    Args:
        graph: The whole graph, with labels.
        split: The split of training: smoothed PCA is fit on what the model was trained on.
        scored: Whose labels a probe learns, and on whose it is scored.
        embeddings: The model's, of all nodes.
        config: Options of the model.

    Returns:
        A row for each, the model last.
    """
    if graph.labels is None:
        return []
    features = node_features(graph)
    methods: dict[str, Matrix] = {}
    methods["raw features" if graph.num_features else "degrees and positions"] = features
    if features.shape[0] * features.shape[1] <= LARGEST_DENSE:
        seen = split.train if config.validate_every else split.seen
        methods["smoothed PCA"] = smoothed_pca.embed(
            graph, seen, dim=config.dim, options=FeatureOptions(), seed=config.seed
        )
    else:
        _log.info("Smoothed PCA is left out of the comparison: its features would be too large.")
    methods[config.model] = embeddings
    generator = np.random.default_rng(0)
    learnt, tested = (
        _sample(labelled(graph.labels, nodes), generator) for nodes in (scored.seen, scored.test)
    )
    chosen = np.sort(np.concatenate([learnt, tested]))
    return compare_nodes(
        {name: vectors[chosen] for name, vectors in methods.items()},
        graph.labels[chosen],
        np.searchsorted(chosen, learnt),
        np.searchsorted(chosen, tested),
    )


def _sample(nodes: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    if len(nodes) <= MOST_NODES:
        return nodes
    return np.sort(generator.choice(nodes, MOST_NODES, replace=False))
