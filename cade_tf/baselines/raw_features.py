"""The features themselves as embeddings: what a method must beat to be worth its training."""

from cade_tf.graph.features import node_features
from cade_tf.graph.graph import Features, Graph


def embed(graph: Graph) -> Features:
    """The features as the data give them; the probes standardise.

    Args:
        graph: Any graph; one without features gets structural ones.

    Returns:
        [nodes, features], dense or CSR.
    """
    return node_features(graph)
