"""Lists of edges in files: text (csv, tsv, white space, gzip), npy and Parquet."""

import array
import contextlib
import dataclasses
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from cade_tf import problems
from cade_tf.errors import InputError
from cade_tf.graph.columns import SOURCES, TARGETS, EdgeColumns, edge_columns, plain_name
from cade_tf.graph.naming import column_ids
from cade_tf.graph.npy import MAGIC as NPY
from cade_tf.graph.npy import open_npy
from cade_tf.graph.readers import parquet
from cade_tf.graph.readers.text import (
    delimiter_of,
    fields_of,
    is_number,
    open_text,
    quoted_fields,
)
from cade_tf.progress import Shown, make_bar

_COMMENTS = ("#", "%")
_FEW_LINES = 3
"""Fewer lines may count 0, 1 by chance."""


@dataclasses.dataclass(frozen=True)
class Edges:
    """Edges as positions in a list of distinct names, which are strings.

    Args:
        names: Distinct names.
        codes: int64 [edges, 2], positions in `names`.
        weights: A weight per edge, where the file has them.
        notes: What the user should know.
    """

    names: list[str]
    codes: np.ndarray
    weights: np.ndarray | None = None
    notes: tuple[str, ...] = ()


def read_edges(path: Path, progress: Shown) -> Edges:
    """Reads a list of edges.

    Args:
        path: The file.
        progress: Whether to show how far a text has been read.

    Raises:
        InputError: The file, or a line of it, is no list of edges.
    """
    with open(path, "rb") as file:
        start = file.read(8)
    if start.startswith(NPY):
        return _array_edges(path)
    if start.startswith(parquet.MAGIC):
        return _parquet_edges(path)
    return _text_edges(path, progress)


# --- npy -----------------------------------------------------------------------------------------


def _array_edges(path: Path) -> Edges:
    """[edges, 2], [edges, 3] with weights, or [2, edges]."""
    table = open_npy(path)
    if table.ndim != 2 or table.dtype.kind not in "iufU":
        raise _no_edges(path, table)
    if table.shape == (2, 3) and table.dtype.kind != "f":
        raise InputError(
            str(path),
            "[edges, 2]",
            "shape (2, 3), which may be two weighted edges or three plain ones",
            "Save it as [edges, 2].",
        )
    if table.shape[1] not in (2, 3):
        if table.shape[0] != 2:
            raise _no_edges(path, table)
        table = table.T
    weights = table[:, 2] if table.shape[1] == 3 else None
    if weights is not None and weights.dtype.kind == "U":
        raise _no_edges(path, table)
    return _from_columns(path, table[:, 0], table[:, 1], weights)


def _no_edges(path: Path, table: np.ndarray) -> InputError:
    return InputError(
        str(path),
        "ids [edges, 2], [2, edges], or [edges, 3] with a weight",
        f"{table.dtype} of shape {table.shape}",
        "Save pairs of node ids.",
    )


# --- Parquet -------------------------------------------------------------------------------------


def _parquet_edges(path: Path) -> Edges:
    columns = parquet.read_table(path).columns
    with problems.within(path):
        chosen = edge_columns(list(columns))
    values = list(columns.values())
    weights = None if chosen.weight is None else values[chosen.weight]
    source, target = values[chosen.source], values[chosen.target]
    return _from_columns(path, source, target, weights, chosen.note(path.name))


def _from_columns(
    path: Path,
    source: np.ndarray,
    target: np.ndarray,
    weights: np.ndarray | None,
    notes: tuple[str, ...] = (),
) -> Edges:
    """Edges of two columns of ids, integers, whole floats or strings."""
    pairs = np.stack([column_ids(column, str(path)) for column in (source, target)], axis=1)
    names, codes = np.unique(pairs, return_inverse=True)
    if weights is not None:
        if weights.dtype.kind not in "fiu":
            raise InputError(f"{path}, weight", "numbers", weights.dtype, "Convert them.")
        weights = weights.astype(np.float64)
    return Edges([str(name) for name in names], codes.reshape(-1, 2), weights, notes)


# --- text ----------------------------------------------------------------------------------------


@dataclasses.dataclass(frozen=True)
class _Layout:
    """How the lines of a text file are to be read."""

    mark: str | None
    first: tuple[str, ...]
    header: bool
    columns: EdgeColumns

    @property
    def width(self) -> int:
        """Number of columns."""
        return len(self.first)

    @property
    def may_have_an_index(self) -> bool:
        """Whether the first column is taken for a source although nothing says so."""
        return self.columns.source == 0 and self.width > 2 and not self.columns.named


def _text_edges(path: Path, progress: Shown) -> Edges:
    layout = _layout(path)
    try:
        edges = _integer_edges(path, layout, progress)
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        edges = _named_edges(path, layout, progress)
    _check_no_index(path, layout, edges)
    notes = layout.columns.note(path.name) + _doubtful_header(path, layout, edges)
    return dataclasses.replace(edges, notes=notes)


def _doubtful_header(path: Path, layout: _Layout, edges: Edges) -> tuple[str, ...]:
    """A sentence where the first line may be the names 0 and 1 that pandas gives to columns."""
    if layout.mark != "," or layout.first[:2] != ("0", "1") or len(edges.codes) < _FEW_LINES:
        return ()
    counts = np.bincount(edges.codes.ravel(), minlength=len(edges.names))
    if (counts[edges.codes[0]] > 1).any():
        return ()
    return (
        f"{path.name}: the first line, 0,1, joins two nodes that occur nowhere else; if it names "
        "columns (pandas), call them source and target.",
    )


def _layout(path: Path) -> _Layout:
    with open_text(path) as text:
        first = list(itertools.islice((line for line in text if _is_data(line)), 2))
    if not first:
        raise InputError(str(path), "a line per edge", "none", "Check the path.")
    mark = delimiter_of(first[0])
    head = fields_of(first[0].rstrip("\r\n"), mark)
    header = _is_header(head, fields_of(first[1], mark) if len(first) > 1 else None)
    if len(head) < 2:
        raise InputError(
            str(path), "two ids in each line", repr(first[0].strip()[:60]), "Separate them."
        )
    if header and len(first) == 1:
        raise InputError(str(path), "a line per edge", "only a header", "Add the edges.")
    if not header and len(head) > 3:
        raise InputError(
            str(path),
            "two ids and perhaps a weight in each line",
            f"{len(head)} fields",
            "Name the columns source, target and weight in a header.",
        )
    if not header:
        columns = EdgeColumns(0, 1, 2 if len(head) == 3 else None)
        return _Layout(mark, tuple(head), header, columns)
    with problems.within(path):
        return _Layout(mark, tuple(head), header, edge_columns(head))


@contextlib.contextmanager
def _watched(path: Path, progress: Shown) -> Iterator[TextIO]:
    with (
        make_bar(progress, f"reading {path.name}", path.stat().st_size, "bytes") as bar,
        open_text(path, bar.advance) as text,
    ):
        yield text


def _is_data(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith(_COMMENTS)


def _is_header(first: list[str], second: list[str] | None) -> bool:
    names = [plain_name(field) for field in first]
    if set(names) & set(SOURCES) and set(names) & set(TARGETS):
        return True
    if second is None:
        return False
    return any(not is_number(a) and is_number(b) for a, b in zip(first, second, strict=False))


def _integer_edges(path: Path, layout: _Layout, progress: Shown) -> Edges:
    """Reads integer ids in C; a ValueError means that not all are, or that a line is odd."""
    kinds: list[tuple[str, Any]] = [(f"other{i}", "U1") for i in range(layout.width)]
    kinds[layout.columns.source] = ("source", np.int64)
    kinds[layout.columns.target] = ("target", np.int64)
    if layout.columns.weight is not None:
        kinds[layout.columns.weight] = ("weight", np.float64)
    with _watched(path, progress) as text:
        if layout.header:
            next(line for line in text if _is_data(line))
        table = np.loadtxt(
            text, dtype=kinds, comments=list(_COMMENTS), delimiter=layout.mark, ndmin=1
        )
    weights = None if layout.columns.weight is None else table["weight"]
    return _from_columns(path, table["source"], table["target"], weights)


def _check_no_index(path: Path, layout: _Layout, edges: Edges) -> None:
    """Refuses a first column that counts the lines, followed by two of whole numbers."""
    if not layout.may_have_an_index or len(edges.codes) < _FEW_LINES:
        return
    numbers = [int(name) if name.isdecimal() and len(name) < 18 else -1 for name in edges.names]
    first = np.array(numbers, np.int64)[edges.codes[:, 0]]
    count = np.arange(len(first))
    if not (np.array_equal(first, count) or np.array_equal(first, count + 1)):
        return
    third = None if layout.header else edges.weights
    if third is None or np.array_equal(third, np.round(third)):
        raise InputError(
            str(path),
            "two ids and perhaps a weight in each line",
            "a first column that counts the lines",
            "If it is an index, leave it out (pandas: to_csv(index=False)); if it holds ids, name "
            "the columns source, target and weight in a header.",
        )


def _named_edges(path: Path, layout: _Layout, progress: Shown) -> Edges:
    position: dict[str, int] = {}
    codes, weights = array.array("q"), array.array("d")
    source, target, weight = layout.columns.source, layout.columns.target, layout.columns.weight
    header = layout.header
    with _watched(path, progress) as text:
        for number, row in _rows(text, layout.mark, path):
            if header:
                header = False
                continue
            if len(row) != layout.width:
                raise InputError(
                    f"{path}, line {number}",
                    f"{layout.width} fields",
                    len(row),
                    "Complete the line.",
                )
            if not (row[source] and row[target]):
                raise InputError(f"{path}, line {number}", "an id", "nothing", "Fill it in.")
            codes.append(position.setdefault(row[source], len(position)))
            codes.append(position.setdefault(row[target], len(position)))
            if weight is not None:
                weights.append(_weight(row[weight], f"{path}, line {number}"))
    return Edges(
        list(position),
        np.array(codes, np.int64).reshape(-1, 2),
        None if weight is None else np.array(weights),
    )


def _weight(field: str, place: str) -> float:
    if not is_number(field):
        raise InputError(
            place,
            "a number as weight",
            repr(field),
            "Correct it; a column of another kind must be named in a header.",
        )
    return float(field)


def _rows(text: Iterator[str], mark: str | None, path: Path) -> Iterator[tuple[int, list[str]]]:
    numbered = ((n, line) for n, line in enumerate(text, start=1) if _is_data(line))
    for number, line in numbered:
        yield number, quoted_fields(line, mark, f"{path}, line {number}")
