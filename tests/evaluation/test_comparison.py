"""The comparison of embeddings: by labels, by few labels, by clusters and by hidden edges."""

import numpy as np
import pytest
import scipy.sparse as sp

from cade_tf.errors import InputError
from cade_tf.evaluation import comparison
from cade_tf.evaluation.comparison import (
    LinkQuality,
    NodeScores,
    compare_links,
    compare_nodes,
    table,
    unit_rows,
)
from cade_tf.graph.graph import Graph
from cade_tf.graph.link_splits import hidden_edges

NODES, CLASSES = 600, 3
SEEN, UNSEEN = np.arange(400), np.arange(400, NODES)


@pytest.fixture(scope="module")
def labels():
    return np.random.default_rng(0).integers(0, CLASSES, NODES)


def telling(labels, noise):
    rng = np.random.default_rng(1)
    return np.eye(8)[labels] + noise * rng.normal(size=(NODES, 8))


def test_what_tells_the_classes_wins_in_every_column(labels):
    good, bad = compare_nodes(
        {"good": telling(labels, 0.1), "bad": telling(labels, 3.0)}, labels, SEEN, UNSEEN
    )
    assert (good.method, bad.method) == ("good", "bad")
    assert good.all_labels > 0.95 > bad.all_labels
    assert good.few_labels > 0.95 > bad.few_labels
    assert good.nmi > 0.9 > bad.nmi


def test_few_labels_suffer_from_noise_that_all_labels_average_out(labels, monkeypatch):
    monkeypatch.setattr(comparison, "FEW_LABELS", 4)
    rng = np.random.default_rng(2)
    noisy = np.concatenate([telling(labels, 0.5), 0.5 * rng.normal(size=(NODES, 60))], axis=1)
    (row,) = compare_nodes({"noisy": noisy}, labels, SEEN, UNSEEN)
    assert row.few_labels < row.all_labels - 0.05


def test_the_length_of_vectors_does_not_count(labels):
    vectors = telling(labels, 0.8)
    stretched = vectors * np.random.default_rng(3).uniform(0.1, 9, (NODES, 1))
    plain, long = compare_nodes({"plain": vectors, "long": stretched}, labels, SEEN, UNSEEN)
    assert plain.all_labels == pytest.approx(long.all_labels)
    assert plain.few_labels == pytest.approx(long.few_labels)


def test_sparse_vectors_score_as_dense_ones(labels):
    vectors = np.abs(telling(labels, 0.3)).astype(np.float32)
    dense, sparse = compare_nodes(
        {"dense": vectors, "sparse": sp.csr_array(vectors)}, labels, SEEN, UNSEEN, draws=2
    )
    assert dense.all_labels == pytest.approx(sparse.all_labels, abs=0.01)
    assert dense.few_labels == pytest.approx(sparse.few_labels, abs=0.01)


def test_labels_that_overlap_have_no_clusters(labels):
    matrix = np.eye(CLASSES, dtype=np.int8)[labels]
    matrix[:, 0] |= matrix[:, 1]
    (row,) = compare_nodes({"good": telling(labels, 0.1)}, matrix, SEEN, UNSEEN)
    assert row.nmi is None
    assert row.all_labels > 0.95
    assert row.few_labels > 0.9


def test_nodes_without_label_and_rare_classes_are_no_obstacle(labels):
    gaps = labels.copy()
    gaps[::2] = -1
    gaps[[1, 3]] = CLASSES + 1
    (row,) = compare_nodes({"good": telling(labels, 0.1)}, gaps, SEEN, UNSEEN)
    assert row.all_labels > 0.95


def test_a_wrong_number_of_rows_names_the_method(labels):
    with pytest.raises(InputError, match="embeddings of short"):
        compare_nodes({"short": np.ones((5, 2))}, labels, SEEN, UNSEEN)


def test_no_labelled_unseen_node_is_an_error(labels):
    with pytest.raises(InputError, match="400 and 0"):
        compare_nodes({"good": telling(labels, 0.1)}, labels, SEEN, UNSEEN[:0])


@pytest.mark.parametrize("sparse", [False, True])
def test_links_are_told_by_direction_or_by_a_function(sparse):
    rng = np.random.default_rng(0)
    group = rng.integers(0, 10, 200)
    edges = [(a, b) for a in range(200) for b in range(a) if group[a] == group[b]]
    graph = Graph.from_edges(np.array(edges), num_nodes=200)
    split = hidden_edges(graph, 0.1, unseen_ratio=0.0, seed=0)
    vectors = np.eye(10, dtype=np.float32)[group] * rng.uniform(1, 9, (200, 1)).astype(np.float32)
    given = sp.csr_array(vectors) if sparse else vectors
    own, chance = compare_links(
        {"own": given}, split, functions={"chance": lambda pairs: np.zeros(len(pairs))}
    )
    assert (own.method, own.auc, own.ap) == ("own", 1.0, 1.0)
    assert (chance.method, chance.auc) == ("chance", 0.5)


def test_a_zero_vector_stays_zero():
    assert unit_rows(np.array([[0.0, 0.0], [3.0, 4.0]])).tolist() == [[0, 0], [0.6, 0.8]]
    sparse = unit_rows(sp.csr_array(np.array([[0.0, 0.0], [3.0, 4.0]])))
    np.testing.assert_allclose(sparse.toarray(), [[0, 0], [0.6, 0.8]])


def test_the_table_names_columns_and_leaves_out_what_there_is_not():
    text = table([NodeScores("raw features", 0.5, 0.25, None), NodeScores("model", 0.75, 0.5, 0.4)])
    head, _, first, second = text.splitlines()
    assert head.split("  ")[0] == "method"
    assert "all labels  few labels  nmi" in head
    assert first.split() == ["raw", "features", "0.500", "0.250"]
    assert second.split() == ["model", "0.750", "0.500", "0.400"]
    assert "auc" in table([LinkQuality("model", 0.5, 0.5)])
