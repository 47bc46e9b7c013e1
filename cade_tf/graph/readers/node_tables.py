"""Tables of nodes that belong to a list of edges: features and labels (npy, npz, csv, Parquet)."""

import dataclasses
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cade_tf import problems
from cade_tf.errors import InputError
from cade_tf.graph import arrays
from cade_tf.graph.columns import INDEX, plain_name
from cade_tf.graph.graph import Features
from cade_tf.graph.naming import class_indices, column_ids, matrix_labels
from cade_tf.graph.npy import MAGIC as NPY
from cade_tf.graph.npy import open_npy, rows_of_npy
from cade_tf.graph.readers import parquet
from cade_tf.graph.readers.text import delimiter_of, is_number, open_text, quoted_fields
from cade_tf.graph.validation import check_no_gaps, sparse_matrix

_NAMED_IDS = ("id", "node", "nodeid", "name", "newid")
_IDS = (*_NAMED_IDS, *INDEX)
_CLASSES = ("label", "labels", "class", "classes", "category", "target", "y")
_ZIP = b"PK"


@dataclasses.dataclass(frozen=True)
class NodeTable:
    """Values per node.

    Args:
        ids: Names of the nodes as strings; None where row i belongs to node i.
        fields: Arguments of `Graph`: `features` and `feature_names`, or `labels` and `class_names`.
    """

    ids: list[str] | None
    fields: dict[str, Any]

    @property
    def length(self) -> int:
        """Number of nodes."""
        return next(iter(self.fields.values())).shape[0]


def read_features(path: Path) -> NodeTable:
    """Reads node features: npy, npz (dense or SciPy sparse), Parquet, or csv with ids in front.

    Raises:
        InputError: The file is not of these forms.
    """
    start = _start(path)
    if start.startswith(NPY):
        return NodeTable(None, {"features": rows_of_npy(path)})
    if start.startswith(_ZIP):
        return NodeTable(None, {"features": _npz_features(path)})
    if start.startswith(parquet.MAGIC):
        ids, columns = _parquet(path)
        values = _parquet_matrix(path, columns)
        return NodeTable(ids, {"features": values, "feature_names": tuple(columns)})
    ids, rows, names = _csv(path)
    if ids is None:
        raise InputError(str(path), "an id and numbers in each line", "one field", "Add ids.")
    return NodeTable(ids, {"features": _numbers(rows, path, ids), "feature_names": names})


def _npz_features(path: Path) -> Features:
    members = arrays.read_arrays(path)
    if {"data", "indices", "indptr", "shape"} <= set(members):
        parts = (members["data"], members["indices"], members["indptr"])
        with problems.within(path):
            return sparse_matrix("features", parts, members["shape"])
    matrices = [value for value in members.values() if value.ndim == 2]
    if len(matrices) != 1:
        raise InputError(
            str(path),
            "one matrix, dense or saved by scipy.sparse.save_npz as CSR",
            ", ".join(f"{name} {value.shape}" for name, value in members.items()) or "nothing",
            "Save the features alone.",
        )
    return matrices[0]


def read_labels(path: Path) -> NodeTable:
    """Reads node labels: `id,class`, `id,0,1,...` (csv or Parquet), one class per line, or npy.

    Raises:
        InputError: The file is not of these forms.
    """
    start = _start(path)
    with problems.within(path):
        if start.startswith(NPY):
            array = np.array(open_npy(path))
            if array.ndim not in (1, 2):
                received = f"shape {array.shape}"
                raise InputError("labels", "a class for each node", received, "Reshape it.")
            return NodeTable(None, class_indices(array) if array.ndim == 1 else {"labels": array})
        if start.startswith(parquet.MAGIC):
            ids, columns = _parquet(path)
            if len(columns) == 1:
                return NodeTable(ids, class_indices(next(iter(columns.values()))))
            return _many_classes(ids, _parquet_matrix(path, columns), tuple(columns))
        ids, values, names = _csv(path)
        if len(values[0]) == 1:
            return NodeTable(ids, class_indices([row[0].strip() for row in values]))
        return _many_classes(ids, _numbers(values, path, ids), names)


def _many_classes(
    ids: list[str] | None, matrix: np.ndarray, names: tuple[str, ...] | None
) -> NodeTable:
    return NodeTable(ids, {**matrix_labels(matrix, len(matrix)), "class_names": names})


def _start(path: Path) -> bytes:
    with open(path, "rb") as file:
        start = file.read(8)
    if not start:
        raise InputError(str(path), "a table", "an empty file", "Check the path.")
    return start


# --- Parquet -------------------------------------------------------------------------------------


def _parquet(path: Path) -> tuple[list[str] | None, dict[str, np.ndarray]]:
    """Ids, from pandas' index or a column named id, and the other columns."""
    table = parquet.read_table(path)
    columns, ids = dict(table.columns), table.index
    if ids is None:
        name = next((name for name in columns if plain_name(name) in _IDS), None)
        ids = None if name is None else columns.pop(name)
    if not columns:
        raise InputError(str(path), "a column other than the ids", "none", "Add the values.")
    return None if ids is None else column_ids(ids, str(path)).astype(str).tolist(), columns


def _parquet_matrix(path: Path, columns: dict[str, np.ndarray]) -> np.ndarray:
    for name, column in columns.items():
        if column.dtype.kind not in "fiub":
            raise InputError(
                f"{path}, column {name!r}",
                "numbers",
                column.dtype,
                "Leave the column out; ids must be in a column named id.",
            )
    return np.stack([column.astype(np.float64) for column in columns.values()], axis=1)


# --- csv -----------------------------------------------------------------------------------------


def _csv(path: Path) -> tuple[list[str] | None, list[list[str]], tuple[str, ...] | None]:
    """Ids, the other fields, and the names of the columns where the first line has them.

    Ids are None where there is only one column.
    """
    rows = csv_rows(path)
    header = None
    if _is_header(rows):
        header, rows = rows[0], rows[1:]
    for number, row in enumerate(rows, start=2 if header else 1):
        if len(row) != len(rows[0]):
            raise InputError(
                f"{path}, line {number}", f"{len(rows[0])} fields", len(row), "Fill the gaps."
            )
    if not rows:
        raise InputError(str(path), "a line per node", "only a header", "Add the nodes.")
    if len(rows[0]) == 1:
        return None, rows, None
    if header is not None and len(header) != len(rows[0]):
        raise InputError(
            f"{path}, line 1", f"{len(rows[0])} names of columns", len(header), "Name them all."
        )
    order = list(range(len(rows[0])))
    if header is not None:
        order = _ids_first([plain_name(name) for name in header])
    columns = tuple(header[i] for i in order[1:]) if header else None
    ids = [row[order[0]] for row in rows]
    check_no_gaps(str(path), ids)
    return ids, [[row[i] for i in order[1:]] for row in rows], columns


def _ids_first(names: list[str]) -> list[int]:
    """Order of the columns, ids first; without the index that pandas wrote before the ids."""
    others = range(1, len(names))
    ids = next((i for i in others if names[i] in _NAMED_IDS), None)
    if names[0] not in INDEX or ids is None:
        return [0, *others]
    return [ids, *(i for i in others if i != ids)]


def csv_rows(path: Path) -> list[list[str]]:
    """All fields of a csv, line by line; lines of blanks are left out.

    Raises:
        InputError: Nothing is in it, or a quote is not closed.
    """
    with open_text(path) as text:
        lines = [(number, line) for number, line in enumerate(text, start=1) if line.strip()]
    if not lines:
        raise InputError(str(path), "a line per node", "blank lines", "Check the path.")
    mark = delimiter_of(lines[0][1])
    return [quoted_fields(line, mark, f"{path}, line {number}") for number, line in lines]


def _is_header(rows: list[list[str]]) -> bool:
    """Whether the first line names the columns, by usual names or as words above numbers."""
    first = rows[0]
    if len(first) == 1:
        known = plain_name(first[0]) in _CLASSES
        numbers = all(is_number(field) for row in rows[1:] for field in row)
        return known or (len(rows) > 1 and _words(first) and numbers)
    if plain_name(first[0]) in _IDS:
        return True
    if len(rows) < 2:
        return False
    return any(_words(first[part]) and not _words(rows[1][part]) for part in _ID_AND_VALUES)


_ID_AND_VALUES = (slice(0, 1), slice(1, None))


def _words(fields: Sequence[str]) -> bool:
    """Whether no field is a number, or empty."""
    return bool(fields) and not any(not field or is_number(field) for field in fields)


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
