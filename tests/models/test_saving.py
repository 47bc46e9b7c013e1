"""A model embeds graphs it was not trained on, and is the same after saving and loading."""

import dataclasses
import os
import subprocess
import sys
from pathlib import Path

import keras
import numpy as np
import pytest

import cade_tf
from cade_tf.errors import InputError
from cade_tf.graph.graph import Graph
from cade_tf.graph.naming import known_rows
from cade_tf.training.run_folder import load_run_model, save_model
from tests import engine

KNOWN = 7
FRESH = """
import cade_tf
import keras

model = keras.saving.load_model("model.keras")
graph = cade_tf.Graph.load("graph.npz")
model.embed(graph, walks=2, seed=3, progress=False).tofile("embedded")
"""


@pytest.fixture(scope="module")
def model():
    graph = engine.small_graph()
    return engine.prepared_model(
        "cade_ma", graph, known=graph.ids[:KNOWN], scaling="standard", walk_length=2, k=2
    )


def embed(model, graph, **changes):
    return model.embed(graph, **{"walks": 2, "seed": 3, "progress": False, **changes})


@pytest.mark.parametrize("load", [keras.saving.load_model, cade_tf.load_model])
def test_a_saved_model_embeds_as_before(model, tmp_path, load):
    graph = engine.small_graph()
    before = embed(model, graph)
    assert before.shape == (engine.NODES, engine.DIM)
    model.save(tmp_path / "model.keras")
    loaded = load(tmp_path / "model.keras")
    np.testing.assert_array_equal(embed(loaded, graph), before)
    np.testing.assert_array_equal(loaded.preparation.known_ids, model.preparation.known_ids)
    np.testing.assert_array_equal(
        loaded.embed_full(graph, progress=False), model.embed_full(graph, progress=False)
    )


def test_a_process_that_imports_only_cade_tf_and_keras_loads_it(model, tmp_path):
    graph = engine.small_graph()
    graph.save(tmp_path / "graph.npz")
    model.save(tmp_path / "model.keras")
    root = str(Path(cade_tf.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", FRESH],
        cwd=tmp_path,
        env={**os.environ, "PYTHONPATH": root},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    found = np.fromfile(tmp_path / "embedded", np.float32).reshape(-1, engine.DIM)
    np.testing.assert_allclose(found, embed(model, graph), rtol=1e-5, atol=1e-6)


def test_the_model_of_a_run_embeds_as_before(model, tmp_path):
    graph = engine.small_graph()
    assert save_model(model, tmp_path) == tmp_path / "encoder" / "model.keras"
    assert [path.name for path in (tmp_path / "encoder").iterdir()] == ["model.keras"]
    np.testing.assert_array_equal(embed(load_run_model(tmp_path), graph), embed(model, graph))


def test_training_goes_on_after_loading_as_if_nothing_had_happened(tmp_path):
    graph = engine.small_graph()
    model = cade_tf.CadeMS(dim=engine.DIM, k=2, fanouts=(3, 2))
    model.compile(cade_tf.optimizers.Adam(1e-2))
    model.fit(graph, steps=4, batch_size=8, verbose=0)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    before = [weight.numpy() for weight in loaded.weights]
    for one in (model, loaded):
        one.fit(graph, steps=8, batch_size=8, verbose=0)
    for weight, other, old in zip(model.weights, loaded.weights, before, strict=True):
        np.testing.assert_array_equal(other.numpy(), weight.numpy())
        assert np.abs(other.numpy() - old).max() > 0


def test_nodes_keep_their_bias_in_any_order_of_the_graph(model):
    graph = engine.small_graph()
    order = np.arange(engine.NODES)[::-1]
    tables = model.tables(graph.subgraph(order))
    rows = tables.bias_rows.lookup(np.arange(engine.NODES)).numpy()
    np.testing.assert_array_equal(rows, np.where(order < KNOWN, order, -1))


def test_features_of_another_width_are_refused(model):
    with pytest.raises(InputError, match="features"):
        embed(model, Graph.from_edges([[0, 1]], features=np.ones((2, engine.WIDTH + 1))))


def test_a_model_that_has_seen_no_graph_embeds_none():
    with pytest.raises(InputError, match="Call adapt or fit"):
        embed(engine.small_model("graphsage"), engine.small_graph())


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match=r"nowhere\.keras"):
        cade_tf.load_model(tmp_path / "nowhere.keras")
    with pytest.raises(InputError, match=r"model\.keras"):
        load_run_model(tmp_path)


def test_a_damaged_file_is_a_mistake_of_the_user_and_no_bug(model, tmp_path):
    path = tmp_path / "model.keras"
    model.save(path)
    content = path.read_bytes()
    for bad in (content[: len(content) // 2], b"no archive at all"):
        path.write_bytes(bad)
        with pytest.raises(InputError, match=r"model\.keras"):
            cade_tf.load_model(path)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"known_ids": np.arange(KNOWN + 1)}, "7 known ids, received 8"),
        ({"known_ids": np.arange(KNOWN - 1)}, "7 known ids, received 6"),
        ({"known_ids": np.arange(KNOWN)[:, None]}, r"known_ids: .*\(7, 1\)"),
        ({"known_ids": np.arange(KNOWN) / 2}, "known_ids: .*float64"),
        ({"known_ids": np.zeros(KNOWN, np.int64)}, "known_ids: expected distinct"),
        ({"feature_names": ("a",) * (engine.WIDTH - 1)}, "feature_names: expected 5 names"),
    ],
    ids=["too many", "too few", "a matrix", "fractions", "repeated", "few names"],
)
def test_parts_that_do_not_fit_each_other_are_refused(tmp_path, changes, message):
    graph = engine.small_graph()
    model = engine.prepared_model("cade_gb", graph, known=graph.ids[:KNOWN])
    model.preparation = dataclasses.replace(model.preparation, **changes)
    model.save(tmp_path / "model.keras")
    with pytest.raises(InputError, match=message):
        cade_tf.load_model(tmp_path / "model.keras")


def test_a_model_of_something_else_is_refused(tmp_path):
    other = keras.Sequential([keras.Input((2,)), keras.layers.Dense(1)])
    other.save(tmp_path / "other.keras")
    with pytest.raises(InputError, match="received Sequential"):
        cade_tf.load_model(tmp_path / "other.keras")


def test_a_run_of_an_older_version_is_refused_with_a_sentence(model, tmp_path):
    save_model(model, tmp_path)
    np.savez(tmp_path / "encoder" / "encoder.npz", known_ids=np.arange(KNOWN))
    with pytest.raises(InputError, match="Train it again"):
        load_run_model(tmp_path)


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


def test_models_of_the_first_version_are_refused_with_a_sentence(tmp_path):
    config = cade_tf.CadeMS(dim=8).get_config() | {"feature_width": 32, "num_known": 1258}
    with pytest.raises(InputError, match=r"this version of cade_tf, received one of 0\.1"):
        cade_tf.CadeMS.from_config(config)
    (tmp_path / "encoder").mkdir()
    (tmp_path / "encoder" / "encoder.npz").touch()
    with pytest.raises(InputError, match=r"this version, received one of cade_tf 0\.1"):
        load_run_model(tmp_path)
