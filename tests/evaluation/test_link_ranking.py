"""Hidden edges are found by what was learned from the others."""

import numpy as np
import pytest

from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.evaluation.link_ranking import predict_links, rank_links
from cade_tf.graph.graph import Graph
from cade_tf.training.trainer import train

SMALL = Config(k=2, dim=16, fanouts=(5, 5), batch_size=64, learning_rate=1e-2, steps=60)


def two_groups(seed=0):
    """Sixty nodes in two groups, with dense links within each and no others."""
    rng = np.random.default_rng(seed)
    group = np.arange(60) % 2
    pairs = np.stack(np.triu_indices(60, 1), axis=1)
    pairs = pairs[group[pairs[:, 0]] == group[pairs[:, 1]]]
    edges = pairs[rng.random(len(pairs)) < 0.3]
    features = rng.normal(size=(60, 8)) + group[:, None]
    return Graph.from_edges(edges, features=features, num_nodes=60), group


def test_hidden_links_within_groups_are_found():
    graph, _ = two_groups()
    found = predict_links(graph, SMALL, hidden_ratio=0.2, progress=False)
    # Half of the pairs without an edge are within a group too, so that 0.75 is perfect.
    assert found.scores["dual"]["auc"] > 0.62
    assert found.scores["dot"]["auc"] > 0.62
    assert found.embeddings.shape == (60, 16)


def test_training_sees_neither_hidden_edges_nor_unseen_nodes():
    graph, _ = two_groups()
    config = SMALL.replace(steps=0)
    found = predict_links(graph, config, hidden_ratio=0.2, unseen_ratio=0.5, progress=False)
    assert len(found.trained.model.prepared().known_ids) == 30
    assert not np.isin(found.split.unseen, found.trained.model.prepared().known_ids).any()


@pytest.fixture(scope="module")
def trained():
    graph, group = two_groups()
    run = train(graph, SMALL, progress=False)
    return run.model, graph, group, run.embed(graph, progress=False)


@pytest.mark.parametrize("by", ["dual", "dot"])
def test_a_node_is_offered_links_of_its_own_group(trained, by):
    model, graph, group, embeddings = trained
    found, scores = rank_links(model, graph, 7, embeddings, top=5, by=by)
    assert (group[found] == group[7]).mean() >= 0.8
    assert (np.diff(scores) <= 0).all()
    linked = graph.indices[graph.indptr[7] : graph.indptr[8]]
    assert not np.isin(found, [7, *linked]).any()


def test_the_shortlist_is_the_best_by_dot_product(trained):
    model, graph, _, embeddings = trained
    best, _ = rank_links(model, graph, 7, embeddings, top=4, by="dot")
    found, _ = rank_links(model, graph, 7, embeddings, top=4, shortlist=4)
    assert sorted(found) == sorted(best)


def test_a_node_with_links_to_all_others_lacks_none(trained):
    model, _, _, embeddings = trained
    star = Graph.from_edges(
        [[0, other] for other in range(1, 60)], features=np.zeros((60, 8)), num_nodes=60
    )
    found, scores = rank_links(model, star, 0, embeddings)
    assert len(found) == len(scores) == 0


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"by": "cosine"}, "by: expected one of dual, dot"),
        ({"node": 60}, "node: expected a position from 0 to 59"),
        ({"embeddings": np.zeros((3, 16))}, "embeddings: expected 60 rows"),
    ],
)
def test_mistakes_are_named(trained, changes, message):
    model, graph, _, embeddings = trained
    with pytest.raises(InputError, match=message):
        rank_links(
            **{"model": model, "graph": graph, "node": 0, "embeddings": embeddings} | changes
        )
