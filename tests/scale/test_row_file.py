"""Rows on disk are rows in memory; copies of them are complete or refused."""

import errno
import os

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.scale import row_file
from cade_tf.scale.row_file import GROUPS, RowFile

ROWS, WIDTH = 1000, 3


def opened(folder, rows: int = ROWS) -> RowFile:
    file = RowFile(rows, WIDTH)
    file.open_in(folder)
    return file


def fill(file: RowFile, seed: int = 0, count: int = 200) -> np.ndarray:
    """Writes some rows; returns what all of them should be now, [rows, groups, width]."""
    rng = np.random.default_rng(seed)
    rows = rng.permutation(file.shape[0])[:count]
    groups = rng.normal(size=(GROUPS, count, WIDTH)).astype(np.float32)
    file.write(tf.constant(rows), *map(tf.constant, groups))
    expected = np.zeros((file.shape[0], GROUPS, WIDTH), np.float32)
    expected[rows] = groups.transpose(1, 0, 2)
    return expected


def content(file: RowFile) -> np.ndarray:
    return np.stack(file.read(tf.range(file.shape[0])), axis=1)


@pytest.mark.parametrize("piece", [7, 10_000])
def test_rows_are_what_was_written_and_zero_before(tmp_path, monkeypatch, piece):
    monkeypatch.setattr(row_file, "_PIECE_ROWS", piece)
    file = opened(tmp_path)
    assert not content(file).any()
    expected = fill(file)
    np.testing.assert_array_equal(content(file), expected)
    asked = np.array([7, 3, 4, 5, 7, 999, 0])
    for number, group in enumerate(file.read(tf.constant(asked))):
        np.testing.assert_array_equal(group, expected[asked, number])
    np.testing.assert_array_equal(file.lookup(tf.constant(asked)), expected[asked, 0])
    np.testing.assert_array_equal(file.values(10, 20), expected[10:20, 0])


def test_no_rows_are_read_and_written_as_well(tmp_path):
    file = opened(tmp_path)
    none = tf.zeros([0, WIDTH])
    file.write(tf.zeros([0], tf.int64), none, none, none)
    assert file.read(tf.zeros([0], tf.int64))[0].shape == (0, WIDTH)


def test_a_function_reads_what_it_has_just_written(tmp_path):
    file = opened(tmp_path)

    @tf.function
    def count(times):
        for _ in tf.range(times):
            values, *moments = file.read(tf.constant([5]))
            file.write(tf.constant([5]), values + 1, *moments)
        return file.read(tf.constant([5]))[0]

    assert count(tf.constant(20)).numpy().tolist() == [[20.0] * WIDTH]


def test_a_row_that_is_not_there_is_an_error(tmp_path):
    with pytest.raises(IndexError, match="rows from 0 to 999"):
        opened(tmp_path).read(tf.constant([ROWS]))


def test_the_file_takes_space_only_for_rows_that_were_written(tmp_path):
    file = opened(tmp_path, rows=10_000_000)
    fill(file, count=5)
    file.save(tmp_path / "copy")
    assert os.stat(tmp_path / "copy").st_size == 10_000_000 * GROUPS * WIDTH * 4
    assert os.stat(tmp_path / "copy").st_blocks * 512 <= 8 * row_file._COPY_BYTES
    assert os.listdir(tmp_path) == ["copy"]


def test_a_copy_is_read_back_over_whatever_was_done_since(tmp_path, monkeypatch):
    monkeypatch.setattr(row_file, "_COPY_BYTES", 4096)
    file = opened(tmp_path)
    expected = fill(file)
    file.save(tmp_path / "copy")
    fill(file, seed=1)
    file.restore(tmp_path / "copy")
    np.testing.assert_array_equal(content(file), expected)


def test_a_copy_that_is_damaged_cut_missing_or_another_is_refused(tmp_path):
    file = opened(tmp_path)
    fill(file)
    copy = tmp_path / "copy"
    file.save(copy)
    whole = copy.read_bytes()
    damaged = bytearray(whole)
    damaged[len(whole) // 2] ^= 1
    for wrong, complaint in ((damaged, "checksum"), (whole[:-1], "bytes and not")):
        copy.write_bytes(wrong)
        with pytest.raises(ValueError, match=complaint):
            file.restore(copy)
    other = opened(tmp_path)
    fill(other, seed=1)
    other.save(copy)
    with pytest.raises(ValueError, match="checksum"):
        file.restore(copy)
    with pytest.raises(ValueError, match="missing"):
        file.restore(tmp_path / "none")


def test_a_full_disk_is_said_as_such_from_within_a_step(tmp_path, monkeypatch):
    file = opened(tmp_path)

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(os, "pwrite", full)
    with pytest.raises(OSError, match="No space left") as error, file.failures():
        tf.function(lambda: fill(file))()
    assert error.value.errno == errno.ENOSPC


def test_other_errors_of_a_step_stay_what_they_are(tmp_path):
    with pytest.raises(tf.errors.InvalidArgumentError), opened(tmp_path).failures():
        tf.debugging.assert_equal(1, 2)


def test_a_copy_that_finds_no_room_leaves_the_one_before(tmp_path, monkeypatch):
    file = opened(tmp_path)
    expected = fill(file)
    file.save(tmp_path / "copy")
    checksum = int(file.checksum.numpy())
    fill(file, seed=1)
    part = os.pwrite
    calls = []

    def nearly_full(handle, data, offset):
        calls.append(offset)
        if len(calls) > 1:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        return part(handle, data[:100], offset)

    with monkeypatch.context() as patched:
        patched.setattr(os, "pwrite", nearly_full)
        with pytest.raises(OSError, match="No space left"):
            file.save(tmp_path / "copy")
    assert os.listdir(tmp_path) == ["copy"]
    file.checksum.assign(checksum)
    file.restore(tmp_path / "copy")
    np.testing.assert_array_equal(content(file), expected)
