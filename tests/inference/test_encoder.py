"""An encoder embeds graphs it was not trained on, and is the same after saving and loading."""

import numpy as np
import pytest

from cade_tf.config import FeatureOptions
from cade_tf.errors import InputError
from cade_tf.graph.graph import Graph
from cade_tf.inference.encoder import Encoder, fit_transform, known_rows
from tests import engine


@pytest.fixture(scope="module")
def encoder():
    graph = engine.small_graph().subgraph(np.arange(7))
    return Encoder(
        model=engine.small_model("cade_ma", k=2, num_known=7),
        transform=fit_transform(graph, FeatureOptions(), seed=0),
        known_ids=graph.ids,
        walk_length=2,
    )


def embed(encoder, graph, **changes):
    return encoder.embed(graph, **{"walks": 2, "seed": 3, "progress": False, **changes})


def test_a_saved_encoder_embeds_as_before(encoder, tmp_path):
    graph = engine.small_graph()
    before = embed(encoder, graph)
    assert before.shape == (engine.NODES, engine.DIM)
    encoder.save(tmp_path / "encoder")
    assert sorted(p.name for p in (tmp_path / "encoder").iterdir()) == [
        "encoder.npz",
        "model.keras",
    ]
    loaded = Encoder.load(tmp_path / "encoder")
    np.testing.assert_array_equal(embed(loaded, graph), before)
    np.testing.assert_array_equal(loaded.known_ids, encoder.known_ids)


def test_nodes_keep_their_bias_in_any_order_of_the_graph(encoder):
    graph = engine.small_graph()
    order = np.arange(engine.NODES)[::-1]
    tables = encoder.tables(graph.subgraph(order))
    rows = tables.bias_rows.lookup(np.arange(engine.NODES)).numpy()
    np.testing.assert_array_equal(rows, np.where(order < 7, order, -1))


def test_features_of_another_width_are_refused(encoder):
    with pytest.raises(InputError, match="features"):
        embed(encoder, Graph.from_edges([[0, 1]], features=np.ones((2, engine.WIDTH + 1))))


@pytest.mark.parametrize("missing", ["encoder.npz", "model.keras"])
def test_a_missing_file_is_named(encoder, tmp_path, missing):
    encoder.save(tmp_path)
    (tmp_path / missing).unlink()
    with pytest.raises(InputError, match=missing):
        Encoder.load(tmp_path)


@pytest.mark.parametrize("damaged", ["encoder.npz", "model.keras"])
def test_a_damaged_file_is_a_mistake_of_the_user_and_no_bug(encoder, tmp_path, damaged):
    encoder.save(tmp_path)
    content = (tmp_path / damaged).read_bytes()
    for bad in (content[: len(content) // 2], b"no archive at all"):
        (tmp_path / damaged).write_bytes(bad)
        with pytest.raises(InputError):
            Encoder.load(tmp_path)


@pytest.mark.parametrize(
    ("ids", "known", "rows"),
    [
        ([5, 9, 7], [7, 5], [1, -1, 0]),
        (["b", "c", "a"], ["a", "b"], [1, -1, 0]),
        (["5", "9"], [9, 5], [1, 0]),
        ([5, 9], ["9", "5"], [1, 0]),
        ([5, 9], [], [-1, -1]),
        ([], [1], []),
    ],
)
def test_known_rows_are_found_by_id(ids, known, rows):
    dtype = None if ids else np.int64
    got = known_rows(np.array(ids, dtype), np.array(known, None if known else np.int64))
    assert got.tolist() == rows
