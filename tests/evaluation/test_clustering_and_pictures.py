import sys

import numpy as np
import pytest
import scipy.sparse as sp

from cade_tf.display import save_figure
from cade_tf.errors import InputError
from cade_tf.evaluation import clustering, pictures
from cade_tf.graph.graph import Graph


def groups(seed=0):
    rng = np.random.default_rng(seed)
    labels = np.arange(90) % 3
    return (10.0 * np.eye(3)[labels] + rng.normal(size=(90, 3))).astype(np.float32), labels


def test_clusters_that_are_the_classes_agree_fully():
    embeddings, labels = groups()
    scores = clustering.score(embeddings, labels, np.arange(90))
    assert (scores.nmi, scores.ari, scores.clusters) == (1.0, 1.0, 3)


def test_sparse_vectors_with_long_positions_are_clustered():
    embeddings, labels = groups()
    sparse = sp.csr_array(embeddings)
    sparse.indices, sparse.indptr = sparse.indices.astype(np.int64), sparse.indptr.astype(np.int64)
    assert clustering.score(sparse, labels, np.arange(90)).nmi == 1.0


def test_clusters_of_noise_agree_with_nothing():
    embeddings = np.random.default_rng(0).normal(size=(600, 3))
    scores = clustering.score(embeddings, np.arange(600) % 3, np.arange(600))
    assert abs(scores.ari) < 0.02


def test_nodes_without_label_are_not_clustered():
    embeddings, labels = groups()
    labels = np.where(np.arange(90) < 30, -1, labels)
    embeddings[:30] = 1e6
    assert clustering.score(embeddings, labels, np.arange(90)).nmi == 1.0


def test_label_matrices_and_single_classes_cannot_be_clustered():
    embeddings, labels = groups()
    with pytest.raises(InputError, match="overlap"):
        clustering.score(embeddings, np.eye(3, dtype=int)[labels], np.arange(90))
    with pytest.raises(InputError, match="two classes"):
        clustering.score(embeddings, np.zeros(90, int), np.arange(90))


@pytest.mark.parametrize("with_labels", [True, False])
def test_a_picture_is_written(tmp_path, with_labels):
    embeddings, labels = groups()
    path = tmp_path / "new" / "picture.png"
    graph = Graph.from_edges([[0, 1]], num_nodes=90, labels=labels if with_labels else None)
    save_figure(pictures.plot_embeddings(graph, embeddings, title="groups"), path)
    assert path.read_bytes()[:4] == b"\x89PNG"
    assert [p.name for p in path.parent.iterdir()] == ["picture.png"]


def test_a_missing_matplotlib_says_what_to_install(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InputError, match=r"cade_tf\[plot\]"):
        pictures.plot_embeddings(Graph.from_edges([[0, 8]]), np.zeros((9, 2)))


def test_a_missing_umap_says_what_to_install(monkeypatch):
    embeddings, _ = groups()
    graph = Graph.from_edges([[0, 1]], num_nodes=90)
    monkeypatch.setitem(sys.modules, "umap", None)
    with pytest.raises(InputError, match=r"cade_tf\[umap\]"):
        pictures.plot_embeddings(graph, embeddings, method="umap")
    with pytest.raises(InputError, match="one of tsne, umap"):
        pictures.plot_embeddings(graph, embeddings, method="pca")


def test_umap_draws_the_same_picture_twice():
    pytest.importorskip("umap")
    embeddings, _ = groups()
    graph = Graph.from_edges([[0, 1]], num_nodes=90)
    first, second = (
        pictures.plot_embeddings(graph, embeddings, method="umap")._repr_png_() for _ in range(2)
    )
    assert first == second
