"""Every format gives the numbers and ids back to those who read it."""

import csv

import numpy as np
import pytest

from cade_tf.errors import InputError
from cade_tf.inference.outputs import FORMATS, read_embeddings, write_embeddings

IDS = np.array(["a", "ü,b", 'c"d'])


@pytest.fixture
def embeddings():
    return np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32) / 3


@pytest.mark.parametrize("format", ["npy", "npz"])
@pytest.mark.parametrize("ids", [IDS, np.array([7, -2, 5])], ids=["text", "numbers"])
def test_what_is_written_can_be_read_back(embeddings, tmp_path, format, ids):
    files = write_embeddings(tmp_path, embeddings, ids, format)
    read, read_ids = read_embeddings(tmp_path if format == "npy" else files[0])
    np.testing.assert_array_equal(read, embeddings)
    assert read_ids.astype(str).tolist() == ids.astype(str).tolist()


@pytest.mark.parametrize(("format", "delimiter"), [("csv", ","), ("tsv", "\t")])
def test_tables_hold_ids_and_exact_numbers(embeddings, tmp_path, format, delimiter):
    (path,) = write_embeddings(tmp_path, embeddings, IDS, format)
    with open(path, newline="") as file:
        head, *rows = csv.reader(file, delimiter=delimiter)
    assert head == ["node_id", "x0", "x1", "x2", "x3"]
    assert [row[0] for row in rows] == IDS.tolist()
    np.testing.assert_array_equal(np.array([row[1:] for row in rows], np.float32), embeddings)


def test_parquet_holds_a_list_column(embeddings, tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    (path,) = write_embeddings(tmp_path, embeddings, IDS, "parquet")
    table = parquet.read_table(path)
    assert table["node_id"].to_pylist() == IDS.tolist()
    np.testing.assert_array_equal(np.array(table["embedding"].to_pylist(), np.float32), embeddings)


def test_word2vec_text_has_a_head_and_a_line_a_node(embeddings, tmp_path):
    (path,) = write_embeddings(tmp_path, embeddings, np.array([7, 8, 9]), "word2vec")
    head, *lines = path.read_text().splitlines()
    assert head == "3 4"
    assert [line.split(" ")[0] for line in lines] == ["7", "8", "9"]
    numbers = np.array([line.split(" ")[1:] for line in lines], np.float32)
    np.testing.assert_array_equal(numbers, embeddings)


def test_the_projector_finds_its_files(embeddings, tmp_path):
    vectors, metadata, config = write_embeddings(tmp_path, embeddings, IDS, "projector")
    np.testing.assert_array_equal(np.loadtxt(vectors, dtype=np.float32), embeddings)
    assert metadata.read_text().splitlines() == IDS.tolist()
    for path in (vectors, metadata):
        assert f'"{path.name}"' in config.read_text()


@pytest.mark.parametrize(
    ("format", "node", "other"),
    [("npy", "two\nlines", "npz"), ("word2vec", "two words", "csv"), ("projector", "a\tb", "csv")],
)
def test_ids_that_a_format_cannot_hold_are_refused(embeddings, tmp_path, format, node, other):
    with pytest.raises(InputError, match=f"Write {other} instead"):
        write_embeddings(tmp_path, embeddings, np.array(["a", node, "c"]), format)
    assert not list(tmp_path.iterdir())


def test_mistakes_are_named(embeddings, tmp_path):
    with pytest.raises(InputError, match=r"format: .*npy, npz"):
        write_embeddings(tmp_path, embeddings, IDS, "xml")
    with pytest.raises(InputError, match="3 ids, received 2"):
        write_embeddings(tmp_path, embeddings, IDS[:2])
    with pytest.raises(InputError, match=r"embeddings\.npy"):
        read_embeddings(tmp_path)
    write_embeddings(tmp_path, embeddings, IDS)
    (tmp_path / "node_ids.txt").write_text("a\n")
    with pytest.raises(InputError, match="1 ids"):
        read_embeddings(tmp_path)
    (tmp_path / "embeddings.npy").write_bytes(b"no array")
    with pytest.raises(InputError, match="an npy file"):
        read_embeddings(tmp_path)


def test_an_interrupted_write_leaves_the_old_file(embeddings, tmp_path):
    write_embeddings(tmp_path, embeddings, np.array([1, 2, 3]), "csv")
    before = (tmp_path / "embeddings.csv").read_bytes()

    class Breaks(np.ndarray):
        def tolist(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        FORMATS["csv"](tmp_path, (2 * embeddings).view(Breaks), np.array([1, 2, 3]))
    assert (tmp_path / "embeddings.csv").read_bytes() == before
    assert [path.name for path in tmp_path.iterdir()] == ["embeddings.csv"]
