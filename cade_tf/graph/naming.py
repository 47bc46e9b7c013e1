"""Names of nodes and classes, of any kind, as positions and numbers."""

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from cade_tf.errors import InputError
from cade_tf.graph.validation import array_of, check_no_gaps, checked_node_ids, checked_pairs

_WHOLE = re.compile(r"[+-]?\d{1,18}(\.0*)?")
_PER_NODE = ("features", "labels", "graph_ids", "split")
_NO_CLASS = ("", "nan", "<na>")


# --- ids ---------------------------------------------------------------------------------------


def ids_of(names: Sequence[Any], argument: str = "node_ids") -> np.ndarray:
    """Node ids as an array: integers where all are, else strings.

    Args:
        names: Names of any kind; whole floats, which pandas makes of integers, are integers.
        argument: What holds them, for an error.

    Raises:
        InputError: One is missing: None, NaN or an empty string.

    Example:

    >>> ids_of([3.0, "a"])
    array(['3', 'a'], dtype='<U1')
    """
    check_no_gaps(argument, names)
    whole = [_is_whole(name) for name in names]
    if all(whole):
        return np.array(names, np.int64)
    texts = (str(int(name) if w else name) for name, w in zip(names, whole, strict=True))
    return np.array([*texts], str)


def _is_whole(name: Any) -> bool:
    if isinstance(name, float):
        return name.is_integer() and abs(name) < 2**53
    whole = isinstance(name, (int, np.integer)) and not isinstance(name, bool)
    return whole and abs(int(name)) < 2**63


def column_ids(column: np.ndarray, argument: str) -> np.ndarray:
    """Ids in a column of a table: integers, whole floats or strings.

    Args:
        column: The column, of any type.
        argument: What holds it, for an error.

    Raises:
        InputError: Fractions, gaps, or values of another kind.
    """
    kind = column.dtype.kind
    if kind in "iu" and np.can_cast(column.dtype, np.int64):
        return column.astype(np.int64)
    values = column.tolist()
    check_no_gaps(argument, values)
    other = next((value for value in values if not _is_id(value)), None)
    if other is not None:
        remedy = "Convert the column."
        raise InputError(argument, "ids: integers or strings", repr(other)[:60], remedy)
    return ids_of(values, argument)


def _is_id(value: Any) -> bool:
    return _is_whole(value) if isinstance(value, float) else isinstance(value, (int, str))


def known_rows(values: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Where each value stands among distinct ids, int64 of any shape; -1 for an unknown one."""
    if (values.dtype.kind == "U") != (ids.dtype.kind == "U"):
        # Files without types may bring the same ids once as numbers and once as text.
        values, ids = values.astype(str), ids.astype(str)
    if not len(ids):
        return np.full(values.shape, -1, np.int64)
    order = np.argsort(ids, kind="stable")
    place = np.minimum(np.searchsorted(ids, values, sorter=order), len(ids) - 1)
    found = order[place]
    return np.where(ids[found] == values, found, -1).astype(np.int64)


def positions(values: np.ndarray, ids: np.ndarray, argument: str, expected: str) -> np.ndarray:
    """Where each value stands among distinct ids.

    Args:
        values: Ids to look up, of any shape.
        ids: Ids of the nodes.
        argument: What holds the values, for an error.
        expected: What they should be, for an error.

    Returns:
        int64, of the shape of `values`.

    Raises:
        InputError: A value is no id.
    """
    found = known_rows(values, ids)
    unknown = found < 0
    if unknown.any():
        first = values[unknown][0].item()
        raise InputError(
            argument,
            expected,
            f"{first!r} and {int(unknown.sum()) - 1:,} more" if unknown.sum() > 1 else repr(first),
            "Add the node, or drop what belongs to it.",
        )
    return found


# --- tables that know the ids of their rows ----------------------------------------------------


def is_frame(value: Any) -> bool:
    """Whether a value is a pandas DataFrame or Series, known by its index."""
    return hasattr(value, "to_numpy") and hasattr(value, "index")


def by_position(edges: Any, fields: dict[str, Any]) -> tuple[np.ndarray, dict[str, Any]]:
    """Replaces names by numbers in what a user gives to `Graph.from_edges`.

    Args:
        edges: Pairs of positions or of names; of names also where a pandas table has ids and
            `node_ids` is not given.
        fields: Arguments of `Graph`; features and labels may be pandas tables, labels may be
            strings.

    Returns:
        Edges as positions, and fields as arrays in the order of the nodes.

    Raises:
        InputError: An id is unknown, missing or repeated.
    """
    pairs = _pairs(edges)
    fields = dict(fields)
    explicit = fields.get("node_ids") is not None
    ids = _node_ids(pairs, fields)
    if ids is not None:
        if pairs.dtype.kind == "U" or not explicit:
            pairs = positions(pairs, ids, "edges", f"the ids of the {len(ids):,} nodes")
        if not explicit and not _counts(ids):
            fields["node_ids"] = ids
    if is_frame(fields.get("features")):
        fields |= _frame_features(fields["features"], ids, fields.get("feature_names"))
    if fields.get("labels") is not None:
        fields |= _labels(fields["labels"], ids, fields.get("class_names"))
    return pairs, fields


def _pairs(edges: Any) -> np.ndarray:
    pairs = array_of("edges", edges)
    if pairs.dtype.kind == "O":
        pairs = ids_of(pairs.ravel().tolist(), "edges").reshape(pairs.shape)
    return checked_pairs(pairs)


def _node_ids(pairs: np.ndarray, fields: dict[str, Any]) -> np.ndarray | None:
    """Ids of the nodes in order; None where nodes only have positions."""
    features, labels = fields.get("features"), fields.get("labels")
    if fields.get("node_ids") is not None:
        return checked_node_ids(fields["node_ids"], len(fields["node_ids"]))
    if is_frame(features):
        return _index_of("features", features)
    plain = [name for name in _PER_NODE if fields.get(name) is not None]
    plain = [name for name in plain if not is_frame(fields[name])]
    if pairs.dtype.kind == "U" and plain:
        raise InputError(
            "node_ids",
            f"the names of the nodes in the order of {plain[0]}",
            "none",
            "Give node_ids, or a pandas table whose index names the nodes.",
        )
    if features is not None:
        rows = features.shape[0] if hasattr(features, "shape") else len(features)
        return np.arange(rows) if is_frame(labels) else None
    if is_frame(labels):
        known = _index_of("labels", labels)
        if known.dtype.kind != pairs.dtype.kind and pairs.size:
            known, pairs = known.astype(str), pairs.astype(str)
        return np.unique(np.concatenate([known, pairs.ravel()])) if pairs.size else known
    return np.unique(pairs) if pairs.dtype.kind == "U" else None


def _counts(ids: np.ndarray) -> bool:
    """Whether ids are the positions themselves."""
    return ids.dtype.kind != "U" and np.array_equal(ids, np.arange(len(ids)))


def _index_of(name: str, frame: Any) -> np.ndarray:
    ids = ids_of(frame.index.tolist(), f"{name}.index")
    repeated = len(ids) - len(np.unique(ids))
    if repeated:
        raise InputError(
            f"{name}.index", "each id once", f"{repeated:,} repetitions", "Drop the repeats."
        )
    return ids


def _frame_features(
    frame: Any, ids: np.ndarray | None, names: Sequence[str] | None
) -> dict[str, Any]:
    """Rows in the order of the nodes, and the names of the columns."""
    own = _index_of("features", frame)
    if ids is not None and not np.array_equal(own, ids):
        positions(own, ids, "features.index", f"the ids of the {len(ids):,} nodes")
        rows = positions(ids, own, "features.index", "a row for every node, but none has the id")
        frame = frame.iloc[rows]
    columns = [str(name) for name in frame.columns]
    values = frame.to_numpy()
    if values.dtype.kind == "O":
        try:
            values = values.astype(np.float64)
        except (TypeError, ValueError):
            texts = [n for n, t in zip(columns, frame.dtypes, strict=True) if t.kind not in "biuf"]
            raise InputError(
                "features",
                "numbers",
                f"text in the columns {', '.join(texts)}",
                "Drop them, or turn them into 0/1 columns (pandas.get_dummies).",
            ) from None
    named = names is None and columns != [str(i) for i in range(len(columns))]
    return {"features": values} | ({"feature_names": tuple(columns)} if named else {})


# --- classes -----------------------------------------------------------------------------------


def _labels(labels: Any, ids: np.ndarray | None, names: Sequence[str] | None) -> dict[str, Any]:
    """Labels as `Graph` takes them, in the order of the nodes."""
    values = labels.to_numpy() if is_frame(labels) else array_of("labels", labels)
    if not values.ndim:
        raise InputError("labels", "a class for each node", repr(labels)[:60], "Give a list.")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values.ravel()
    found: dict[str, Any] = {}
    if values.dtype.kind == "f":
        # Also a 0/1 matrix, which other libraries hold as floats.
        values = _whole_numbers(values)
    elif values.ndim == 1 and values.dtype.kind in "UO":
        found = class_indices(values, names)
        values = found["labels"]
    if is_frame(labels) and ids is not None:
        values = labels_in_order(values, _index_of("labels", labels), ids, "labels.index")
    return found | {"labels": values}


def labels_in_order(
    labels: np.ndarray, own: np.ndarray, ids: np.ndarray, argument: str
) -> np.ndarray:
    """Labels in the order of the nodes, -1 for a node that has none.

    Args:
        labels: Classes [n], or a 0/1 matrix [n, classes] of all nodes.
        own: Ids of the nodes that they belong to, [n].
        ids: Ids of all nodes.
        argument: What holds the ids, for an error.

    Raises:
        InputError: An id is unknown, or a matrix leaves nodes out.
    """
    rows = positions(own, ids, argument, f"the ids of the {len(ids):,} nodes")
    if labels.ndim == 2 and len(own) < len(ids):
        raise InputError("labels", f"all {len(ids):,} nodes", len(own), "Add the others.")
    placed = np.full((len(ids), *labels.shape[1:]), -1, np.int64)
    placed[rows] = labels
    return placed


def class_indices(values: Any, names: Sequence[str] | None = None) -> dict[str, Any]:
    """Classes of any name as the fields `labels` and `class_names` of a `Graph`.

    Args:
        values: One class per node: integers, whole floats or strings. -1, NaN, None and empty
            strings mean no class; numbers written as text are numbers.
        names: Names of the classes in their order; by default those found, sorted.

    Returns:
        `labels` from 0, -1 for none, and `class_names`.

    Raises:
        InputError: Other values, or a class that is not among the names.

    Example:

    >>> class_indices(["b", "a", "", "b"])
    {'labels': array([ 1,  0, -1,  1]), 'class_names': ('a', 'b')}
    """
    array = array_of("labels", values)
    if array.ndim != 1:
        raise InputError("labels", "one class per node", f"shape {array.shape}", "Flatten it.")
    if array.dtype.kind in "UO":
        array = _numbers_or_texts(array.tolist())
    if array.dtype.kind == "f":
        array = _whole_numbers(array)
    if array.dtype.kind in "iub":
        missing = array.astype(np.int64) == -1
    elif array.dtype.kind == "U":
        missing = array == ""
    else:
        raise InputError("labels", "integers or names of classes", array.dtype, "Convert them.")
    labels = np.full(len(array), -1)
    found, inverse = np.unique(array[~missing], return_inverse=True)
    if names is not None:
        found = positions(found.astype(str), np.asarray(names, str), "labels", "class_names")
        labels[~missing] = found[inverse]
        return {"labels": labels, "class_names": tuple(names)}
    labels[~missing] = inverse
    return {"labels": labels, "class_names": tuple(str(name) for name in found)}


def _numbers_or_texts(values: list[Any]) -> np.ndarray:
    """Integers if all values but the missing are; else strings. Missing ones are -1 or empty."""
    texts = ["" if value is None else str(value) for value in values]
    texts = ["" if text.strip().lower() in _NO_CLASS else text for text in texts]
    if all(not text or _WHOLE.fullmatch(text.strip()) for text in texts):
        return np.array([int(text.split(".")[0]) if text else -1 for text in texts], np.int64)
    return np.array(texts, str)


def _whole_numbers(array: np.ndarray) -> np.ndarray:
    """Integers in place of whole floats, -1 in place of NaN; other floats as they are."""
    filled = np.where(np.isnan(array), -1, array).astype(np.float64)
    whole = (np.abs(filled) < 2**53) & (filled == np.round(filled))
    return filled.astype(np.int64) if whole.all() else array


def matrix_labels(matrix: Any, nodes: int) -> dict[str, Any]:
    """Labels in a matrix, sparse or dense: a column of classes, or 0/1 for every class.

    Args:
        matrix: [nodes], [nodes, 1], [1, nodes] or [nodes, classes].
        nodes: Number of nodes.

    Returns:
        `labels` and, for a column of classes, `class_names`. A 0/1 matrix in which no node has two
        classes becomes class indices.

    Raises:
        InputError: Other values, another size, or far more classes than entries.
    """
    matrix = dense_labels(matrix, nodes)
    column = matrix.ndim == 2 and (matrix.shape[1] == 1 or (matrix.shape[0] == 1 and nodes != 1))
    if matrix.ndim == 1 or column:
        return class_indices(matrix.ravel())
    if matrix.ndim != 2 or not matrix.shape[1] or not np.isin(matrix, (0, 1)).all():
        raise InputError("labels", "classes, or a 0/1 column per class", "others", "Recode.")
    matrix = matrix.astype(np.int64)
    count = matrix.sum(axis=1)
    if (count > 1).any() or not len(matrix):
        return {"labels": matrix}
    return {"labels": np.where(count == 1, matrix.argmax(axis=1), -1)}


def dense_labels(matrix: Any, nodes: int) -> np.ndarray:
    """A dense array of labels, where it takes no more memory than labels can need.

    Raises:
        InputError: A sparse matrix of another size, or of far more classes than entries.
    """
    if not sp.issparse(matrix):
        return np.asarray(matrix)
    if nodes not in matrix.shape or min(matrix.shape) > max(matrix.nnz, nodes):
        raise InputError(
            "labels", f"[{nodes}, classes]", f"shape {matrix.shape}", "Match the nodes."
        )
    return matrix.toarray()
