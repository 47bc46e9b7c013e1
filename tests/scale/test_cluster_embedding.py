"""Algorithm 1 in calls that anybody may do is Algorithm 1."""

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.errors import InputError
from cade_tf.graph.readers.shards import ShardedGraph
from cade_tf.inference import algorithm1
from cade_tf.inference.algorithm1 import embed_all_nodes
from cade_tf.scale import cluster_embedding
from cade_tf.scale.sharding import write_shards
from tests.engine import DIM, NODES, small_graph, small_model, small_tables


def totals_of(name: str) -> tuple[tf.Tensor, np.ndarray]:
    """Sums and contexts by calls in reverse order, and the embeddings of one process."""
    model, tables = small_model(name), small_tables()
    pieces = [tf.Variable(tf.zeros([rows, DIM + 1])) for rows in (4, 4, 3)]
    totals = tf.__internal__.distribute.ShardedVariable(pieces)
    options = {"walks": 2, "walk_length": 3, "seed": 5, "batch_size": 4, "progress": False}
    cluster_embedding.embed_by_calls(
        model,
        tables,
        lambda work, calls: [work(*call) for call in reversed(calls)],
        totals,
        **options,
    )
    return tf.concat(pieces, 0), embed_all_nodes(model, tables, **options)


@pytest.mark.parametrize("draws", [1, 2])
@pytest.mark.parametrize("name", ["cade_ms", "cade_ma"])
def test_sums_over_contexts_are_the_embeddings(name, draws, monkeypatch):
    monkeypatch.setattr(algorithm1, "FEWEST_DRAWS", draws)
    totals, expected = totals_of(name)
    np.testing.assert_allclose(totals[:, :-1] / totals[:, -1:], expected, rtol=1e-4, atol=1e-5)


def test_shards_join_to_the_whole_with_their_ids(tmp_path):
    graph = small_graph()
    write_shards(graph, np.arange(NODES), tmp_path / "graph", 3)
    totals = np.random.default_rng(0).uniform(1, 2, (NODES, DIM + 1))
    paths = cluster_embedding.write_shards(
        tmp_path / "out",
        ShardedGraph.open(tmp_path / "graph"),
        lambda first, last: totals[first:last],
    )
    assert len(paths) == 3
    embeddings, ids = cluster_embedding.merge(tmp_path / "out")
    np.testing.assert_array_equal(embeddings, totals[:, :-1] / totals[:, -1:])
    np.testing.assert_array_equal(ids, np.arange(NODES))
    paths[1].unlink()
    with pytest.raises(InputError, match="3 shards of embeddings"):
        cluster_embedding.merge(tmp_path / "out")


def test_a_run_without_shards_cannot_be_merged(tmp_path):
    with pytest.raises(InputError, match="some shards of embeddings"):
        cluster_embedding.merge(tmp_path)
