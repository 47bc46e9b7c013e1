"""Per-node tables beside a graph: features (npy, npz, csv) and labels (csv, npy)."""

import csv
import dataclasses
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from cade_tf.errors import InputError
from cade_tf.graph import arrays
from cade_tf.graph.converters import class_indices, classes_of_matrix
from cade_tf.graph.graph import Features
from cade_tf.graph.readers.text import delimiter_of, is_number, open_text

_ROWS_AT_A_TIME = 8192


@dataclasses.dataclass(frozen=True)
class Table:
    """Values per node.

    Args:
        ids: Names of the nodes as strings; None where row i belongs to node i.
        values: Features [nodes, columns], or a dict with `labels` and perhaps `class_names`.
        columns: Names of the columns, where the file has them.
    """

    ids: list[str] | None
    values: Any
    columns: tuple[str, ...] | None = None

    @property
    def length(self) -> int:
        """Number of nodes."""
        values = self.values["labels"] if isinstance(self.values, dict) else self.values
        return values.shape[0]


def rows_of_npy(path: Path, rows: np.ndarray) -> np.ndarray:
    """Some rows of a matrix in an npy file as float32, never the whole file in memory.

    Args:
        path: The file.
        rows: Row numbers, in the order wanted.

    Raises:
        InputError: No matrix of numbers, too short, damaged, or NaN.
    """
    matrix = open_npy(path)
    if matrix.ndim != 2 or matrix.dtype.kind not in "fiub":
        raise InputError(
            str(path),
            "a matrix of numbers",
            f"{matrix.dtype} of shape {matrix.shape}",
            "Save [nodes, width] of floats.",
        )
    if (len(rows) and rows.max() >= len(matrix)) or len(matrix) < len(rows):
        needed = max(int(rows.max()) + 1, len(rows))
        raise InputError(str(path), f"at least {needed} rows", len(matrix), "Match the nodes.")
    if np.array_equal(rows, np.arange(len(matrix))) and matrix.dtype == np.float32:
        result = np.array(matrix)
    else:
        result = np.empty((len(rows), matrix.shape[1]), np.float32)
        with np.errstate(over="ignore"):
            for start in range(0, len(rows), _ROWS_AT_A_TIME):
                part = slice(start, start + _ROWS_AT_A_TIME)
                result[part] = matrix[rows[part]]
    return result


def open_npy(path: Path) -> np.ndarray:
    """Maps an npy file.

    Raises:
        InputError: Not an npy, damaged, or of Python objects.
    """
    try:
        return np.asarray(np.load(path, mmap_mode="r", allow_pickle=False))
    except (ValueError, EOFError) as error:
        if path.stat().st_size == 0:
            received = "an empty file"
        elif "object" in str(error).lower():
            received = "an array of Python objects"
        else:
            received = f"damaged or other content ({error})"
        raise InputError(str(path), "an npy file", received, "Save it with numpy.save.") from error


def read_features(path: Path) -> Table:
    """Reads node features: npy, npz (dense or SciPy sparse), or csv with ids in front.

    Raises:
        InputError: The file is not of these forms.
    """
    start = _start(path)
    if start.startswith(b"\x93NUMPY"):
        matrix = open_npy(path)
        return Table(None, rows_of_npy(path, np.arange(matrix.shape[0] if matrix.ndim else 0)))
    if start.startswith(b"PK"):
        return Table(None, _npz_features(path))
    ids, values, columns = _csv(path)
    return Table(ids, _numbers(values, path, ids), columns)


def _npz_features(path: Path) -> Features:
    members = arrays.read_arrays(path)
    if {"data", "indices", "indptr", "shape"} <= set(members):
        parts = tuple(members[name] for name in ("data", "indices", "indptr"))
        try:
            return sp.csr_array(parts, shape=tuple(int(size) for size in members["shape"]))
        except (ValueError, TypeError) as error:
            raise InputError(str(path), "a CSR matrix", str(error), "Save it again.") from error
    matrices = [value for value in members.values() if value.ndim == 2]
    if len(matrices) != 1:
        raise InputError(
            str(path),
            "one matrix, dense or saved by scipy.sparse.save_npz as CSR",
            ", ".join(f"{name} {value.shape}" for name, value in members.items()) or "nothing",
            "Save the features alone.",
        )
    return matrices[0]


def read_labels(path: Path) -> Table:
    """Reads node labels: csv `id,class`, csv `id,0,1,...`, one class a line, or npy.

    Returns:
        `values` are a dict with `labels` and, where known, `class_names`.

    Raises:
        InputError: The file is not of these forms.
    """
    if _start(path).startswith(b"\x93NUMPY"):
        array = np.array(open_npy(path))
        try:
            labels = class_indices(array) if array.ndim == 1 else {"labels": array}
        except InputError as error:
            raise error.within(path) from error
        return Table(None, labels)
    ids, values, columns = _csv(path, single_column=True)
    if len(values[0]) == 1:
        return Table(ids, class_indices([row[0].strip() for row in values]))
    matrix = _numbers(values, path, ids)
    if not np.isin(matrix, (0, 1)).all():
        raise InputError(
            str(path), "id and class, or id and a 0/1 column per class", "others", "Recode it."
        )
    classes = classes_of_matrix(matrix.astype(np.int64))
    return Table(ids, {"labels": classes, "class_names": columns})


def _start(path: Path) -> bytes:
    with open(path, "rb") as file:
        start = file.read(8)
    if not start:
        raise InputError(str(path), "a table", "an empty file", "Check the path.")
    return start


def _csv(
    path: Path, single_column: bool = False
) -> tuple[list[str] | None, list[list[str]], tuple[str, ...] | None]:
    """Ids, the other fields, and the names of the columns where the first line has them."""
    with open_text(path) as text:
        lines = [line for line in text if line.strip()]
    if not lines:
        raise InputError(str(path), "a line per node", "blank lines", "Check the path.")
    mark = delimiter_of(lines[0])
    if mark is None:
        rows = [line.split() for line in lines]
    else:
        try:
            rows = [[field.strip() for field in row] for row in csv.reader(lines, delimiter=mark)]
        except csv.Error as error:
            raise InputError(str(path), "csv", str(error), "Check quotes.") from error
    header = None
    if rows[0][0].lower() in ("id", "node", "node_id", "name") or (
        len(rows) > 1 and _words(rows[0][1:]) and not _words(rows[1][1:])
    ):
        header, rows = rows[0], rows[1:]
    for number, row in enumerate(rows, start=2 if header else 1):
        if len(row) != len(rows[0]):
            raise InputError(
                f"{path}, line {number}", f"{len(rows[0])} fields", len(row), "Fill the gaps."
            )
    if not rows:
        raise InputError(str(path), "a line per node", "only a header", "Add the nodes.")
    if len(rows[0]) == 1:
        if not single_column:
            raise InputError(str(path), "an id and numbers in each line", "one field", "Add ids.")
        return None, rows, None
    columns = tuple(header[1:]) if header else None
    return [row[0] for row in rows], [row[1:] for row in rows], columns


def _words(fields: list[str]) -> bool:
    """Whether no field is a number."""
    return bool(fields) and not any(is_number(field) for field in fields)


def _numbers(values: list[list[str]], path: Path, ids: list[str] | None) -> np.ndarray:
    try:
        return np.array(values, np.float64)
    except ValueError:
        for number, row in enumerate(values):
            for field in row:
                if not is_number(field):
                    where = f" (id {ids[number]})" if ids else ""
                    raise InputError(
                        f"{path}, data line {number + 1}{where}",
                        "numbers",
                        repr(field),
                        "Correct it; every column but the first must be a number.",
                    ) from None
        raise
