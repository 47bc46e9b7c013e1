"""Algorithm 1 equals its transcription in NumPy, given the same walks and draws."""

import sys

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.inference.algorithm1 import embed_all_nodes
from cade_tf.sampling import random
from cade_tf.sampling.walks import walk
from tests import engine, oracle

WALKS, LENGTH, SEED = 2, 3, 11
KNOWN = np.where(np.arange(engine.NODES) < 7, np.arange(engine.NODES), -1)


def embed(model, tables, **changes):
    settings = {"walks": WALKS, "walk_length": LENGTH, "seed": SEED, "progress": False, **changes}
    return embed_all_nodes(model, tables, **settings)


def pairs_of_all_walks(tables):
    """Every pair of every walk; an isolated node, which meets nobody, is its own context."""
    item = tf.range(WALKS * engine.NODES, dtype=tf.int64)
    keys = random.fold_in(random.make_key(SEED, random.Stream.EMBEDDING_WALK), item)
    starts = item % engine.NODES
    visited = walk(tables, starts, keys, LENGTH).numpy()
    pairs = []
    for start, nodes in zip(starts.numpy().tolist(), visited.tolist(), strict=True):
        pairs += [(start, start)] * LENGTH * (start == engine.ISOLATED)
        pairs += oracle.pairs_of_walk([start, *nodes])
    return pairs


@pytest.mark.parametrize("name", engine.MODELS)
def test_embeddings_are_the_means_of_all_dual_representations(name):
    graph, tables = engine.small_graph(), engine.small_tables(known=KNOWN)
    model = engine.small_model(name, k=2)
    # One batch, so that all pairs share the draws of the batch that starts at walk 0.
    draws = random.make_key(SEED, random.Stream.EMBEDDING_NEIGHBOR, 0)
    truth = engine.OracleModel(model, tables, graph, draws, KNOWN)
    duals = {}

    def dual(v, p):
        if (v, p) not in duals:
            duals[v, p] = truth.dual(v, p)
        return duals[v, p]

    expected = oracle.embed_all(engine.NODES, pairs_of_all_walks(tables), dual)
    got = embed(model, tables)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


def test_the_seed_decides_everything_and_the_batch_size_only_the_draws():
    tables = engine.small_tables(known=KNOWN)
    model = engine.small_model("cade_ms", k=2)
    once = embed(model, tables, batch_size=7)
    np.testing.assert_array_equal(once, embed(model, tables, batch_size=7))
    assert np.abs(once - embed(model, tables, batch_size=7, seed=12)).max() > 1e-3
    # Another batch size draws other neighbourhoods, for which an isolated node has no choice.
    other = embed(model, tables, batch_size=1024)
    assert np.abs(once - other).max() > 1e-3
    np.testing.assert_allclose(once[engine.ISOLATED], other[engine.ISOLATED], rtol=1e-5)


def test_walks_do_not_depend_on_the_batch_size():
    # Where there is nothing to draw but the walks, embeddings do not either: with a fan-out of 1
    # on a path's ends everything else is fixed, so a graph of single edges is enough.
    edges = [[node, node + 1] for node in range(0, engine.NODES - 1, 2)]
    graph = engine.Graph.from_edges(
        edges, num_nodes=engine.NODES, features=engine.small_graph().features
    )
    tables = engine.make_graph_tables(graph, graph.features)
    model = engine.small_model("cade_ma", k=2)
    np.testing.assert_allclose(
        embed(model, tables, batch_size=5), embed(model, tables, batch_size=100), rtol=1e-5
    )


def test_progress_counts_the_walks(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    embed(engine.small_model("graphsage"), engine.small_tables(), progress=True, batch_size=4)
    shown = capsys.readouterr().err
    assert shown.splitlines()[-1].count(f"{WALKS * engine.NODES}/{WALKS * engine.NODES} walks") == 1
