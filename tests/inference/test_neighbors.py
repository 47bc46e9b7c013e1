"""The nearest nodes by cosine, against a literal search."""

import numpy as np
import pytest

from cade_tf.errors import InputError
from cade_tf.inference import neighbors
from cade_tf.inference.neighbors import nearest


@pytest.fixture
def embeddings():
    return np.random.default_rng(0).normal(size=(300, 8)).astype(np.float32)


def literal(embeddings, row, top):
    unit = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
    cosines = unit @ unit[row]
    order = [node for node in np.argsort(-cosines, kind="stable") if node != row][:top]
    return order, cosines[order]


@pytest.mark.parametrize("block", [7, 100, 1000])
def test_it_equals_a_literal_search_whatever_the_blocks(embeddings, block, monkeypatch):
    monkeypatch.setattr(neighbors, "BLOCK", block)
    found, cosines = nearest(embeddings, np.array([5, 250]), 4)
    for place, row in enumerate([5, 250]):
        order, values = literal(embeddings, row, 4)
        assert found[place].tolist() == order
        np.testing.assert_allclose(cosines[place], values, rtol=1e-5)


def test_a_memory_mapped_file_will_do(embeddings, tmp_path):
    np.save(tmp_path / "e.npy", embeddings)
    mapped = np.load(tmp_path / "e.npy", mmap_mode="r")
    np.testing.assert_array_equal(
        nearest(mapped, np.array([1]), 3)[0], nearest(embeddings, np.array([1]), 3)[0]
    )


def test_a_node_is_never_its_own_neighbour_even_among_equals():
    same = np.ones((5, 3), np.float32)
    found, cosines = nearest(same, np.array([0, 3]), 3)
    assert found.tolist() == [[1, 2, 3], [0, 1, 2]]
    np.testing.assert_allclose(cosines, 1, rtol=1e-6)


def test_a_small_graph_gives_all_it_has_and_zero_vectors_are_far():
    vectors = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    found, cosines = nearest(vectors, np.array([0]), 10)
    assert found.tolist() == [[1, 2]]
    np.testing.assert_allclose(cosines, [[0.5**0.5, 0.0]], rtol=1e-6)


def test_faiss_finds_nearly_the_same(embeddings):
    pytest.importorskip("faiss")
    rows = np.arange(50)
    exact, _ = nearest(embeddings, rows, 5)
    found, cosines = nearest(embeddings, rows, 5, method="faiss")
    shared = [len(set(a) & set(b)) for a, b in zip(exact.tolist(), found.tolist(), strict=True)]
    assert np.mean(shared) > 4
    assert (np.diff(cosines, axis=1) <= 1e-6).all()
    assert (found != rows[:, None]).all()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"rows": np.array([300])}, "rows"),
        ({"rows": np.array([-1])}, "rows"),
        ({"top": 0}, "top"),
        ({"method": "guess"}, "method: .*exact, faiss"),
    ],
)
def test_mistakes_are_named(embeddings, arguments, message):
    with pytest.raises(InputError, match=message):
        nearest(**{"embeddings": embeddings, "rows": np.array([0]), **arguments})
