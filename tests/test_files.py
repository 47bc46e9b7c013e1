"""Files are complete or absent."""

import os

import pytest

from cade_tf.errors import InputError
from cade_tf.files import atomic_write


def test_a_complete_file_appears_with_its_folders(tmp_path):
    with atomic_write(tmp_path / "a" / "b.txt") as file:
        file.write(b"content")
        assert not (tmp_path / "a" / "b.txt").exists()
    assert (tmp_path / "a" / "b.txt").read_bytes() == b"content"


def test_an_error_leaves_the_old_file_and_no_rest(tmp_path):
    path = tmp_path / "b.txt"
    path.write_text("old")

    def interrupted():
        with atomic_write(path) as file:
            file.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert [p.name for p in tmp_path.iterdir()] == ["b.txt"]


def test_a_folder_is_refused(tmp_path):
    with (
        pytest.raises(InputError, match="a file to write, received a folder"),
        atomic_write(tmp_path),
    ):
        pass


def test_the_mode_is_the_users(tmp_path):
    with atomic_write(tmp_path / "a") as file:
        file.write(b"")
    (tmp_path / "b").write_bytes(b"")
    assert os.stat(tmp_path / "a").st_mode == os.stat(tmp_path / "b").st_mode
