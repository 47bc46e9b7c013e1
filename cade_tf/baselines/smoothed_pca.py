"""Smoothed PCA: features averaged over hops 0, 1 and 2, then projected. Nothing is trained.

An informed reader asks for this baseline: it uses the same features and the same neighbourhoods as
a two-layer encoder, is inductive, and takes seconds.
"""

import numpy as np

from cade_tf.config import FeatureOptions
from cade_tf.evaluation.design import as_dense
from cade_tf.graph.features import FeatureTransform, node_features
from cade_tf.graph.graph import Graph
from cade_tf.graph.shares import neighbor_shares

HOPS = 2
"""Farthest hop that is averaged in."""


def embed(
    graph: Graph,
    seen: np.ndarray,
    *,
    dim: int,
    options: FeatureOptions,
    seed: int = 0,
) -> np.ndarray:
    """Embeds a graph by smoothing and PCA, both fit on the training graph.

    Args:
        graph: The whole graph.
        seen: Positions of the training nodes; scaling and directions are measured on the graph
            they induce.
        dim: Width of the embeddings; fewer where features or training nodes are fewer.
        options: How features are scaled and reduced first.
        seed: Seed of the randomised decompositions.

    Returns:
        float32 [nodes, dim].

    Example:

    >>> graph = Graph.from_edges([[0, 1], [1, 2], [2, 3]], features=np.eye(4))
    >>> embed(graph, np.arange(3), dim=2, options=FeatureOptions()).shape
    (4, 2)
    """
    from sklearn.decomposition import PCA

    features = node_features(graph)
    # Smoothed features are dense anyway, and dense ones can be centred.
    transform = FeatureTransform.fit(features[seen], options.replace(densify_features=True), seed)
    scaled = as_dense(transform.apply(features))
    training = smooth(graph.subgraph(seen), scaled[seen], HOPS)
    pca = PCA(min(dim, *training.shape), random_state=seed).fit(training)
    return pca.transform(smooth(graph, scaled, HOPS)).astype(np.float32)


def smooth(graph: Graph, features: np.ndarray, hops: int) -> np.ndarray:
    """Mean over hops 0..`hops` of the features averaged over neighbours of neighbours.

    An isolated node keeps its own features, as its neighbourhood is itself.
    """
    step = neighbor_shares(graph)
    total = current = features
    for _ in range(hops):
        current = np.asarray(step @ current)
        total = total + current
    return total / np.float32(hops + 1)
