"""Algorithm 1 equals its transcription in NumPy, given the same walks and draws."""

import itertools

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.inference import algorithm1, whole_pass
from cade_tf.inference.algorithm1 import embed_all_nodes
from cade_tf.progress import Progress
from cade_tf.sampling import random
from cade_tf.sampling.walks import walk
from tests import engine, oracle

WALKS, LENGTH, SEED = 2, 3, 11
KNOWN = np.where(np.arange(engine.NODES) < 7, np.arange(engine.NODES), -1)


def embed(model, tables, **changes):
    settings = {"walks": WALKS, "walk_length": LENGTH, "seed": SEED, "progress": False, **changes}
    return embed_all_nodes(model, tables, **settings)


def pairs_of_pass(tables, number):
    """Every pair of a pass's walks; an isolated node, which meets nobody, is its own context."""
    key = random.make_key(SEED, random.Stream.EMBEDDING_WALK, number)
    starts = tf.range(engine.NODES, dtype=tf.int64)
    visited = walk(tables, starts, random.fold_in(key, starts), LENGTH).numpy()
    pairs = []
    for start, nodes in enumerate(visited.tolist()):
        pairs += [(start, start)] * LENGTH * (start == engine.ISOLATED)
        pairs += oracle.pairs_of_walk([start, *nodes])
    return pairs


def expected_embeddings(model, tables, graph, *, shared=1):
    """Algorithm 1 by the oracle: `shared` passes have the same draws, so a pair names its pass."""
    truths = [
        engine.OracleModel(
            model,
            tables,
            graph,
            random.make_key(SEED, random.Stream.EMBEDDING_NEIGHBOR, number // shared),
            KNOWN,
        )
        for number in range(WALKS)
    ]
    pairs = [pairs_of_pass(tables, number) for number in range(WALKS)]
    remaining = iter([truth for truth, few in zip(truths, pairs, strict=True) for _ in few])
    return oracle.embed_all(
        engine.NODES, list(itertools.chain(*pairs)), lambda v, p: next(remaining).dual(v, p)
    )


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("cade_ms", {}),
        ("cade_ms", {"fanouts": (2, 2, 2), "normalize": "both"}),
        ("cade_ms", {"dim": 4 * engine.WIDTH}),
        ("cade_ma", {}),
        ("cade_ma", {"attention_score": "tanh", "aggregator": "pool"}),
        ("cade_gb", {"fanouts": (3,)}),
        ("graphsage", {"normalize": "none"}),
        ("graphsage", {"dim": 4 * engine.WIDTH}),
    ],
)
def test_embeddings_are_the_means_of_all_dual_representations(name, options):
    graph, tables = engine.small_graph(), engine.small_tables(known=KNOWN)
    model = engine.small_model(name, k=2, **options)
    expected = expected_embeddings(model, tables, graph)
    got = embed(model, tables)
    assert got.dtype == np.float32
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("whole_pass_bytes", [0, 1 << 30])
@pytest.mark.parametrize("name", ["graphsage", "cade_ms", "cade_ma"])
def test_passes_of_one_draw_share_their_neighbourhoods(name, whole_pass_bytes, monkeypatch):
    monkeypatch.setattr(algorithm1, "FEWEST_DRAWS", 1)
    graph, tables = engine.small_graph(), engine.small_tables(known=KNOWN)
    model = engine.small_model(name, k=2)
    expected = expected_embeddings(model, tables, graph, shared=WALKS)
    assert np.abs(expected - expected_embeddings(model, tables, graph)).max() > 1e-3
    got = embed(model, tables, whole_pass_bytes=whole_pass_bytes)
    np.testing.assert_allclose(got, expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("dim", [engine.DIM, 4 * engine.WIDTH])
def test_neither_the_batch_nor_the_memory_for_a_pass_changes_more_than_rounding(dim):
    graph, tables = engine.small_graph(sparse=True), engine.small_tables(sparse=True, known=KNOWN)
    model = engine.small_model("cade_ms", k=2, dim=dim)
    expected = expected_embeddings(model, tables, graph)
    for changes in ({"batch_size": 4}, {"batch_size": 4, "whole_pass_bytes": 0}):
        np.testing.assert_allclose(embed(model, tables, **changes), expected, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"dim": 4 * engine.WIDTH},
        {"fanouts": (2, 2, 2)},
        {"aggregator": "pool"},
        {"aggregator": "lstm"},
    ],
)
@pytest.mark.parametrize(
    "sizes", [{"JOINED_BYTES": 0}, {"SMALL_NODES": 0}, {"JOINED_BYTES": 0, "SMALL_NODES": 0}]
)
@pytest.mark.parametrize("name", ["graphsage", "cade_ms"])
def test_a_pass_may_be_done_in_parts(name, sizes, options, monkeypatch):
    tables = engine.small_tables(known=KNOWN)
    model = engine.small_model(name, k=2, **options)
    expected = embed(model, tables)
    small = {"CHUNK_NODES": 4, "CHUNK_DRAWS": 3, "CHUNK_READERS": 4, "FEWEST_READERS": 3}
    for constant, value in {**small, **sizes}.items():
        monkeypatch.setattr(whole_pass, constant, value)
    np.testing.assert_allclose(embed(model, tables), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("aggregator", ["mean", "pool", "lstm"])
@pytest.mark.parametrize("name", ["graphsage", "cade_gb", "cade_ms", "cade_ma"])
def test_half_precision_embeds_almost_the_same(name, aggregator):
    tables = engine.small_tables(known=KNOWN)
    model, half = (
        engine.small_model(name, k=2, aggregator=aggregator, dtype=dtype)
        for dtype in ("float32", "mixed_bfloat16")
    )
    np.testing.assert_allclose(embed(half, tables), embed(model, tables), atol=0.03)


def test_the_seed_decides_everything():
    tables = engine.small_tables(known=KNOWN)
    model = engine.small_model("graphsage")
    once = embed(model, tables, batch_size=7)
    np.testing.assert_array_equal(once, embed(model, tables, batch_size=7))
    other = embed(model, tables, batch_size=7, seed=12)
    assert np.abs(once - other).max() > 1e-3
    # ... but for an isolated node, which has neither walks nor neighbours to choose.
    np.testing.assert_allclose(once[engine.ISOLATED], other[engine.ISOLATED], rtol=1e-5)


@pytest.mark.parametrize("draws", [1, WALKS])
@pytest.mark.parametrize("whole_pass_bytes", [0, 1 << 30])
def test_progress_counts_the_walks(whole_pass_bytes, draws, monkeypatch):
    monkeypatch.setattr(algorithm1, "FEWEST_DRAWS", draws)
    bars = []

    def make_bar(title, total, unit):
        bars.append(Progress(title, total, unit, quiet=True))
        return bars[-1]

    embed(
        engine.small_model("graphsage"),
        engine.small_tables(),
        progress=make_bar,
        batch_size=4,
        whole_pass_bytes=whole_pass_bytes,
    )
    (bar,) = bars
    assert (bar.done, bar.total, bar.unit) == (WALKS * engine.NODES, WALKS * engine.NODES, "walks")
