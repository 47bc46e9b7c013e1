import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import f1_score

from cade_tf.errors import InputError
from cade_tf.evaluation import classification, logistic
from cade_tf.evaluation.design import Design, Scaling
from cade_tf.evaluation.probes import fit_probe


def blobs(rows=400, width=12, classes=3, seed=0):
    rng = np.random.default_rng(seed)
    labels = rng.integers(classes, size=rows)
    centres = rng.normal(size=(classes, width))
    inputs = (centres[labels] + 1.5 * rng.normal(size=(rows, width))) * rng.uniform(0.1, 9, width)
    return inputs.astype(np.float32), labels


def standardised(inputs):
    return Design.make(inputs, Scaling.fit(inputs))


def one_hot(labels):
    return np.eye(labels.max() + 1, dtype=np.float32)[labels]


@pytest.mark.parametrize("c", [1e-3, 1e-1, 1.0])
def test_the_optimum_is_that_of_scikit_learn(c):
    inputs, labels = blobs()
    design = standardised(inputs)
    ours = logistic.fit(design, one_hot(labels), c=c, exclusive=True, tolerance=1e-6)
    theirs = LogisticRegression(C=c, tol=1e-8, max_iter=5000).fit(design.dense(), labels)
    # Softmax does not change when a constant is added to all outputs of an intercept.
    np.testing.assert_allclose(ours.weights[:-1], theirs.coef_.T, atol=2e-3)
    centred = ours.weights[-1] - ours.weights[-1].mean()
    np.testing.assert_allclose(centred, theirs.intercept_ - theirs.intercept_.mean(), atol=2e-3)


def test_labels_that_do_not_exclude_each_other_are_fit_as_separate_regressions():
    inputs, _ = blobs()
    rng = np.random.default_rng(1)
    design = standardised(inputs)
    labels = (inputs @ rng.normal(size=(12, 4)) + 5 * rng.normal(size=(400, 4)) > 0).astype(np.int8)
    ours = logistic.fit(design, labels.astype(np.float32), c=0.1, exclusive=False, tolerance=1e-6)
    for output in range(4):
        theirs = LogisticRegression(C=0.1, tol=1e-8, max_iter=5000)
        theirs.fit(design.dense(), labels[:, output])
        np.testing.assert_allclose(ours.weights[:-1, output], theirs.coef_[0], atol=2e-3)


def test_sparse_inputs_are_standardised_exactly_without_becoming_dense():
    rng = np.random.default_rng(0)
    dense = (rng.random((60, 20)) * (rng.random((60, 20)) < 0.2)).astype(np.float32)
    dense[:, 3] = 0.0
    sparse = sp.csr_array(dense)
    ours, theirs = standardised(sparse), standardised(dense)
    assert sp.issparse(ours.matrix)
    weights = rng.normal(size=(21, 2)).astype(np.float32)
    residuals = rng.normal(size=(60, 2)).astype(np.float32)
    np.testing.assert_allclose(ours.dot(weights), theirs.dot(weights), atol=1e-4)
    np.testing.assert_allclose(
        ours.transposed_dot(residuals), theirs.transposed_dot(residuals), atol=1e-3
    )
    np.testing.assert_allclose(ours.dense(), theirs.dense(), atol=1e-5)


def test_a_constant_column_becomes_zero_instead_of_infinite():
    inputs = np.full((10, 2), 0.1, np.float32)
    inputs[:, 1] = np.arange(10)
    assert np.abs(standardised(inputs).dense()[:, 0]).max() < 1e-3


def test_cross_validation_penalises_noise_and_frees_signal():
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(300, 40)).astype(np.float32)
    noise = rng.integers(2, size=300)
    signal = (inputs[:, 0] > 0).astype(int)
    chosen = {
        name: logistic.fit_by_cross_validation(
            standardised(inputs), one_hot(labels), exclusive=True
        ).c
        for name, labels in (("noise", noise), ("signal", signal))
    }
    assert chosen["noise"] <= 0.01
    assert chosen["signal"] >= 0.1


@pytest.mark.parametrize("probe", ["sgd", "logreg"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_probes_learn_what_is_linear(probe, kind):
    inputs, labels = blobs(rows=900)
    scores = classification.score(kind(inputs), labels, np.arange(600), np.arange(600, 900), probe)
    assert scores.micro_f1 > 0.75
    assert scores.train_nodes == 600
    assert (scores.c is None) == (probe == "sgd")


@pytest.mark.parametrize("probe", ["sgd", "logreg"])
def test_the_scale_of_embeddings_does_not_matter(probe):
    inputs, labels = blobs(rows=600)
    train, test = np.arange(400), np.arange(400, 600)
    plain = classification.score(inputs, labels, train, test, probe)
    scaled = classification.score(inputs * np.float32(64.0), labels, train, test, probe)
    assert abs(plain.micro_f1 - scaled.micro_f1) < 0.02


@pytest.mark.parametrize("probe", ["sgd", "logreg"])
def test_label_matrices_are_scored_over_the_whole_matrix(probe):
    rng = np.random.default_rng(0)
    inputs = rng.normal(size=(600, 8)).astype(np.float32)
    labels = (inputs[:, :5] + 0.3 * rng.normal(size=(600, 5)) > 0.2).astype(np.int8)
    labels[:, 4] = 0
    scores = classification.score(inputs, labels, np.arange(400), np.arange(400, 600), probe)
    assert scores.micro_f1 > 0.8


def test_f1_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    for shape, top in (((200,), 5), ((200, 7), 2)):
        truth, predicted = rng.integers(top, size=shape), rng.integers(top, size=shape)
        ours = classification.f1_scores(truth, predicted)
        theirs = [f1_score(truth, predicted, average=kind) for kind in ("micro", "macro")]
        np.testing.assert_allclose(ours, theirs)


def test_nodes_without_label_are_left_out():
    inputs, labels = blobs(rows=300)
    labels[::3] = -1
    scores = classification.score(inputs, labels, np.arange(200), np.arange(200, 300), "sgd")
    assert scores.train_nodes + scores.test_nodes == 200


def test_mistakes_are_named():
    inputs, labels = blobs(rows=20)
    with pytest.raises(InputError, match="probe"):
        fit_probe("forest", inputs, labels)
    with pytest.raises(InputError, match="two classes"):
        fit_probe("sgd", inputs, np.zeros(20, int))
    with pytest.raises(InputError, match="embeddings"):
        classification.score(inputs[:10], labels, np.arange(5), np.arange(5, 10))
    with pytest.raises(InputError, match="labelled nodes"):
        classification.score(inputs, np.full(20, -1), np.arange(5), np.arange(5, 10))
