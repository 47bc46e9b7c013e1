"""A sharded graph is the graph, and its tables are those of the graph and of its training part."""

import json

import numpy as np
import pytest
import scipy.sparse as sp
import tensorflow as tf

from cade_tf.config import FeatureOptions
from cade_tf.errors import InputError
from cade_tf.graph import arrays
from cade_tf.graph.features import FeatureTransform
from cade_tf.graph.graph import Graph
from cade_tf.graph.readers.shards import ShardedGraph
from cade_tf.sampling import random
from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.sampling.neighbors import draw_neighbors
from cade_tf.scale.shard_tables import MappedTables, ShardedTables, make_shard_tables
from cade_tf.scale.sharding import write_shards

NODES = 40
SEEN = np.flatnonzero(np.arange(NODES) % 4 != 1)


def some_graph(*, sparse: bool = False, weighted: bool = False, featureless: bool = False) -> Graph:
    rng = np.random.default_rng(0)
    edges = rng.integers(NODES - 1, size=(150, 2))
    features = rng.normal(size=(NODES, 5)) * (rng.random((NODES, 5)) < 0.5)
    return Graph.from_edges(
        edges,
        num_nodes=NODES,
        features=None if featureless else sp.csr_array(features) if sparse else features,
        labels=rng.integers(3, size=NODES),
        node_ids=np.array([f"n{i}" for i in range(NODES)]),
        edge_weights=rng.uniform(0.5, 2, len(edges)) if weighted else None,
        name="some",
    )


def in_shards(tmp_path, shards: int = 3, **kind: bool) -> ShardedGraph:
    write_shards(some_graph(**kind), SEEN, tmp_path / "shards", shards)
    return ShardedGraph.open(tmp_path / "shards")


KINDS = [{}, {"sparse": True}, {"weighted": True}, {"featureless": True}]


@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("shards", [1, 3])
def test_the_graph_comes_back(tmp_path, kind, shards):
    graph, back = some_graph(**kind), in_shards(tmp_path, shards, **kind).to_graph()
    for name in ("indptr", "indices", "labels", "node_ids", "edge_weights"):
        np.testing.assert_array_equal(getattr(back, name), getattr(graph, name))
    if graph.features is not None:
        dense = [
            g.features.toarray() if sp.issparse(g.features) else g.features for g in (graph, back)
        ]
        np.testing.assert_array_equal(*dense)
    np.testing.assert_array_equal(np.flatnonzero(back.split == 0), SEEN)


def standard(graph: ShardedGraph) -> FeatureTransform:
    return FeatureTransform.fit_parts(graph.features(seen_only=True), FeatureOptions())


def tables_of(graph: ShardedGraph, place: str, *, training: bool) -> GraphTables:
    transform = standard(graph)
    if place == "mapped":
        return make_shard_tables(graph, MappedTables(graph, transform, 1 << 20), training=training)

    def make_variable(shape, dtype):
        pieces = np.array_split(np.zeros(shape, dtype.as_numpy_dtype), 2)
        return tf.__internal__.distribute.ShardedVariable([tf.Variable(p) for p in pieces])

    tables = ShardedTables(graph, transform, make_variable)
    return make_shard_tables(graph, tables, training=training)


@pytest.mark.parametrize("place", ["mapped", "sharded"])
@pytest.mark.parametrize("kind", KINDS, ids=str)
@pytest.mark.parametrize("training", [True, False])
def test_tables_draw_exactly_the_neighbours_of_their_view(tmp_path, place, kind, training):
    tables = tables_of(in_shards(tmp_path, **kind), place, training=training)
    graph = some_graph(**kind)
    keys = random.fold_in(random.make_key(0, 1), tf.range(NODES))
    drawn = draw_neighbors(tables, tf.range(NODES, dtype=tf.int64), keys, 400).numpy()
    for node in range(NODES):
        expected = set(graph.neighbors(node).tolist())
        if training:
            expected &= set(SEEN.tolist()) if node in SEEN else set()
        assert set(drawn[node].tolist()) == (expected or {node})


@pytest.mark.parametrize("place", ["mapped", "sharded"])
@pytest.mark.parametrize("sparse", [False, True])
def test_features_are_scaled_as_those_of_the_training_nodes(tmp_path, place, sparse):
    graph = some_graph(sparse=sparse)
    tables = tables_of(in_shards(tmp_path, sparse=sparse), place, training=True)
    expected = FeatureTransform.fit(graph.features[SEEN], FeatureOptions()).apply(graph.features)
    rows = tables.features.lookup(tf.range(NODES))
    rows = tf.sparse.to_dense(rows).numpy() if sparse else rows.numpy()
    np.testing.assert_allclose(
        rows, expected.toarray() if sparse else expected, rtol=1e-4, atol=1e-5
    )


def test_walks_start_at_and_negatives_are_nodes_of_the_training_graph(tmp_path):
    graph = in_shards(tmp_path)
    part = some_graph().subgraph(SEEN)
    walkers = np.concatenate(graph.parts("walkers"))
    np.testing.assert_array_equal(walkers, SEEN[part.degrees > 0])
    chances = np.diff(np.concatenate([[0.0], *graph.parts("negatives")]))
    weights = np.maximum(part.degrees, 1) ** 0.75
    np.testing.assert_allclose(chances[SEEN], weights / weights.sum())
    assert chances.sum() == pytest.approx(1.0)


@pytest.mark.parametrize(
    "scaling", ["standard", "log", "tfidf", "log_tfidf", "row", "standard_row", "none"]
)
@pytest.mark.parametrize("sparse", [False, True])
def test_a_transform_fit_in_parts_is_that_of_the_whole(scaling, sparse):
    features = np.abs(some_graph().features)
    features = sp.csr_array(features) if sparse else features
    options = FeatureOptions(feature_scaling=scaling)
    whole = FeatureTransform.fit(features, options).apply(features)
    parts = FeatureTransform.fit_parts([features[:7], features[7:7], features[7:]], options)
    difference = whole - parts.apply(features)
    assert abs(difference).max() < 1e-5


def test_an_svd_needs_all_features_at_once():
    features = some_graph().features
    with pytest.raises(InputError, match="feature_svd"):
        FeatureTransform.fit_parts([features, features], FeatureOptions(feature_svd=2))


def test_what_is_missing_is_named(tmp_path):
    with pytest.raises(InputError, match="a folder of shards"):
        ShardedGraph.open(tmp_path)
    graph = in_shards(tmp_path)
    with pytest.raises(InputError, match="array 'nothing'"):
        graph.parts("nothing")
    next(graph.folder.glob("shard-00001*")).unlink()
    with pytest.raises(InputError, match=r"shard-00001-of-00003\.npz"):
        ShardedGraph.open(graph.folder)


def test_other_versions_are_refused(tmp_path):
    graph = in_shards(tmp_path)
    path = graph.folder / "graph.json"
    path.write_text(json.dumps({**json.loads(path.read_text()), "format": "cade_tf.shards.9"}))
    with pytest.raises(InputError, match=r"cade_tf\.shards\.1"):
        ShardedGraph.open(graph.folder)


def test_more_shards_than_nodes_are_refused(tmp_path):
    with pytest.raises(InputError, match="from 1 to 40"):
        write_shards(some_graph(), SEEN, tmp_path, NODES + 1)


def test_the_fingerprint_tells_other_graphs_apart(tmp_path):
    one, other = in_shards(tmp_path / "a"), in_shards(tmp_path / "b", weighted=True)
    assert one.fingerprint == in_shards(tmp_path / "c").fingerprint != other.fingerprint


def change(folder, **changes):
    path = folder / "graph.json"
    fields = json.loads(path.read_text()) | changes
    path.write_text(json.dumps({name: v for name, v in fields.items() if v != "left out"}))


@pytest.mark.parametrize(
    "changes",
    [
        {"feature_names": "left out"},
        {"feature_names": "text"},
        {"ends": []},
        {"ends": [9, 3, 40]},
        {"ends": "text"},
        {"width": -1},
        {"width": 3.5},
        {"sparse": None},
        {"surprise": 1},
    ],
)
def test_a_damaged_description_is_named(tmp_path, changes):
    graph = in_shards(tmp_path)
    change(graph.folder, **changes)
    with pytest.raises(InputError, match=r"graph\.json"):
        ShardedGraph.open(graph.folder)


@pytest.mark.parametrize("changes", [{"ends": [13, 26, 39]}, {"sparse": True}, {"weighted": True}])
def test_a_description_of_another_graph_is_refused(tmp_path, changes):
    graph = in_shards(tmp_path)
    change(graph.folder, **changes)
    with pytest.raises(InputError, match="shard"):
        ShardedGraph.open(graph.folder).to_graph()


@pytest.mark.parametrize("name", ["split", "features", "spans", "neighbors"])
def test_an_array_that_is_missing_or_changed_is_noticed(tmp_path, name):
    graph = in_shards(tmp_path)
    path = graph.folder / "shard-00001-of-00003.npz"
    members = arrays.read_arrays(path, memory_map=False)
    arrays.write_arrays(path, members | {name: np.zeros_like(members[name])})
    with pytest.raises(InputError, match="the shards that were written"):
        graph.to_graph()
    del members[name]
    arrays.write_arrays(path, members)
    with pytest.raises(InputError, match=f"shard-00001-of-00003.*{name}|that were written"):
        graph.to_graph()
    if name in ("split", "features"):
        with pytest.raises(InputError, match=rf"shard-00001-of-00003\.npz: expected.*'{name}'"):
            list(graph.features())


def test_positional_ids_are_remembered(tmp_path):
    assert in_shards(tmp_path).has_given_ids
    part = Graph.from_edges([[0, 1], [1, 2]], features=np.eye(3)).subgraph([0, 2, 1])
    write_shards(part, np.arange(3), tmp_path / "part", 2)
    assert not ShardedGraph.open(tmp_path / "part").has_given_ids
    assert not ShardedGraph.open(tmp_path / "part").to_graph().has_given_ids
