"""A trained model against what needs no training: raw features and smoothed PCA."""

import dataclasses
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
from cade_tf.models.dual_encoder import DualEncoder

MOST_NODES = 10_000
"""Nodes of each side, those a probe learns and those it is scored on; more are sampled."""

LARGEST_DENSE = 250_000_000
"""Numbers of smoothed features, which are dense, up to which they are made."""

MOST_EDGES = 10_000
"""Held-out edges, and pairs without an edge, that are scored; of more a sample is."""

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
        split = hidden_edges(
            graph, config.held_out_edges, 0.0, config.split_seed, train_non_edges=False
        )
    except InputError:
        return None
    return split if len(split.test_edges) >= FEWEST_EDGES else None


def compare_by_edges(
    visible: Graph, seen: np.ndarray, split: LinkSplit, model: DualEncoder, config: Config
) -> list[LinkQuality]:
    """Scores raw features, smoothed PCA and a model by edges that none of them saw.

    Of many edges a sample is scored.

    Args:
        visible: The graph without these edges.
        seen: Positions of the nodes that the model was trained on.
        split: The edges, and pairs without an edge.
        model: The model, trained on the visible graph.
        config: Options of its training.

    Returns:
        A row for each, the model last: by the cosine of embeddings, and by its dual score.
    """
    methods = {
        **_without_training(visible, seen, config.dim, config.seed),
        config.model: model.embed(
            visible,
            walks=config.embed_walks,
            seed=config.seed,
            batch_size=config.embed_batch_size,
            progress=False,
        ),
    }
    dual = dual_scores(model, config, visible, progress=False)
    scored = _sampled_pairs(split)
    if len(scored.test_edges) < len(split.test_edges):
        _log.info(
            "The comparison scores a sample of %s of the %s hidden edges.",
            f"{len(scored.test_edges):,}",
            f"{len(split.test_edges):,}",
        )
    return compare_links(methods, scored, functions={f"{config.model}, dual score": dual})


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


def _sampled_pairs(split: LinkSplit) -> LinkSplit:
    # They stand in random order.
    return dataclasses.replace(
        split,
        test_edges=split.test_edges[:MOST_EDGES],
        test_non_edges=split.test_non_edges[:MOST_EDGES],
    )
