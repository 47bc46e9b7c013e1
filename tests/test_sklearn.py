"""The transformer of scikit-learn: parameters, pipelines, searches, its own checks."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

from cade_tf.errors import InputError
from cade_tf.sklearn import NodeEmbedder
from tests.training.small_run import NODES, small_graph

# Those of scikit-learn's checks that do not pass an array of features as X.
CHECKS = [
    "check_do_not_raise_errors_in_init_or_set_params",
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_get_params_invariance",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_set_params",
    "check_valid_tag_types",
]


def embedder(**changes):
    given = {"dim": 8, "k": 2, "steps": 30, "batch_size": 16, "embed_walks": 2}
    return NodeEmbedder(**given | changes, options={"fanouts": (3, 2), "negatives": 4})


@pytest.fixture(scope="module")
def graph():
    return small_graph()


@pytest.fixture(scope="module")
def fitted(graph):
    return embedder().fit(graph)


@pytest.mark.parametrize("name", CHECKS)
def test_it_passes_the_checks_of_scikit_learn(name):
    getattr(estimator_checks, name)("NodeEmbedder", NodeEmbedder())


def test_fit_and_transform_equal_fit_transform(graph, fitted):
    embeddings = fitted.transform(graph)
    assert embeddings.shape == (NODES, 8)
    np.testing.assert_allclose(embedder().fit_transform(graph), embeddings, rtol=1e-4, atol=1e-5)
    assert fitted.n_features_in_ == graph.num_features
    assert fitted.get_feature_names_out().tolist() == [f"nodeembedder{i}" for i in range(8)]


def test_frames_have_the_names_of_the_dimensions(graph, fitted):
    frame = clone(fitted).set_output(transform="pandas").fit(graph).transform(graph)
    assert frame.columns.tolist() == fitted.get_feature_names_out().tolist()


def test_a_clone_has_the_parameters_and_not_the_training(fitted, graph):
    copy = clone(fitted)
    assert copy.get_params() == fitted.get_params()
    with pytest.raises(NotFittedError):
        copy.transform(graph)
    assert clone(embedder(graph=graph)).graph is graph


def test_it_is_pickled_with_its_training(fitted, graph):
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_allclose(
        again.transform(graph), fitted.transform(graph), rtol=1e-4, atol=1e-5
    )


def test_a_pipeline_classifies_the_nodes_of_a_graph(graph):
    pipeline = make_pipeline(embedder(steps=100), LogisticRegression()).fit(graph, graph.labels)
    assert pipeline.score(graph, graph.labels) > 0.6


def test_folds_of_nodes_are_trained_on_without_the_others(graph):
    nodes = np.arange(NODES)
    chosen = embedder(graph=graph).fit(nodes[:40])
    assert chosen.trained_.model.prepared().known_ids.tolist() == nodes[:40].tolist()
    some = chosen.transform(nodes[[50, 3]])
    np.testing.assert_allclose(some, chosen.transform(nodes)[[50, 3]], rtol=1e-4, atol=1e-5)
    pipeline = make_pipeline(embedder(graph=graph), LogisticRegression())
    scores = cross_val_score(pipeline, nodes[:, None], graph.labels, cv=2, error_score="raise")
    assert ((scores >= 0) & (scores <= 1)).all()


def test_a_search_tries_parameters(graph):
    pipeline = make_pipeline(embedder(graph=graph), LogisticRegression())
    search = GridSearchCV(
        pipeline, {"nodeembedder__dim": [2, 8]}, cv=2, error_score="raise", refit=False
    )
    search.fit(np.arange(NODES), graph.labels)
    assert len(search.cv_results_["params"]) == 2
    assert search.best_params_["nodeembedder__dim"] in (2, 8)


@pytest.mark.parametrize(
    ("make", "X", "message"),
    [
        (lambda graph: embedder(), np.eye(3), "a cade_tf.Graph, received ndarray"),
        (lambda graph: embedder(graph=graph), None, "ids of nodes"),
        (lambda graph: embedder(graph=graph), ["nobody"], "received nobody"),
        (lambda graph: NodeEmbedder(options={"colour": 1}), None, "colour"),
        (lambda graph: NodeEmbedder(options={"dim": 1}), None, "no parameter of its own"),
        (lambda graph: NodeEmbedder(dim=0), None, "dim: expected at least"),
    ],
)
def test_what_does_not_fit_is_named(make, X, message, graph):
    with pytest.raises(InputError, match=message):
        make(graph).fit(graph if X is None else X)
