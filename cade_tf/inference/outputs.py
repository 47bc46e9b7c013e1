"""Embeddings as files, in the formats that other programs read; each complete or not there."""

import csv
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import BinaryIO

import numpy as np

from cade_tf import problems
from cade_tf.errors import InputError, require_module
from cade_tf.files import atomic_write
from cade_tf.graph import arrays
from cade_tf.graph.npy import open_npy
from cade_tf.graph.validation import checked_node_ids
from cade_tf.inference.finite import require_finite
from cade_tf.training import manifest

EMBEDDINGS_FILE = "embeddings.npy"
NODE_IDS_FILE = "node_ids.txt"

# Nine digits give every float32 back exactly.
_NUMBER = "%.9g"


def write_embeddings(
    folder: str | Path, embeddings: np.ndarray, ids: np.ndarray, format: str = "npy"
) -> list[Path]:
    """Writes embeddings with the ids of their rows.

    Args:
        folder: Where the files go.
        embeddings: float32 [nodes, dim].
        ids: Id of each row, integers or strings.
        format: One of `FORMATS`: npy (with node_ids.txt), npz, csv, tsv, parquet, word2vec (text,
            which gensim and others read), projector (for TensorBoard and projector.tensorflow.org).

    Returns:
        The files written.

    Raises:
        InputError: An unknown format, ids that the format cannot hold, a number that is not
            finite, or a missing package.

    Example:

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     files = write_embeddings(folder, np.eye(2), np.array(["a", "b"]), "csv")
    >>> [file.name for file in files]
    ['embeddings.csv']
    """
    if format not in FORMATS:
        raise InputError("format", "one of " + ", ".join(FORMATS), format, "Choose one.")
    if len(embeddings) != len(ids):
        raise InputError("ids", f"{len(embeddings)} ids", len(ids), "Give every row its id.")
    ids = np.asarray(ids)
    embeddings = require_finite(np.asarray(embeddings, np.float32), ids)
    return FORMATS[format](Path(folder), embeddings, ids)


def read_embeddings(path: str | Path) -> tuple[np.ndarray, np.ndarray]:
    """Reads embeddings and ids that `write_embeddings` wrote as npy or npz.

    Args:
        path: The folder, embeddings.npy in it, or an npz.

    Returns:
        Embeddings [nodes, dim], memory-mapped where they are npy, and ids [nodes].

    Raises:
        InputError: Files are missing, damaged, not those of the manifest next to them, or do not
            belong together.
    """
    path = Path(path)
    if path.suffix == ".npz":
        members = arrays.read_exactly(path, ("embeddings", "node_ids"))
        embeddings, ids = _matrix(members["embeddings"], path), members["node_ids"]
        with problems.within(path):
            ids = checked_node_ids(ids, len(embeddings))
            return require_finite(embeddings, ids), ids
    folder = path.parent if path.suffix == ".npy" else path
    for name in (EMBEDDINGS_FILE, NODE_IDS_FILE):
        if not (folder / name).is_file():
            raise InputError(str(folder), f"a folder with {name}", "none", "Run cade embed first.")
    manifest.check(folder, EMBEDDINGS_FILE, NODE_IDS_FILE)
    embeddings = open_matrix(folder / EMBEDDINGS_FILE)
    try:
        ids = np.array((folder / NODE_IDS_FILE).read_bytes().decode().split("\n")[:-1], str)
    except UnicodeDecodeError as error:
        raise InputError(
            str(folder / NODE_IDS_FILE), "UTF-8 text", f"other bytes ({error})", "Write it again."
        ) from error
    if len(ids) != len(embeddings):
        raise InputError(
            str(folder),
            f"{embeddings.shape} embeddings with an id for each row",
            f"{len(ids)} ids",
            "Write both files again.",
        )
    with problems.within(folder):
        return require_finite(embeddings, checked_node_ids(ids, len(ids))), ids


def open_matrix(path: Path) -> np.ndarray:
    """A matrix in an npy file, memory-mapped.

    Raises:
        InputError: The file is damaged, or holds something else.
    """
    return _matrix(open_npy(path), path)


def _matrix(found: np.ndarray, path: Path) -> np.ndarray:
    if found.ndim != 2 or not found.size or found.dtype.kind not in "fiu":
        received = f"{found.dtype} of shape {found.shape}"
        raise InputError(str(path), "a matrix of numbers", received, "Write it again.")
    return found


def _write_npy(folder: Path, embeddings: np.ndarray, ids: np.ndarray) -> list[Path]:
    _require_plain(ids, "\n", "Write npz instead.")
    with atomic_write(folder / EMBEDDINGS_FILE) as file:
        np.save(file, embeddings)
    with atomic_write(folder / NODE_IDS_FILE) as file:
        file.write("".join(f"{node}\n" for node in ids).encode())
    return [folder / EMBEDDINGS_FILE, folder / NODE_IDS_FILE]


def _write_npz(folder: Path, embeddings: np.ndarray, ids: np.ndarray) -> list[Path]:
    path = folder / "embeddings.npz"
    arrays.write_arrays(path, {"embeddings": embeddings, "node_ids": ids})
    return [path]


def _write_table(delimiter: str) -> Callable[[Path, np.ndarray, np.ndarray], list[Path]]:
    def write(folder: Path, embeddings: np.ndarray, ids: np.ndarray) -> list[Path]:
        path = folder / ("embeddings.csv" if delimiter == "," else "embeddings.tsv")
        with atomic_write(path) as file:
            names = ["node_id", *(f"x{i}" for i in range(embeddings.shape[1]))]
            file.write((delimiter.join(names) + "\n").encode())
            _write_lines(file, embeddings, delimiter, map(_quoter(delimiter), ids))
        return [path]

    return write


def _quoter(delimiter: str) -> Callable[[object], str]:
    def quoted(node: object) -> str:
        text = io.StringIO()
        csv.writer(text, delimiter=delimiter, lineterminator="").writerow([node])
        return text.getvalue()

    return quoted


def _write_parquet(folder: Path, embeddings: np.ndarray, ids: np.ndarray) -> list[Path]:
    pyarrow = require_module("pyarrow", "format")
    parquet = require_module("pyarrow.parquet", "format")
    values = pyarrow.array(np.ascontiguousarray(embeddings).reshape(-1))
    vectors = pyarrow.FixedSizeListArray.from_arrays(values, embeddings.shape[1])
    table = pyarrow.table({"node_id": pyarrow.array(ids.tolist()), "embedding": vectors})
    path = folder / "embeddings.parquet"
    with atomic_write(path) as file:
        parquet.write_table(table, file)
    return [path]


def _write_word2vec(folder: Path, embeddings: np.ndarray, ids: np.ndarray) -> list[Path]:
    _require_plain(ids, " \t\n", "Write csv instead.")
    path = folder / "embeddings.txt"
    with atomic_write(path) as file:
        file.write(f"{embeddings.shape[0]} {embeddings.shape[1]}\n".encode())
        _write_lines(file, embeddings, " ", map(str, ids))
    return [path]


def _write_projector(folder: Path, embeddings: np.ndarray, ids: np.ndarray) -> list[Path]:
    _require_plain(ids, "\t\n", "Write csv instead.")
    vectors, metadata = folder / "vectors.tsv", folder / "metadata.tsv"
    config = folder / "projector_config.pbtxt"
    with atomic_write(vectors) as file:
        _write_lines(file, embeddings, "\t", None)
    with atomic_write(metadata) as file:
        # A metadata file with a single column has no header.
        file.write("".join(f"{node}\n" for node in ids).encode())
    with atomic_write(config) as file:
        file.write(
            b'embeddings {\n  tensor_name: "embeddings"\n  tensor_path: "vectors.tsv"\n'
            b'  metadata_path: "metadata.tsv"\n}\n'
        )
    return [vectors, metadata, config]


def _write_lines(
    file: BinaryIO, embeddings: np.ndarray, delimiter: str, ids: Iterator[str] | None
) -> None:
    numbers = delimiter.join([_NUMBER] * embeddings.shape[1]) + "\n"
    for row in embeddings:
        head = "" if ids is None else next(ids) + delimiter
        file.write((head + numbers % tuple(row.tolist())).encode())


def require_lines(ids: np.ndarray) -> None:
    """Checks that a file can hold the ids, one per line; before a long training, not after it.

    Raises:
        InputError: One has a line break, or is empty.
    """
    _require_plain(ids, "\n", "Rename the node.")


def _require_plain(ids: np.ndarray, forbidden: str, remedy: str) -> None:
    if ids.dtype.kind != "U":
        return
    for node in ids.tolist():
        if any(letter in node for letter in forbidden) or not node:
            raise InputError(
                "node_ids",
                f"ids without {forbidden!r}, which this format separates by",
                repr(node),
                remedy,
            )


FORMATS: dict[str, Callable[[Path, np.ndarray, np.ndarray], list[Path]]] = {
    "npy": _write_npy,
    "npz": _write_npz,
    "csv": _write_table(","),
    "tsv": _write_table("\t"),
    "parquet": _write_parquet,
    "word2vec": _write_word2vec,
    "projector": _write_projector,
}
