"""Clustering: k-means on embeddings, compared with the classes."""

import dataclasses
import time

import numpy as np
import scipy.sparse as sp

from cade_tf.errors import InputError
from cade_tf.evaluation.classification import labelled
from cade_tf.evaluation.design import Matrix


@dataclasses.dataclass(frozen=True)
class ClusteringScores:
    """Agreement of clusters and classes; 1 is perfect, 0 is chance.

    Args:
        nmi: Normalised mutual information.
        ari: Adjusted Rand index.
        clusters: Number of clusters, that of the classes.
        seconds: Time of clustering.
    """

    nmi: float
    ari: float
    clusters: int
    seconds: float


def score(
    embeddings: Matrix, labels: np.ndarray, nodes: np.ndarray, *, seed: int = 0
) -> ClusteringScores:
    """Clusters some nodes into as many clusters as classes and compares.

    Args:
        embeddings: [all nodes, width], dense or CSR.
        labels: Class index per node, -1 for none.
        nodes: Positions of the nodes to cluster; those without label are left out.
        seed: Seed of k-means.

    Raises:
        InputError: Labels are a matrix, or fewer than two classes are left.

    Example:

    >>> embeddings = np.array([[0.0], [0.1], [9.0], [9.1]])
    >>> score(embeddings, np.array([0, 0, 1, 1]), np.arange(4)).nmi
    1.0
    """
    from sklearn.cluster import KMeans
    from sklearn.metrics import adjusted_rand_score, normalized_mutual_info_score

    if labels.ndim == 2:
        raise InputError(
            "labels", "one class per node", "a label matrix", "Clusters cannot overlap."
        )
    nodes = labelled(labels, nodes)
    classes = len(np.unique(labels[nodes]))
    if classes < 2:
        raise InputError("labels", "at least two classes", classes, "Label more nodes.")
    started = time.monotonic()
    vectors = embeddings[nodes]
    if not isinstance(vectors, np.ndarray):
        # scikit-learn's k-means takes no other positions.
        positions = [part.astype(np.int32) for part in (vectors.indices, vectors.indptr)]
        vectors = sp.csr_array((vectors.data, *positions), shape=vectors.shape)
    found = KMeans(classes, n_init=5, random_state=seed).fit_predict(vectors)
    return ClusteringScores(
        nmi=float(normalized_mutual_info_score(labels[nodes], found)),
        ari=float(adjusted_rand_score(labels[nodes], found)),
        clusters=classes,
        seconds=time.monotonic() - started,
    )
