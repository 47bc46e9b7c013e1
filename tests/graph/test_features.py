"""Feature transforms: scikit-learn's semantics, fit on training nodes, kept as arrays."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.preprocessing import StandardScaler, normalize

from cade_tf.config import FeatureOptions
from cade_tf.errors import InputError
from cade_tf.graph.features import FeatureTransform, node_features
from cade_tf.graph.graph import Graph
from cade_tf.graph.structure import structural_features

SCALINGS = ("standard", "log", "tfidf", "log_tfidf", "row", "standard_row", "none")


@pytest.fixture
def counts():
    counts = np.random.default_rng(0).poisson(0.7, (40, 9)).astype(np.float32)
    counts[:, 4] = 0
    counts[:, 5] = 3
    counts[2] = 0
    return counts


def fitted(features, **options) -> FeatureTransform:
    return FeatureTransform.fit(features, FeatureOptions(**options))


def test_standard_equals_scikit_learn(counts):
    train, new = counts[:30], counts[30:]
    expected = StandardScaler().fit(train).transform(new)
    result = fitted(train, feature_scaling="standard").apply(new)
    np.testing.assert_allclose(result, expected, atol=1e-5)
    assert result.dtype == np.float32


def test_a_column_without_variance_is_divided_by_one(counts):
    train = counts[3:30]
    result = fitted(train).apply(train + 2)
    np.testing.assert_allclose(result[:, 5], 2, atol=1e-6)


def test_sparse_features_stay_sparse_and_are_not_centred(counts):
    train, new = sp.csr_array(counts[:30]), sp.csr_array(counts[30:])
    result = fitted(train).apply(new)
    assert sp.issparse(result)
    assert result.dtype == np.float32
    expected = StandardScaler(with_mean=False).fit(train).transform(new)
    np.testing.assert_allclose(result.toarray(), expected.toarray(), atol=1e-5)


def test_densified_features_are_centred(counts):
    result = fitted(sp.csr_array(counts), densify_features=True).apply(sp.csr_array(counts))
    np.testing.assert_allclose(result, StandardScaler().fit_transform(counts), atol=1e-5)


def test_log_tfidf_is_tfidf_of_logarithms(counts):
    result = fitted(counts, feature_scaling="log_tfidf").apply(counts)
    logarithms = np.log1p(counts)
    expected = fitted(logarithms, feature_scaling="tfidf").apply(logarithms)
    np.testing.assert_allclose(result, expected, atol=1e-6)


def test_standard_row_is_the_direction_of_standardised_features(counts):
    result = fitted(counts, feature_scaling="standard_row").apply(counts)
    np.testing.assert_allclose(result, normalize(StandardScaler().fit_transform(counts)), atol=1e-5)


def test_log_is_standard_after_log1p(counts):
    result = fitted(counts, feature_scaling="log").apply(counts)
    np.testing.assert_allclose(result, StandardScaler().fit_transform(np.log1p(counts)), atol=1e-5)


def test_log_refuses_negative_values(counts):
    with pytest.raises(InputError, match="at least 0 for log"):
        fitted(-counts, feature_scaling="log")


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_tfidf_equals_scikit_learn(counts, make):
    train, new = counts[:30], counts[30:]
    expected = TfidfTransformer().fit(train).transform(new).toarray()
    result = fitted(make(train), feature_scaling="tfidf").apply(make(new))
    result = result.toarray() if sp.issparse(result) else result
    np.testing.assert_allclose(result, expected, atol=1e-6)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_row_gives_unit_length_and_leaves_zero_rows(counts, make):
    result = fitted(make(counts), feature_scaling="row").apply(make(counts))
    result = result.toarray() if sp.issparse(result) else result
    np.testing.assert_allclose(result, normalize(counts), atol=1e-6)
    assert (result[2] == 0).all()


def test_none_changes_nothing(counts):
    np.testing.assert_array_equal(fitted(counts, feature_scaling="none").apply(counts), counts)


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_svd_keeps_the_strongest_directions(counts, make):
    transform = fitted(make(counts), feature_scaling="none", feature_svd=3)
    result = transform.apply(make(counts))
    assert result.shape == (40, 3)
    assert (transform.input_width, transform.output_width) == (9, 3)
    singular = np.linalg.svd(counts, compute_uv=False)
    np.testing.assert_allclose(np.linalg.norm(result, axis=0), singular[:3], rtol=1e-3)


def test_svd_repeats_itself(counts):
    first, again = (fitted(counts, feature_svd=3).apply(counts) for _ in range(2))
    np.testing.assert_array_equal(first, again)


def test_svd_wider_than_the_features_is_refused(counts):
    with pytest.raises(InputError, match="feature_svd: expected at most 9"):
        fitted(counts, feature_svd=10)


@pytest.mark.parametrize("scaling", SCALINGS)
@pytest.mark.parametrize("svd", [0, 2])
@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_arrays_carry_the_whole_transform(counts, scaling, svd, make, tmp_path):
    transform = fitted(make(counts[:30]), feature_scaling=scaling, feature_svd=svd)
    np.savez(tmp_path / "t.npz", **transform.to_arrays())
    with np.load(tmp_path / "t.npz", allow_pickle=False) as stored:
        again = FeatureTransform.from_arrays(dict(stored))
    before, after = transform.apply(make(counts)), again.apply(make(counts))
    assert sp.issparse(after) == (make is sp.csr_array and not svd)
    if sp.issparse(after):
        before, after = before.toarray(), after.toarray()
    np.testing.assert_array_equal(before, after)
    assert again.output_width == transform.output_width == before.shape[1]


def test_foreign_arrays_are_refused():
    with pytest.raises(InputError, match="those of a FeatureTransform"):
        FeatureTransform.from_arrays({"scaling": np.array("row")})


def test_another_width_is_refused(counts):
    with pytest.raises(InputError, match=r"shape \[nodes, 9\], as in training"):
        fitted(counts).apply(counts[:, :4])


def test_no_training_nodes_are_refused(counts):
    with pytest.raises(InputError, match="at least one training node"):
        fitted(counts[:0])


def test_a_transform_does_not_touch_its_input(counts):
    for make in (np.array, sp.csr_array):
        for scaling in SCALINGS:
            given = make(counts)
            fitted(given, feature_scaling=scaling).apply(given)
            kept = given.toarray() if sp.issparse(given) else given
            np.testing.assert_array_equal(kept, counts)


def test_a_graph_without_features_gets_structural_ones():
    graph = Graph.from_edges([[0, 1], [0, 2]], num_nodes=4)
    np.testing.assert_array_equal(node_features(graph), structural_features(graph))


def test_features_of_a_graph_are_taken_as_they_are():
    graph = Graph.from_edges([[0, 1]], features=np.eye(2))
    assert node_features(graph) is graph.features
