"""A global bias on disk: the same numbers, the same run after a stop, clear words when it fails."""

import errno
import json
import os
import shutil
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.cli import app
from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.graph.readers.shards import ShardedGraph
from cade_tf.graph.splits import split_nodes
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.scale import bias_stores, sharded_training
from cade_tf.scale.row_file import RowFile
from cade_tf.scale.shard_tables import MappedTables
from cade_tf.scale.sharding import write_shards
from cade_tf.training import checkpoints, run_folder
from cade_tf.training.loop import Loop
from tests.training.small_run import NODES, small_config, small_graph


@pytest.fixture(scope="module")
def shards(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("shards")
    graph = small_graph()
    write_shards(graph, split_nodes(graph, 0.2, 0).seen, folder, 2)
    return folder


def make_training(config: Config) -> sharded_training.ShardedTraining:
    graph = sharded_training.open_graph(config)
    transform = sharded_training.fit_features(graph, config)
    tables = MappedTables(graph, transform, 1 << 20)
    return sharded_training.make_training(graph, config, transform, tables)


def train(shards: Path, run_dir: Path, steps: int, **options) -> DualEncoder:
    """Trains in a folder, or goes on there, without what comes after the steps."""
    config = small_config(
        graph=str(shards), memory_map=True, steps=steps, keep_checkpoints=2, **options
    )
    made = make_training(config)
    loop = Loop(made.step, made.last, config, run_dir=run_dir, progress=False, stored=made.stored)
    loop.run()
    return made.model


def state(model: DualEncoder) -> list[np.ndarray]:
    """Weights, then the bias and its moments."""
    rows = model.bias.variable.read(tf.range(NODES))
    return [*(w.numpy() for w in model.weights), *(group.numpy() for group in rows)]


def assert_same(one: list[np.ndarray], other: list[np.ndarray]) -> None:
    for mine, theirs in zip(one, other, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-6, atol=1e-8)


def copies(run_dir: Path) -> list[str]:
    return sorted(path.name for path in (run_dir / "checkpoints").glob("*.rows"))


@pytest.mark.parametrize("model", ["cade_gb", "cade_ms", "cade_ma"])
def test_a_bias_on_disk_trains_to_the_numbers_of_one_in_memory(shards, tmp_path, model):
    options = {"graph": str(shards), "model": model, "bias_weight_decay": 0.1}
    memory, disk = (
        make_training(small_config(memory_map=where, **options)).step for where in (False, True)
    )
    file = disk.model.bias.variable
    assert isinstance(file, RowFile)
    file.open_in(tmp_path)
    metrics = [step.advance(8).numpy() for step in (memory, disk)]
    table = memory.model.bias.weight
    index = [weight is table for weight in memory.model.trainable_variables].index(True)
    moments = (memory.optimizer._momentums[index], memory.optimizer._velocities[index])
    rows = file.read(tf.range(NODES))
    assert np.abs(rows[0]).max() > 0
    assert_same(
        [metrics[0], *(w.numpy() for w in memory.dense_weights)],
        [metrics[1], *(w.numpy() for w in disk.dense_weights)],
    )
    assert_same([v.numpy() for v in (table, *moments)], rows)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return tmp_path_factory.mktemp("runs")


@pytest.fixture(scope="module")
def unbroken(shards, folder) -> list[np.ndarray]:
    return state(train(shards, folder / "unbroken", 30))


@pytest.fixture(scope="module")
def stopped(shards, folder) -> Path:
    train(shards, folder / "stopped", 20)
    return folder / "stopped"


@pytest.fixture
def run_dir(stopped, tmp_path) -> Path:
    """A run that has done 20 of its 30 steps."""
    return Path(shutil.copytree(stopped, tmp_path / "run"))


def test_only_the_copies_of_kept_checkpoints_stay(unbroken, folder):
    assert copies(folder / "unbroken") == ["step-20.rows", "step-30.rows"]
    names = sorted(path.name for path in (folder / "unbroken").iterdir())
    assert names == ["checkpoints", "history.json"]


def test_a_resumed_run_is_an_unbroken_one(shards, unbroken, run_dir):
    assert_same(state(train(shards, run_dir, 30)), unbroken)


def test_a_damaged_copy_costs_the_steps_since_the_one_before(shards, unbroken, run_dir, caplog):
    newest = run_dir / "checkpoints" / "step-20.rows"
    content = bytearray(newest.read_bytes())
    content[len(content) // 2] ^= 1
    newest.write_bytes(content)
    model = train(shards, run_dir, 30)
    assert "step-20 is damaged" in caplog.text
    assert "checksum" in caplog.text
    assert_same(state(model), unbroken)


def test_a_run_without_any_good_copy_says_so(shards, run_dir):
    for name in copies(run_dir):
        (run_dir / "checkpoints" / name).unlink()
    with pytest.raises(InputError, match="a checkpoint that can be read, received 2 damaged"):
        train(shards, run_dir, 30)


def full_after(patched: pytest.MonkeyPatch, writes: int) -> None:
    """A disk on which so many more writes of rows find room."""
    write, left = os.pwrite, [writes]

    def pwrite(handle, data, offset):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return write(handle, data, offset)

    patched.setattr(os, "pwrite", pwrite)


def test_a_disk_that_is_full_within_a_step_leaves_a_run_that_goes_on(
    shards, unbroken, run_dir, monkeypatch
):
    with monkeypatch.context() as patched:
        full_after(patched, 20)
        with pytest.raises(OSError, match="No space left on device"):
            train(shards, run_dir, 30)
    assert copies(run_dir) == ["step-10.rows", "step-20.rows"]
    assert_same(state(train(shards, run_dir, 30)), unbroken)


def small_checkpoints(folder: Path, file: RowFile) -> checkpoints.Checkpoints:
    return checkpoints.Checkpoints(folder, {"file": file}, file, keep=2, files=file)


def test_a_disk_that_is_full_within_a_checkpoint_leaves_the_one_before(tmp_path, monkeypatch):
    file = RowFile(4, 2)
    file.open_in(tmp_path)
    ones = tf.ones([4, 2])
    file.write(tf.range(4), ones, ones, ones)
    kept = small_checkpoints(tmp_path / "c", file)
    kept.save(1)
    before = {path.name for path in (tmp_path / "c").iterdir()}
    with monkeypatch.context() as patched:
        full_after(patched, 0)
        with pytest.raises(OSError, match="No space left on device"):
            kept.save(2)
    assert {path.name for path in (tmp_path / "c").iterdir()} == before
    file.write(tf.range(4), 2 * ones, ones, ones)
    assert kept.restore() == 1
    np.testing.assert_array_equal(file.values(0, 4), ones)


def test_a_checkpoint_that_was_killed_between_its_files_does_not_count(tmp_path):
    file = RowFile(4, 2)
    file.open_in(tmp_path)
    small_checkpoints(tmp_path / "c", file).save(1)
    (tmp_path / "c" / "step-2.rows").write_bytes(b"its variables were never written")
    (tmp_path / "c" / ".step-3.rows.x.part").write_bytes(b"half")
    assert small_checkpoints(tmp_path / "c", file).restore() == 1
    assert not list((tmp_path / "c").glob("*step-[23]*"))


def test_the_saved_model_has_the_bias_in_it(shards, run_dir, tmp_path):
    model = train(shards, run_dir, 20)
    run_folder.save_model(bias_stores.with_own_bias(model), tmp_path)
    loaded = run_folder.load_run_model(tmp_path)
    assert np.array_equal(loaded.preparation.known_ids, np.arange(NODES))
    found = model.bias.variable.values(0, NODES)
    np.testing.assert_array_equal(loaded.bias.table.numpy(), found)
    seen = np.concatenate(ShardedGraph.open(shards).parts("split")) == 0
    assert (np.abs(found).max(axis=1) > 0)[seen].mean() > 0.9
    assert not found[~seen].any()
    graph = small_graph()
    embedded = [one.embed(graph, walks=1, progress=False) for one in (model, loaded)]
    np.testing.assert_allclose(*embedded, rtol=1e-5, atol=1e-6)


def test_a_bias_too_large_for_memory_is_left_out_of_the_saved_model(
    shards, run_dir, tmp_path, monkeypatch, caplog
):
    model = train(shards, run_dir, 20)
    monkeypatch.setattr(bias_stores, "LARGEST_BYTES", 100)
    run_folder.save_model(bias_stores.with_own_bias(model), tmp_path)
    assert "left out" in caplog.text
    loaded = run_folder.load_run_model(tmp_path)
    graph = small_graph()
    assert (loaded.preparation.bias_rows(graph) == -1).all()
    assert loaded.embed(graph, walks=1, progress=False).shape == (NODES, 8)


def test_the_command_trains_writes_events_and_its_run_is_exported(shards, tmp_path):
    run_dir = tmp_path / "run"
    config = small_config(
        graph=str(shards), run_dir=str(run_dir), memory_map=True, steps=10, detail_every=5,
        summary_every=5,
    )  # fmt: skip
    flags = tmp_path / "flags.txt"
    flags.write_text(config.to_flagfile())
    assert app.main(["train", f"--flagfile={flags}"]) == 0
    assert json.loads((run_dir / "result.json").read_text())["steps"] == 10
    assert list(run_dir.glob("train/events.*"))
    flags = [f"--run_dir={run_dir}", f"--export_dir={tmp_path / 'exported'}"]
    assert app.main(["export", *flags]) == 0
    served = tf.saved_model.load(str(tmp_path / "exported" / "1"))
    outputs = served.signatures["serving_default"](
        node_ids=tf.range(3, dtype=tf.int64), seed=tf.constant(0, tf.int64)
    )
    assert outputs["embeddings"].shape == (3, 8)
