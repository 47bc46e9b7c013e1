"""The embedded data set: handwritten digits, half of each as features, half as structure."""

import dataclasses

import numpy as np

from cade_tf.graph.graph import Graph

NEIGHBORS = 8


def digits() -> Graph:
    """The data set `digits`, made from scikit-learn's bundled images; nothing is downloaded.

    A node is an image of 8 x 8 pixels. Its features are the 32 pixels of the upper half; its
    edges join it to the 8 images whose lower halves are nearest. Features and structure know
    different halves, so that a method does well only if it uses both.

    Returns:
        A graph of 1797 nodes, 32 features and 10 classes.

    Example:

    >>> digits()
    Graph('digits', nodes=1797, edges=9787, features=32, classes=10)
    """
    from sklearn.datasets import load_digits

    bunch = load_digits()
    upper, lower = np.split(bunch.images, 2, axis=1)
    nodes = len(bunch.target)
    neighbors = _nearest(lower.reshape(nodes, -1).astype(np.int64))
    edges = np.stack([np.repeat(np.arange(nodes), NEIGHBORS), neighbors.ravel()], axis=1)
    graph = Graph.from_edges(
        edges,
        features=upper.reshape(nodes, -1),
        labels=bunch.target,
        class_names=tuple(map(str, bunch.target_names)),
        name="digits",
    )
    # Of two near images each may be the other's neighbour or not; the edge means the same.
    return dataclasses.replace(graph, report=graph.report.undirected)


def digit_images(graph: Graph) -> np.ndarray | None:
    """The pictures of the nodes of `digits`, [nodes, 8, 8]; None for any other graph.

    Example:

    >>> digit_images(digits()).shape
    (1797, 8, 8)
    """
    if (graph.name, graph.num_features) != ("digits", 32):
        return None
    from sklearn.datasets import load_digits

    images: np.ndarray = load_digits().images
    if graph.num_nodes != len(images):
        return None
    return images


def _nearest(points: np.ndarray) -> np.ndarray:
    """Positions of the nearest other points; of equally near ones those that come first.

    Integer distances leave no room for rounding, so that the graph is the same on every machine.
    """
    lengths = (points**2).sum(axis=1)
    distances = lengths[:, None] + lengths - 2 * points @ points.T
    np.fill_diagonal(distances, distances.max() + 1)
    rank = distances * len(points) + np.arange(len(points))
    return np.argpartition(rank, NEIGHBORS, axis=1)[:, :NEIGHBORS]
