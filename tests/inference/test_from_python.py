"""What one does with a model in Python: some nodes, neighbours, links, tables, pictures; by id."""

import dataclasses
import sys

import networkx as nx
import numpy as np
import pytest

import cade_tf
from cade_tf.errors import InputError
from cade_tf.inference.pair_scores import dual_affinities
from tests.training.small_run import NODES, small_config, small_graph

IDS = np.array([f"n{i:02}" for i in range(NODES)])


@pytest.fixture(scope="module")
def graph():
    return dataclasses.replace(small_graph(), node_ids=IDS)


@pytest.fixture(scope="module")
def trained(graph):
    config = small_config(model="cade_ms", steps=60, embed_walks=4)
    return cade_tf.train(graph, config, progress=False)


@pytest.fixture(scope="module")
def embeddings(graph, trained):
    return trained.embed(graph, progress=False)


def test_some_nodes_are_embedded_by_id(graph, trained, embeddings):
    some = trained.embed(graph, nodes=["n07", "n03"], progress=False)
    assert some.shape == (2, 8)
    # The order and the company of a node change nothing.
    (alone,) = trained.embed(graph, nodes=["n03"], progress=False)
    np.testing.assert_allclose(some[1], alone, rtol=1e-5, atol=1e-6)
    # Other walks, the same node: its own embedding is nearer than that of most others.
    cosines = embeddings @ alone / np.linalg.norm(embeddings, axis=1)
    assert (cosines > cosines[3]).mean() < 0.3
    assert trained.embed(graph, nodes=[], progress=False).shape == (0, 8)


def test_an_unknown_node_is_named(graph, trained, embeddings):
    with pytest.raises(InputError, match="received nobody"):
        trained.embed(graph, nodes=["n03", "nobody"])
    with pytest.raises(InputError, match="received nobody"):
        cade_tf.neighbors(graph, embeddings, "nobody")


def test_neighbors_are_ids_and_cosines(graph, embeddings):
    ids, cosines = cade_tf.neighbors(graph, embeddings, "n05", top=4)
    unit = embeddings / np.linalg.norm(embeddings, axis=1, keepdims=True)
    want = unit @ unit[5]
    want[5] = -2
    assert ids.tolist() == IDS[np.argsort(-want)[:4]].tolist()
    np.testing.assert_allclose(cosines, np.sort(want)[::-1][:4], rtol=1e-5)


def test_links_are_scored_by_ids(graph, trained):
    scores = trained.model.score_links(graph, [["n01", "n02"], ["n05", "n00"]], seed=3)
    positions = np.array([[1, 2], [5, 0]])
    want = dual_affinities(trained.model, graph, positions, seed=3, progress=False)
    np.testing.assert_array_equal(scores, want)
    with pytest.raises(InputError, match="pairs"):
        trained.model.score_links(graph, ["n01", "n02"])


@pytest.mark.parametrize("seed", ["x", 1.5, -1, 2**31, True])
def test_a_seed_that_is_none_is_refused(graph, trained, embeddings, seed, tmp_path):
    model = trained.model
    for work in (
        lambda: model.embed(graph, seed=seed, progress=False),
        lambda: model.score_links(graph, [["n01", "n02"]], seed=seed),
        lambda: model.rank_links(graph, "n04", embeddings, seed=seed),
        lambda: model.export(tmp_path, seed=seed),
    ):
        with pytest.raises(InputError, match="seed: expected a whole number from 0 to 2147483647"):
            work()


@pytest.mark.parametrize("by", ["dot", "dual"])
def test_links_that_a_node_lacks_are_ranked(graph, trained, embeddings, by):
    ids, scores = trained.model.rank_links(graph, "n04", embeddings, top=5, by=by)
    assert len(ids) == 5
    assert (np.diff(scores) <= 0).all()
    linked = IDS[graph.neighbors(4)]
    assert not set(ids) & {"n04", *linked}


def test_embeddings_are_a_frame_by_id(graph, embeddings, monkeypatch):
    frame = cade_tf.embeddings_frame(graph, embeddings)
    assert frame.index.name == "node_id"
    assert frame.columns.tolist() == [f"x{i}" for i in range(8)]
    np.testing.assert_array_equal(frame.loc["n09"], embeddings[9])
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(InputError, match="pip install pandas"):
        cade_tf.embeddings_frame(graph, embeddings)


def test_embeddings_are_drawn_with_the_classes_of_the_graph(graph, embeddings):
    figure = cade_tf.plot_embeddings(graph, embeddings)
    (axes,) = figure.axes
    assert len(axes.collections) == graph.num_classes
    assert sum(len(points.get_offsets()) for points in axes.collections) == NODES
    assert figure._repr_png_().startswith(b"\x89PNG")


@pytest.mark.parametrize("function", ["embeddings_frame", "plot_embeddings"])
def test_embeddings_of_another_graph_are_refused(function, graph, embeddings):
    with pytest.raises(InputError, match=f"{NODES} rows"):
        getattr(cade_tf, function)(graph, embeddings[:-1])


def test_what_train_cannot_take_is_said_with_what_to_do(graph):
    with pytest.raises(InputError, match=r"received learning_rat\. Did you mean learning_rate"):
        cade_tf.train(graph, learning_rat=1e-3)
    with pytest.raises(InputError, match=r"received Graph.*from_networkx"):
        cade_tf.train(nx.karate_club_graph())
