"""MUSAE's folders (Twitch, Facebook, GitHub, Wikipedia): edges.csv, features.json, target.csv."""

import dataclasses
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from cade_tf import problems
from cade_tf.errors import InputError
from cade_tf.files import read_json
from cade_tf.graph.graph import Graph
from cade_tf.graph.joining import join_graphs
from cade_tf.graph.naming import class_indices, ids_of, labels_in_order, positions
from cade_tf.graph.readers.edge_files import read_edges
from cade_tf.graph.readers.node_tables import csv_rows

_EDGES, _FEATURES, _TARGET = "edges.csv", "features.json", "target.csv"
_IDS = ("new_id", "id")
_CLASSES = ("mature", "ml_target", "page_type", "target")
"""Columns of target.csv, in the order of preference."""


@dataclasses.dataclass(frozen=True)
class _Files:
    """The files of one graph."""

    name: str
    edges: Path
    features: Path
    target: Path


def recognises(path: Path) -> bool:
    """Whether a folder, or each of its folders with such files, is of this format."""
    return bool(_found(path))


def _found(path: Path) -> list[_Files]:
    own = _files(path)
    if own is not None:
        return [own]
    folders = sorted(entry for entry in path.iterdir() if entry.is_dir()) if path.is_dir() else []
    return [found for folder in folders if (found := _files(folder)) is not None]


def _files(folder: Path) -> _Files | None:
    """Files of one graph: `edges.csv` and so on, or all with one prefix (`musae_DE_edges.csv`)."""
    for edges in sorted(folder.glob(f"*{_EDGES}")) if folder.is_dir() else ():
        prefix = edges.name.removesuffix(_EDGES)
        features, target = (folder / (prefix + rest) for rest in (_FEATURES, _TARGET))
        if features.is_file() and target.is_file():
            return _Files(folder.name, edges, features, target)
    return None


def read(path: Path) -> Graph:
    """Reads one graph, or all graphs of the folders in a folder as one.

    Nodes are those of features.json. Features are 0/1; their number is the largest in all folders
    that lie next to each other and have the same columns in target.csv, so that what is trained
    on one graph can embed the others. In several graphs ids are `FOLDER/ID`.

    Args:
        path: The folder of a graph, or a folder of such folders.

    Raises:
        InputError: A file is damaged or does not fit the others.
    """
    found = _found(path)
    if not found:
        raise InputError(
            str(path), f"a folder with {_EDGES}, {_FEATURES} and {_TARGET}", "none", "Check it."
        )
    alone = _files(path) is not None
    lists = {f.features: _feature_lists(f.features) for f in (_kin(found[0]) if alone else found)}
    largest = (max(columns) for one in lists.values() for columns in one.values() if columns)
    width = max(largest, default=-1) + 1
    graphs = [_graph(f, lists[f.features], width) for f in found]
    return graphs[0] if alone else join_graphs(graphs, name=path.name)


def _graph(found: _Files, lists: dict[str, list[int]], width: int) -> Graph:
    ids = ids_of(_whole(lists), str(found.features))
    order = np.argsort(ids, kind="stable")
    ids = ids[order]
    rows = [sorted(set(columns)) for columns in lists.values()]
    rows = [rows[position] for position in order]
    lengths = np.array([len(row) for row in rows], np.int64)
    indices = np.array([column for row in rows for column in row], np.int64)
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    ones = np.ones(len(indices), np.float32)
    fields: dict[str, Any] = {"features": sp.csr_array((ones, indices, indptr), (len(ids), width))}
    with problems.part(), problems.within(found.target):
        fields |= _classes(found.target, ids)
    edges = read_edges(found.edges, progress=False)
    known = f"the {len(ids):,} nodes of {found.features.name}"
    named = ids_of(_whole(edges.names), str(found.edges))
    place = positions(named, ids, str(found.edges), known)
    with problems.within(found.edges):
        return Graph.from_edges(
            place[edges.codes], node_ids=ids, name=found.name, notes=edges.notes, **fields
        )


def _whole(names: Iterable[str]) -> list[Any]:
    return [int(name) if name.isdecimal() else name for name in names]


def _feature_lists(path: Path) -> dict[str, list[int]]:
    lists = read_json(path, "Copy it again.")
    for node, columns in lists.items():
        if not isinstance(columns, list) or not all(
            isinstance(c, int) and not isinstance(c, bool) and 0 <= c < 2**31 for c in columns
        ):
            raise InputError(
                f"{path}, node {node!r}",
                "a list of features from 0",
                str(columns)[:60],
                "Copy it again.",
            )
        if len(node) > 18 and node.isdecimal():
            raise InputError(f"{path}, node {node!r}", "an id below 10**18", node, "Rename it.")
    return lists


def _kin(found: _Files) -> list[_Files]:
    """A graph and those in the folders next to it that have the same columns."""
    columns = _header(found.target)
    others = _found(found.edges.resolve().parent.parent)
    kin = [f for f in others if f.name != found.name and _header(f.target) == columns]
    return [found, *kin]


def _header(target: Path) -> bytes:
    with open(target, "rb") as file:
        return file.readline(1024).strip()


def _classes(path: Path, ids: np.ndarray) -> dict[str, Any]:
    """Classes by id; a row that says the same once more is no mistake."""
    header, *rows = csv_rows(path)
    columns = []
    for choices in (_IDS, _CLASSES):
        column = next((header.index(name) for name in choices if name in header), None)
        if column is None:
            raise InputError(
                str(path), "a column " + " or ".join(choices), ", ".join(header), "Rename one."
            )
        columns.append(column)
    by_id: dict[str, str] = {}
    for number, row in enumerate(rows, start=2):
        if len(row) != len(header):
            raise InputError(
                f"{path}, line {number}", f"{len(header)} fields", len(row), "Fill the gaps."
            )
        node, value = (row[column] for column in columns)
        if by_id.setdefault(node, value) != value:
            raise InputError(
                f"{path}, line {number}",
                f"one class for node {node}",
                f"{by_id[node]} and {value}",
                "Drop one of them.",
            )
    found = class_indices(list(by_id.values()))
    own = ids_of(_whole(by_id), str(path))
    return found | {"labels": labels_in_order(found["labels"], own, ids, str(path))}
