"""The embedded data set is the same everywhere, and neither half suffices alone."""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

from cade_tf.config import FeatureOptions
from cade_tf.graph.digits import digits
from cade_tf.graph.features import FeatureTransform
from cade_tf.graph.splits import split_nodes


def test_its_numbers():
    graph = digits()
    assert (graph.num_nodes, graph.num_features, graph.num_classes) == (1797, 32, 10)
    assert graph.num_edges == 9787
    assert graph.degrees.min() >= 8


def test_features_are_upper_halves_and_edges_join_similar_lower_halves():
    graph = digits()
    images = load_digits().images
    np.testing.assert_array_equal(graph.features, images[:, :4].reshape(-1, 32))
    lower = images[:, 4:].reshape(-1, 32)
    distances = ((lower[100] - lower) ** 2).sum(axis=1)
    eighth = np.sort(distances)[8]
    neighbors = graph.neighbors(100)
    assert set(np.flatnonzero(distances < eighth)) - {100} <= set(neighbors)


def test_raw_features_score_about_0_83_on_unseen_nodes():
    graph = digits()
    scores = []
    for seed in range(3):
        split = split_nodes(graph, 0.3, seed)
        transform = FeatureTransform.fit(graph.features[split.seen], FeatureOptions())
        features = transform.apply(graph.features)
        model = LogisticRegression(max_iter=2000).fit(
            features[split.seen], graph.labels[split.seen]
        )
        scores.append(model.score(features[split.test], graph.labels[split.test]))
    assert 0.80 < np.mean(scores) < 0.88
