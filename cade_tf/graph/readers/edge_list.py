"""Your own edge list (csv, tsv, white space, gzip) with features and labels beside it."""

import array
import contextlib
import csv
import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from cade_tf import problems
from cade_tf.cli.progress import Progress
from cade_tf.errors import InputError
from cade_tf.graph.converters import ids_of
from cade_tf.graph.graph import Graph
from cade_tf.graph.readers.tables import Table, read_features, read_labels
from cade_tf.graph.readers.text import GZIP, delimiter_of, fields_of, is_number, open_text

_SOURCES = ("source", "src", "from", "u", "node1", "id1", "head", "start")
_TARGETS = ("target", "dst", "to", "v", "node2", "id2", "tail", "end")
_WEIGHTS = ("weight", "weights", "w", "value")
_COMMENTS = ("#", "%")
_KINDS = (("source", np.int64), ("target", np.int64), ("weight", np.float64))


def recognises(path: Path) -> bool:
    """Whether a file may be of this format: any text, also gzipped."""
    if not path.is_file():
        return False
    with open(path, "rb") as file:
        start = file.read(1024)
    return start.startswith(GZIP) or b"\0" not in start


def files(path: Path) -> list[Path]:
    """The files that `read` reads."""
    return [path]


def read(path: Path, features: Path | None = None, labels: Path | None = None) -> Graph:
    """Reads an edge list.

    A line holds two ids and perhaps a weight, separated by commas, semicolons, tabs or spaces;
    lines that begin with # or % are comments; a header may name the columns. Nodes come in the
    order of the feature table where that has ids. Where it has none (npy, npz), ids are positions
    in it. Without features, nodes are all ids found, sorted.

    Args:
        path: The edge list.
        features: npy, npz or csv; see `cade_tf.graph.readers.tables`.
        labels: csv or npy.

    Raises:
        InputError: A line, an id or a file does not fit; the message names it.
    """
    edges = _read_edges(path)
    feature_table = label_table = None
    if features is not None:
        with problems.part():
            feature_table = read_features(features)
    if labels is not None:
        with problems.part():
            label_table = read_labels(labels)
    names = _names(edges, feature_table, label_table)
    fields: dict[str, Any] = {"name": path.name.split(".")[0], "edge_weights": edges.weights}
    with problems.within(features or path):
        position = _positions(names)
    if feature_table is not None:
        fields["features"] = feature_table.values
        fields["feature_names"] = feature_table.columns
    if label_table is not None:
        with problems.part(), problems.within(labels):
            fields |= _labels(label_table, position)
    codes = np.array([position.get(name, -1) for name in edges.names], np.int64)
    pairs = codes[edges.codes]
    if (codes < 0).any():
        with problems.part():
            raise InputError(
                str(path),
                f"the ids of the {len(names):,} nodes in {features or labels}",
                repr(edges.names[int(codes.argmin())]),
                "Add the node there, or drop its edges.",
            )
        known = (pairs >= 0).all(axis=1)
        pairs = pairs[known]
        fields["edge_weights"] = None if edges.weights is None else edges.weights[known]
    node_ids = ids_of([_number_or_name(name) for name in names])
    with problems.within(features or path):
        return Graph.from_edges(pairs, num_nodes=len(names), node_ids=node_ids, **fields)


@dataclasses.dataclass(frozen=True)
class _Edges:
    """Edges as positions in a list of distinct names, which are strings."""

    names: list[str]
    codes: np.ndarray
    weights: np.ndarray | None


def _read_edges(path: Path) -> _Edges:
    with open_text(path) as text:
        first = list(itertools.islice((line for line in text if _is_data(line)), 2))
    if not first:
        raise InputError(str(path), "a line per edge", "none", "Check the path.")
    mark = delimiter_of(first[0])
    head = fields_of(first[0], mark)
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
    columns = _columns(head) if header else list(range(len(head)))
    try:
        return _integer_edges(path, mark, header, columns, len(head))
    except ValueError:
        return _named_edges(path, mark, header, columns, len(head))


@contextlib.contextmanager
def _watched(path: Path) -> Iterator[TextIO]:
    with (
        Progress(f"reading {path.name}", path.stat().st_size, "bytes") as progress,
        open_text(path, progress.advance) as text,
    ):
        yield text


def _is_data(line: str) -> bool:
    return bool(line.strip()) and not line.lstrip().startswith(_COMMENTS)


def _is_header(first: list[str], second: list[str] | None) -> bool:
    lower = [field.lower() for field in first]
    if len(lower) > 1 and lower[0] in _SOURCES and lower[1] in _TARGETS:
        return True
    if second is None:
        return False
    return any(not is_number(a) and is_number(b) for a, b in zip(first, second, strict=False))


def _columns(header: list[str]) -> list[int]:
    """Which columns hold source, target and, where there is one, the weight."""
    lower = [field.lower() for field in header]
    ends = [
        next((i for i, name in enumerate(lower) if name in names), default)
        for names, default in ((_SOURCES, 0), (_TARGETS, 1))
    ]
    weight = [i for i, name in enumerate(lower) if name in _WEIGHTS and i not in ends]
    return ends + weight[:1]


def _integer_edges(
    path: Path, mark: str | None, header: bool, columns: list[int], width: int
) -> _Edges:
    """Reads integer ids in C; a ValueError means that not all are, or that a line is odd."""
    kinds: list[tuple[str, Any]] = [(f"other{i}", "U1") for i in range(width)]
    for column, kind in zip(columns, _KINDS, strict=False):
        kinds[column] = kind
    with _watched(path) as text:
        if header:
            next(line for line in text if _is_data(line))
        table = np.loadtxt(
            text,
            dtype=kinds,
            comments=list(_COMMENTS),
            delimiter=mark,
            ndmin=1,
        )
    pairs = np.stack([table["source"], table["target"]], axis=1)
    names, codes = np.unique(pairs, return_inverse=True)
    weights = table["weight"] if len(columns) == 3 else None
    return _Edges([str(name) for name in names], codes.reshape(-1, 2), weights)


def _named_edges(
    path: Path, mark: str | None, header: bool, columns: list[int], width: int
) -> _Edges:
    position: dict[str, int] = {}
    codes, weights = array.array("q"), array.array("d")
    source, target = columns[:2]
    with _watched(path) as text:
        for number, row in _rows(text, mark, path):
            if header:
                header = False
                continue
            if len(row) != width:
                raise InputError(
                    f"{path}, line {number}", f"{width} fields", len(row), "Complete the line."
                )
            if not (row[source] and row[target]):
                raise InputError(f"{path}, line {number}", "an id", "nothing", "Fill it in.")
            codes.append(position.setdefault(row[source], len(position)))
            codes.append(position.setdefault(row[target], len(position)))
            if len(columns) == 3:
                if not is_number(row[columns[2]]):
                    raise InputError(
                        f"{path}, line {number}",
                        "a number as weight",
                        repr(row[columns[2]]),
                        "Correct it.",
                    )
                weights.append(float(row[columns[2]]))
    return _Edges(
        list(position),
        np.array(codes, np.int64).reshape(-1, 2),
        np.array(weights) if len(columns) == 3 else None,
    )


def _rows(text: Iterator[str], mark: str | None, path: Path) -> Iterator[tuple[int, list[str]]]:
    numbered = ((n, line) for n, line in enumerate(text, start=1) if _is_data(line))
    for number, line in numbered:
        if mark is None or '"' not in line:
            yield number, fields_of(line, mark)
            continue
        try:
            yield number, [field.strip() for field in next(csv.reader([line], delimiter=mark))]
        except csv.Error as error:
            raise InputError(f"{path}, line {number}", "csv", str(error), "Correct it.") from error


def _names(edges: _Edges, features: Table | None, labels: Table | None) -> list[str]:
    """Names of all nodes in their order."""
    table = features or labels
    if table is not None and table.ids is None:
        return [str(i) for i in range(table.length)]
    if features is not None and features.ids is not None:
        return _normal(features.ids)
    known = set(edges.names)
    if labels is not None and labels.ids is not None:
        known |= set(_normal(labels.ids))
    return sorted(known, key=_sort_key)


def _normal(ids: Sequence[str]) -> list[str]:
    """Whole numbers written in one way, so that 007 and 7 are one node."""
    return [str(_number_or_name(name)) for name in ids]


def _number_or_name(name: str) -> int | str:
    try:
        number = int(name)
    except ValueError:
        return name
    return number if abs(number) < 2**62 else name


def _sort_key(name: str) -> tuple[int, int, str]:
    number = _number_or_name(name)
    return (0, number, "") if isinstance(number, int) else (1, 0, name)


def _positions(names: list[str]) -> dict[str, int]:
    position = {name: i for i, name in enumerate(names)}
    if len(position) != len(names):
        repeated = next(name for i, name in enumerate(names) if position[name] != i)
        raise InputError(
            "node ids", "each id once", f"{repeated!r} more than once", "Drop the repeats."
        )
    return position


def _labels(table: Table, position: dict[str, int]) -> dict[str, Any]:
    """Labels in the order of the nodes; nodes that the table leaves out have none."""
    values = dict(table.values)
    if table.ids is None:
        return values
    ids = _normal(table.ids)
    _positions(ids)
    unknown = [name for name in ids if name not in position]
    if unknown:
        raise InputError(
            "node ids", "ids of the graph", repr(unknown[0]), "Drop it, or add the node."
        )
    given = values["labels"]
    if given.ndim == 2 and len(given) < len(position):
        raise InputError("labels", f"all {len(position)} nodes", len(given), "Add the others.")
    labels = np.full((len(position), *given.shape[1:]), -1, np.int64)
    labels[[position[name] for name in ids]] = given
    return values | {"labels": labels}
