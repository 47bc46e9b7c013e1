"""Damaged files, full disks, other flags: what happens to a run directory."""

import logging
import os
import resource

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.errors import InputError
from cade_tf.experiments import single_run
from cade_tf.training import run_folder
from cade_tf.training.checkpoints import Checkpoints, saved, step_of
from cade_tf.training.trainer import train
from tests.training.small_run import assert_same_bits, small_config, small_graph, weights_of


@pytest.fixture
def counter():
    return tf.Variable(0, dtype=tf.int64), tf.Variable(np.zeros(5000, np.float32))


def make(folder, counter, keep=3):
    number, ballast = counter
    return Checkpoints(folder, {"number": number, "ballast": ballast}, ballast, keep=keep)


def save(checkpoints, counter, *steps):
    for step in steps:
        counter[0].assign(step)
        checkpoints.save(step)


def steps(folder):
    return [step_of(path) for path in saved(folder)]


def test_the_newest_are_kept_and_the_newest_is_restored(tmp_path, counter):
    checkpoints = make(tmp_path, counter, keep=2)
    save(checkpoints, counter, 5, 10, 100)
    assert steps(tmp_path) == [10, 100]
    counter[0].assign(-1)
    assert make(tmp_path, counter).restore() == 100
    assert counter[0].numpy() == 100


def test_a_run_that_is_continued_goes_on_dropping_the_oldest(tmp_path, counter):
    save(make(tmp_path, counter, keep=2), counter, 5, 10)
    save(make(tmp_path, counter, keep=2), counter, 15, 20)
    assert steps(tmp_path) == [15, 20]


def test_without_checkpoints_nothing_is_restored(tmp_path, counter):
    assert make(tmp_path, counter).restore() is None


def damage_truncate(path):
    os.truncate(path, os.path.getsize(path) // 2)


def damage_flip(path):
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 0xFF
    path.write_bytes(content)


def damage_empty(path):
    path.write_bytes(b"")


@pytest.mark.parametrize("damage", [damage_truncate, damage_flip, damage_empty])
@pytest.mark.parametrize("suffix", [".data-00000-of-00001", ".index"])
def test_a_damaged_checkpoint_falls_back_to_the_one_before_with_a_warning(
    damage, suffix, tmp_path, counter, caplog
):
    save(make(tmp_path, counter), counter, 5, 10)
    damage(tmp_path / f"step-10{suffix}")
    with caplog.at_level(logging.WARNING):
        assert make(tmp_path, counter).restore() == 5
    assert counter[0].numpy() == 5
    assert "step-10 is damaged" in caplog.text


def test_a_missing_data_file_falls_back_too(tmp_path, counter):
    save(make(tmp_path, counter), counter, 5, 10)
    (tmp_path / "step-10.data-00000-of-00001").unlink()
    assert make(tmp_path, counter).restore() == 5


def test_only_damaged_checkpoints_are_refused_rather_than_started_over(tmp_path, counter):
    save(make(tmp_path, counter), counter, 5)
    damage_flip(tmp_path / "step-5.data-00000-of-00001")
    with pytest.raises(InputError, match="1 damaged ones"):
        make(tmp_path, counter).restore()


def test_of_the_best_only_the_last_is_kept_and_can_be_read_back(tmp_path, counter):
    checkpoints = make(tmp_path, counter)
    for step in (5, 10):
        counter[1].assign(np.full(5000, step, np.float32))
        checkpoints.save_best(step)
    counter[1].assign(np.zeros(5000, np.float32))
    checkpoints.restore_best(10)
    assert (counter[1].numpy() == 10).all()
    with pytest.raises(InputError, match="best step"):
        checkpoints.restore_best(5)


def test_a_process_that_may_not_write_writes_nothing(tmp_path, counter):
    number, ballast = counter
    folder = tmp_path / "none"
    reader = Checkpoints(folder, {"number": number}, ballast, keep=1, writes=False)
    reader.save(5)
    reader.save_best(5)
    assert not folder.exists() or not [p for p in folder.rglob("*") if p.is_file()]


@pytest.fixture
def small_files():
    """No file may grow beyond 10 kB: as on a full disk, a write fails halfway."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    yield
    resource.setrlimit(resource.RLIMIT_FSIZE, before)


def test_a_full_disk_is_an_os_error_and_leaves_the_last_checkpoint(tmp_path, counter, request):
    checkpoints = make(tmp_path, counter)
    save(checkpoints, counter, 5)
    request.getfixturevalue("small_files")
    with pytest.raises(OSError, match=str(tmp_path)):
        save(checkpoints, counter, 10)
    assert steps(tmp_path) == [5]
    assert {p.name for p in tmp_path.iterdir()} == {"step-5.index", "step-5.data-00000-of-00001"}
    assert make(tmp_path, counter).restore() == 5


def test_a_checkpoint_is_on_the_disk_before_it_counts_as_written(tmp_path, counter, monkeypatch):
    flushed = []
    monkeypatch.setattr(os, "fsync", lambda handle: flushed.append(os.fstat(handle).st_ino))
    save(make(tmp_path, counter), counter, 5)
    assert set(flushed) == {path.stat().st_ino for path in (tmp_path, *tmp_path.iterdir())}
    assert flushed[-1] == tmp_path.stat().st_ino


def test_a_checkpoint_without_a_part_of_the_state_is_not_taken(tmp_path, counter, caplog):
    number, ballast = counter
    save(make(tmp_path, counter), counter, 5)
    Checkpoints(tmp_path, {"number": number}, ballast, keep=3).save(10)
    assert make(tmp_path, counter).restore() == 5
    assert "step-10 is damaged" in caplog.text
    (tmp_path / "step-5.index").unlink()
    with pytest.raises(InputError, match="1 damaged ones"):
        make(tmp_path, counter).restore()


# --- whole runs ----------------------------------------------------------------------------------


def test_a_longer_run_continues_a_shorter_one_as_if_it_had_never_ended(tmp_path):
    whole = train(small_graph(), small_config(steps=20), progress=False)
    train(small_graph(), small_config(steps=7), run_dir=tmp_path, progress=False)
    resumed = train(small_graph(), small_config(steps=20), run_dir=tmp_path, progress=False)
    assert_same_bits(weights_of(resumed), weights_of(whole))
    assert resumed.steps == whole.steps == 20
    assert resumed.metrics == whole.metrics
    again = train(small_graph(), small_config(steps=20), run_dir=tmp_path, progress=False)
    assert again.metrics == whole.metrics
    assert again.seconds == resumed.seconds


def prepare(folder, config, graph):
    run_folder.prepare(folder, config, run_folder.fingerprint_of(graph))


def fake_run(folder, **options):
    config = small_config(**options)
    prepare(folder, config, small_graph())
    number = tf.Variable(0)
    Checkpoints(folder / "checkpoints", {"number": number}, number, keep=1).save(1)


def test_other_flags_are_refused_and_the_difference_shown(tmp_path):
    fake_run(tmp_path)
    with pytest.raises(InputError, match=r"dim=4 \(there: 8\), seed=3 \(there: 0\)"):
        prepare(tmp_path, small_config(dim=4, seed=3), small_graph())
    assert run_folder.read_config(tmp_path) == small_config()


def test_flags_that_do_not_matter_may_change(tmp_path):
    fake_run(tmp_path)
    changed = small_config(steps=99, checkpoint_every=3, embed_walks=1, verbosity="error")
    prepare(tmp_path, changed, small_graph())
    assert run_folder.read_config(tmp_path) == changed


def test_the_number_of_steps_matters_to_a_schedule_that_ends(tmp_path):
    fake_run(tmp_path, schedule="cosine")
    with pytest.raises(InputError, match="steps=99"):
        prepare(tmp_path, small_config(schedule="cosine", steps=99), small_graph())


def test_other_data_are_refused(tmp_path):
    fake_run(tmp_path)
    with pytest.raises(InputError, match="other data"):
        prepare(tmp_path, small_config(), small_graph(seed=1))


def test_a_folder_without_a_checkpoint_may_be_used_with_any_flags(tmp_path):
    prepare(tmp_path, small_config(), small_graph())
    prepare(tmp_path, small_config(dim=4), small_graph())
    assert run_folder.read_config(tmp_path).dim == 4


def test_a_fresh_start_moves_runs_aside_and_never_over_each_other(tmp_path):
    run_dir = tmp_path / "run"
    assert run_folder.set_aside(run_dir) is None
    for number in (1, 2):
        run_dir.mkdir()
        (run_dir / "file").write_text(str(number))
        assert run_folder.set_aside(run_dir) == tmp_path / f"run~{number}"
        assert (tmp_path / f"run~{number}" / "file").read_text() == str(number)
        assert not run_dir.exists()


def test_fresh_is_done_once_and_not_remembered(tmp_path):
    run_dir = tmp_path / "run"
    fake_run(run_dir)
    config = single_run.start_fresh(small_config(fresh=True, dim=4), run_dir)
    assert not config.fresh
    prepare(run_dir, config, small_graph())
    assert run_folder.read_config(run_dir).dim == 4
    assert run_folder.read_config(tmp_path / "run~1").dim == 8
    assert single_run.start_fresh(config, run_dir) == config
    assert not (tmp_path / "run~2").exists()


# --- numbers that are not finite -----------------------------------------------------------------


def test_an_infinite_loss_stops_the_run_names_the_term_and_keeps_the_last_good_state(tmp_path):
    config = small_config(steps=20, temperature=1e-38, normalize="none", run_dir=None)
    with pytest.raises(FloatingPointError, match=r"step 1: .* is not finite; the state before"):
        train(small_graph(), config, run_dir=tmp_path, progress=False)
    (path,) = saved(tmp_path / "checkpoints")
    assert step_of(path) == 0
    values = tf.train.load_checkpoint(str(path))
    for name in values.get_variable_to_shape_map():
        tensor = values.get_tensor(name)
        assert not isinstance(tensor, np.ndarray) or np.isfinite(tensor).all(), name
