"""A trained model against what needs no training: raw features and smoothed PCA."""

import logging

import numpy as np

from cade_tf.baselines import smoothed_pca
from cade_tf.config import Config, FeatureOptions
from cade_tf.errors import InputError
from cade_tf.evaluation.classification import labelled
from cade_tf.evaluation.comparison import LinkQuality, NodeScores, compare_links, compare_nodes
from cade_tf.evaluation.design import Matrix
from cade_tf.graph.features import node_features
from cade_tf.graph.graph import Graph
from cade_tf.graph.link_splits import LinkSplit, hidden_edges
from cade_tf.graph.splits import NodeSplit
from cade_tf.inference.pair_scores import dual_scores
from cade_tf.training.trained import Trained

MOST_NODES = 10_000
"""Nodes of each side, those a probe learns and those it is scored on; more are sampled."""

LARGEST_DENSE = 250_000_000
"""Numbers of smoothed features, which are dense, up to which they are made."""

FEWEST_EDGES = 20
"""Held-out edges of which a comparison says something."""

_log = logging.getLogger(__name__)


def compare(
    graph: Graph, seen: np.ndarray, scored: NodeSplit, embeddings: Matrix, name: str, seed: int = 0
) -> list[NodeScores]:
    """Scores raw features, smoothed PCA and a model's embeddings alike.

    Args:
        graph: The whole graph, with labels.
        seen: Positions of the nodes that the model was trained on; smoothed PCA is fit on them.
        scored: Whose labels a probe learns, and on whose it is scored.
        embeddings: The model's, of all nodes.
        name: Name of the model.
        seed: Seed of smoothed PCA.

    Returns:
        A row for each, the model last.
    """
    if graph.labels is None:
        return []
    methods = {**_without_training(graph, seen, embeddings.shape[1], seed), name: embeddings}
    generator = np.random.default_rng(0)
    learnt, tested = (
        _sample(labelled(graph.labels, nodes), generator) for nodes in (scored.seen, scored.test)
    )
    return compare_nodes(methods, graph.labels, learnt, tested)


def held_out_edges(graph: Graph, config: Config) -> LinkSplit | None:
    """Edges for the comparison of a graph without labels.

    Returns:
        The edges; None where there are labels, or too few edges to spare.
    """
    if graph.labels is not None or not config.held_out_edges:
        return None
    try:
        split = hidden_edges(graph, config.held_out_edges, 0.0, config.split_seed)
    except InputError:
        return None
    return split if len(split.test_edges) >= FEWEST_EDGES else None


def compare_by_edges(
    visible: Graph, seen: np.ndarray, split: LinkSplit, trained: Trained
) -> list[LinkQuality]:
    """Scores raw features, smoothed PCA and a model by edges that none of them saw.

    Args:
        visible: The graph without these edges.
        seen: Positions of the nodes that the model was trained on.
        split: The edges, and pairs without an edge.
        trained: The training, on the visible graph.

    Returns:
        A row for each, the model last: by the cosine of embeddings, and by its dual score.
    """
    config = trained.config
    methods = {
        **_without_training(visible, seen, config.dim, config.seed),
        config.model: trained.embed(visible, progress=False),
    }
    dual = dual_scores(trained, visible, progress=False)
    return compare_links(methods, split, functions={f"{config.model}, dual score": dual})


def _without_training(graph: Graph, seen: np.ndarray, dim: int, seed: int) -> dict[str, Matrix]:
    features = node_features(graph)
    methods: dict[str, Matrix] = {}
    methods["raw features" if graph.num_features else "degrees and positions"] = features
    if features.shape[0] * features.shape[1] <= LARGEST_DENSE:
        methods["smoothed PCA"] = smoothed_pca.embed(
            graph, seen, dim=dim, options=FeatureOptions(), seed=seed
        )
    else:
        _log.info("Smoothed PCA is left out of the comparison: its features would be too large.")
    return methods


def _sample(nodes: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    if len(nodes) <= MOST_NODES:
        return nodes
    return np.sort(generator.choice(nodes, MOST_NODES, replace=False))
