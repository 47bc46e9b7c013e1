"""Recognition by content, and files that are no graph at all."""

import os
import subprocess
import sys

import numpy as np
import pytest

from cade_tf.errors import InputError
from cade_tf.graph import readers
from cade_tf.graph.graph import Graph


def test_our_own_file_under_any_name(tmp_path):
    Graph.from_edges([[0, 1]]).save(tmp_path / "graph.data")
    assert readers.recognise(tmp_path / "graph.data") == "cade"
    assert readers.read(tmp_path / "graph.data").num_edges == 1


def test_a_format_can_be_forced(tmp_path):
    (tmp_path / "x.json").write_text("{0 1\n")
    assert readers.recognise(tmp_path / "x.json") == "graphsage"
    assert readers.read(tmp_path / "x.json", format="edge_list").num_edges == 1


def test_an_unknown_format_is_refused(tmp_path):
    with pytest.raises(InputError, match="format: expected one of cade"):
        readers.read(tmp_path, format="excel")


def test_tables_belong_to_edge_lists(tmp_path):
    Graph.from_edges([[0, 1]]).save(tmp_path / "g.npz")
    with pytest.raises(InputError, match="features: expected an edge list"):
        readers.read(tmp_path / "g.npz", features="x.npy")


def test_a_missing_path(tmp_path):
    with pytest.raises(InputError, match="an existing file or folder"):
        readers.read(tmp_path / "nowhere")


@pytest.mark.parametrize("name", readers.FORMATS)
def test_a_missing_path_of_every_format(tmp_path, name):
    with pytest.raises(InputError, match=r"nowhere|expected one PREFIX|ind\.NAME|reddit_data"):
        readers.read(tmp_path / "nowhere", format=name)


@pytest.mark.parametrize("name", readers.FORMATS)
def test_a_folder_in_place_of_a_file(tmp_path, name):
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    with pytest.raises(InputError):
        readers.read(tmp_path, format=name)


def test_a_folder_without_a_graph(tmp_path):
    (tmp_path / "a").write_text("")
    (tmp_path / "b").write_text("")
    with pytest.raises(InputError, match="a folder with one graph"):
        readers.read(tmp_path)


@pytest.mark.parametrize("suffix", ["npz", "npy", "mat", "json", "csv", "gz", "txt"])
def test_an_empty_file_under_any_name(tmp_path, suffix):
    path = tmp_path / f"x.{suffix}"
    path.write_bytes(b"")
    with pytest.raises(InputError, match="an empty file"):
        readers.read(path)


@pytest.mark.parametrize("name", readers.FORMATS)
def test_an_empty_file_of_every_format(tmp_path, name):
    path = tmp_path / "ind.x.graph"
    path.write_bytes(b"")
    with pytest.raises(InputError):
        readers.read(path, format=name)


def test_an_npy_alone_is_no_graph(tmp_path):
    np.save(tmp_path / "x.npy", np.eye(4))
    with pytest.raises(InputError, match=r"x\.npy: expected ids \[edges, 2\]"):
        readers.read(tmp_path / "x.npy")


def test_a_foreign_npz_is_no_graph(tmp_path):
    np.savez(tmp_path / "x.npz", a=np.eye(3))
    with pytest.raises(InputError, match="a graph of a known format"):
        readers.read(tmp_path / "x.npz")


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() == 0, reason="needs a user whom modes bind"
)
def test_a_file_without_permission(tmp_path):
    path = tmp_path / "x.csv"
    path.write_text("0,1\n")
    path.chmod(0)
    with pytest.raises(InputError, match="no permission"):
        readers.read(path)


def test_a_refused_file_is_told_as_no_permission(tmp_path, monkeypatch):
    """The same for those whom no mode binds."""
    path = tmp_path / "x.csv"
    path.write_text("0,1\n")

    def refuse(*_, **__):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr("builtins.open", refuse)
    for name in (None, "edge_list"):
        with pytest.raises(InputError, match=r"x\.csv: expected a file that may be read"):
            readers.read(path, format=name)


def test_a_home_folder_may_be_abbreviated(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "x.csv").write_text("0,1\n")
    assert readers.read("~/x.csv").num_edges == 1


def test_a_reader_is_loaded_when_its_format_is_found(tmp_path):
    (tmp_path / "x.csv").write_text("0,1\n")
    # As a command, which loads no TensorFlow to read a graph.
    code = (
        "import sys; sys.argv[0] = 'cade'\n"
        "from cade_tf.graph import readers\n"
        "readers.read('x.csv')\n"
        "print(*(n for n in readers.FORMATS if f'cade_tf.graph.readers.{n}' in sys.modules))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout == "edge_list\n"
