"""Your own list of edges, with tables of features and labels."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cade_tf import problems
from cade_tf.errors import InputError
from cade_tf.graph.graph import Graph
from cade_tf.graph.naming import ids_of, labels_in_order
from cade_tf.graph.readers.edge_files import Edges, read_edges
from cade_tf.graph.readers.node_tables import NodeTable, read_features, read_labels
from cade_tf.graph.validation import checked_features, checked_labels, checked_weights
from cade_tf.progress import Shown

_WHOLE = re.compile(r"[+-]?[0-9]{1,18}")
"""Not all that Python takes for an integer: 1_2 is a name."""


def read(
    path: Path,
    features: Path | None = None,
    labels: Path | None = None,
    progress: Shown = True,
) -> Graph:
    """Reads a list of edges.

    A line of text holds two ids and perhaps a weight, separated by commas, semicolons, tabs or
    spaces; lines that begin with # or % are comments; a header may name the columns. An npy holds
    [edges, 2], [edges, 3] with weights or [2, edges]; a Parquet file has columns as a csv with a
    header. Nodes come in the order of the feature table where that has ids. Where it has none
    (npy, npz), ids are positions in it. Without features, nodes are all ids found, sorted.

    Args:
        path: The list of edges.
        features: npy, npz, csv or Parquet; see `cade_tf.graph.readers.node_tables`.
        labels: csv, npy or Parquet.
        progress: Whether to show how far the list of edges has been read.

    Raises:
        InputError: A line, an id or a file does not fit; the message names it.
    """
    edges = read_edges(path, progress)
    feature_table = label_table = None
    if features is not None:
        with problems.part():
            feature_table = read_features(features)
    if labels is not None:
        with problems.part():
            label_table = read_labels(labels)
    names, given = _names(edges, feature_table, label_table)
    with problems.within(features or path):
        position = _positions(names)
    fields: dict[str, Any] = {"name": path.name.split(".")[0], "notes": edges.notes}
    if feature_table is not None:
        with problems.part(), problems.within(features):
            values = checked_features(feature_table.fields["features"], len(names), finite=True)
            fields |= feature_table.fields | {"features": values}
    if label_table is not None:
        with problems.part(), problems.within(labels):
            fields |= _labels(label_table, position)
    if given:
        fields["node_ids"] = ids_of([_number_or_name(name) for name in names])
    pairs, weights = _numbered(edges, position, path, features or labels)
    with problems.within(path):
        return Graph.from_edges(pairs, num_nodes=len(names), edge_weights=weights, **fields)


def _numbered(
    edges: Edges, position: dict[str, int], path: Path, table: Path | None
) -> tuple[np.ndarray, np.ndarray | None]:
    """Edges as positions of nodes, and their weights; without those of unknown nodes."""
    weights = None
    if edges.weights is not None:
        with problems.part(), problems.within(path):
            weights = checked_weights(edges.weights, len(edges.codes))
    codes = np.array([position.get(name, -1) for name in edges.names], np.int64)
    pairs = codes[edges.codes]
    if not (codes < 0).any():
        return pairs, weights
    with problems.part():
        raise InputError(
            str(path),
            f"the ids of the {len(position):,} nodes in {table}",
            repr(edges.names[int(codes.argmin())]),
            "Add the node there, or drop its edges.",
        )
    known = (pairs >= 0).all(axis=1)
    return pairs[known], None if weights is None else weights[known]


def _names(
    edges: Edges, features: NodeTable | None, labels: NodeTable | None
) -> tuple[list[str], bool]:
    """Names of all nodes in their order, and whether they are more than positions."""
    table = features or labels
    if table is not None and table.ids is None:
        return [str(i) for i in range(table.length)], False
    if features is not None and features.ids is not None:
        return _normal(features.ids), True
    known = set(edges.names)
    if labels is not None and labels.ids is not None:
        known |= set(_normal(labels.ids))
    return sorted(known, key=_sort_key), True


def _normal(ids: Sequence[str]) -> list[str]:
    """Whole numbers written in one way, so that 007 and 7 are one node."""
    return [str(_number_or_name(name)) for name in ids]


def _number_or_name(name: str) -> int | str:
    return int(name) if _WHOLE.fullmatch(name) else name


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


def _labels(table: NodeTable, position: dict[str, int]) -> dict[str, Any]:
    """Labels in the order of the nodes; nodes that the table leaves out have none."""
    given = table.fields["labels"]
    if table.ids is None:
        if len(given) != len(position):
            raise InputError(
                "labels",
                f"{len(position):,} labels, one per node",
                f"{len(given):,}",
                "Give every node one; a line that names the column must say label.",
            )
        return table.fields | {"labels": checked_labels(given, len(position))}
    own = np.array([*_positions(_normal(table.ids))], str)
    labels = labels_in_order(given, own, np.array([*position], str), "node ids")
    return table.fields | {"labels": checked_labels(labels, len(position))}
