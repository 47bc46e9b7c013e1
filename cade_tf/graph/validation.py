"""What the arrays of a graph must be; every mistake is named."""

import operator
from collections.abc import Iterable
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

from cade_tf.errors import InputError

Features: TypeAlias = np.ndarray | sp.csr_array

MOST_CLASSES = 1_000_000
"""A larger number is a code of something; every score counts all classes up to the largest."""

_MISSING = ("None", "nan", "NaT", "<NA>")
"""What is missing in NumPy and pandas, as text."""


def index_dtype(nodes: int) -> type:
    """The integers that number this many nodes."""
    return np.int32 if nodes <= np.iinfo(np.int32).max else np.int64


def array_of(name: str, value: Any) -> np.ndarray:
    """A value of any kind as an array.

    Raises:
        InputError: Lists of several lengths.
    """
    try:
        return np.asarray(value)
    except ValueError as error:
        remedy = "Fill the gaps, or cut what is too long."
        raise InputError(name, "lists of one length", f"others ({error})", remedy) from error


def check_no_gaps(name: str, ids: Iterable[Any]) -> None:
    """Whether every id is there: no None, NaN or empty string.

    Raises:
        InputError: One is not; the message says which.
    """
    if isinstance(ids, np.ndarray) and ids.dtype.kind == "U":
        gaps = np.flatnonzero(ids == "").tolist()
    else:
        gaps = [i for i, node in enumerate(ids) if _is_missing(node)]
    if gaps:
        raise InputError(name, "an id in every row", f"none in row {gaps[0] + 1}", "Fill it in.")


def _is_missing(node: Any) -> bool:
    return not node if isinstance(node, str) else str(node) in _MISSING


def integers(name: str, value: Any, dtype: Any) -> np.ndarray:
    """A vector of integers.

    Raises:
        InputError: Other values, more than the type can hold, or not a vector.
    """
    array = array_of(name, value)
    if array.ndim != 1:
        raise InputError(name, "one dimension", f"shape {array.shape}", "Flatten it.")
    if array.size == 0:
        return array.astype(dtype)
    if array.dtype.kind not in "iu":
        raise InputError(name, "integers", array.dtype, "Convert it; check for missing values.")
    if not np.can_cast(array.dtype, dtype):
        limits, lowest, highest = np.iinfo(dtype), int(array.min()), int(array.max())
        if not limits.min <= lowest <= highest <= limits.max:
            received = lowest if lowest < limits.min else highest
            raise InputError(name, f"integers up to {limits.max}", received, "Number them from 0.")
    return np.ascontiguousarray(array, dtype=dtype)


def per_node(name: str, value: Any, nodes: int, dtype: Any) -> np.ndarray:
    """A vector of integers, one per node.

    Raises:
        InputError: Other values, or another length.
    """
    array = integers(name, value, dtype)
    if len(array) != nodes:
        raise InputError(name, f"{nodes} entries, one per node", len(array), "Match the nodes.")
    return array


def checked_split(split: Any, nodes: int) -> np.ndarray:
    """The part of each node: 0, 1 or 2.

    Raises:
        InputError: Other values, or another length.
    """
    array = per_node("split", split, nodes, np.int8)
    if nodes and not np.isin(array, (0, 1, 2)).all():
        raise InputError("split", "0, 1 or 2 per node", "other values", "Recode it.")
    return array


def check_bounds(indptr: np.ndarray, indices: np.ndarray) -> None:
    """Whether these are the arrays of some CSR matrix.

    Raises:
        InputError: A position is out of range, or `indptr` does not ascend.
    """
    if len(indptr) == 0 or indptr[0] != 0 or indptr[-1] != len(indices):
        raise InputError(
            "indptr",
            f"from 0 to {len(indices)}",
            indptr[[0, -1]] if len(indptr) else "nothing",
            "Use Graph.from_edges.",
        )
    if (indptr[1:] < indptr[:-1]).any():
        raise InputError("indptr", "ascending values", "descending ones", "Use Graph.from_edges.")
    nodes = len(indptr) - 1
    if not len(indices):
        return
    if indices.min() < 0 or indices.max() >= nodes:
        raise InputError(
            "indices",
            f"positions from 0 to {nodes - 1}",
            f"{indices.min()} to {indices.max()}",
            "Use Graph.from_edges.",
        )


def check_simple(indptr: np.ndarray, indices: np.ndarray) -> None:
    """Whether a CSR is a simple undirected graph.

    Raises:
        InputError: Self-loops, repetitions, unsorted rows or one-way edges.
    """
    nodes = len(indptr) - 1
    rows = np.repeat(np.arange(nodes, dtype=indices.dtype), np.diff(indptr))
    if (rows == indices).any():
        raise InputError("indices", "no self-loops", "some", "Use Graph.from_edges.")
    same_row = rows[1:] == rows[:-1]
    if (same_row & (indices[1:] <= indices[:-1])).any():
        raise InputError(
            "indices", "ascending, distinct neighbours", "others", "Use Graph.from_edges."
        )
    matrix = sp.csr_array((np.ones(len(indices), np.int8), indices, indptr), shape=(nodes, nodes))
    transposed = matrix.T.tocsr()
    if not (
        np.array_equal(transposed.indptr, indptr) and np.array_equal(transposed.indices, indices)
    ):
        raise InputError("indices", "a symmetric graph", "one-way edges", "Use Graph.from_edges.")


def checked_features(features: Any, nodes: int, finite: bool) -> Features:
    """Features as float32, dense or CSR.

    Raises:
        InputError: No matrix of numbers, another number of rows, NaN or infinity.
    """
    given = features if sp.issparse(features) else array_of("features", features)
    if given.dtype.kind not in "fiub":
        raise InputError("features", "numbers", given.dtype, "Convert the features.")
    if given.ndim != 2:
        raise InputError(
            "features", "two dimensions", f"shape {given.shape}", "Use [nodes, width]."
        )
    # Before anything is made with as many rows or columns as a damaged file may claim.
    if given.shape[1] > np.iinfo(np.int32).max:
        raise InputError("features", "fewer columns", given.shape[1], "Check the file.")
    if given.shape[0] != nodes:
        raise InputError(
            "features", f"{nodes} rows, one per node", given.shape[0], "Give every node a row."
        )
    with np.errstate(over="ignore"):
        matrix = (
            _float_csr(given) if sp.issparse(given) else np.ascontiguousarray(given, np.float32)
        )
    values = matrix.data if sp.issparse(matrix) else matrix
    if finite and not np.isfinite(values).all():
        raise InputError(
            "features",
            "finite numbers",
            f"{int((~np.isfinite(values)).sum()):,} NaN or infinite values",
            "Fill or drop them before loading.",
        )
    return matrix


def _float_csr(matrix: Any) -> sp.csr_array:
    check_compressed("features", matrix)
    csr = sp.csr_array(matrix).astype(np.float32, copy=False)
    if not csr.has_canonical_format:
        # In place, so not on the caller's own arrays.
        csr = csr.copy()
        csr.sum_duplicates()
    return csr


def sparse_matrix(
    name: str, parts: tuple[Any, Any, Any], shape: Any, kind: Any = sp.csr_array
) -> Any:
    """A sparse matrix of its parts, each proved before C code trusts it.

    SciPy's own check misses starts that descend in a matrix that claims to be empty.

    Args:
        name: What it is, for an error.
        parts: Values, their columns (rows in CSC), and where each row (column) starts.
        shape: Rows and columns.
        kind: `csr_array` or `csc_array`.

    Raises:
        InputError: The parts do not fit each other.
    """
    data, indices, indptr = (np.asarray(part) for part in parts)
    try:
        rows, columns = (operator.index(size) for size in shape)
    except (TypeError, ValueError) as error:
        raise InputError(name, "two sizes as its shape", shape, "Write it again.") from error
    lines, width = (rows, columns) if kind is sp.csr_array else (columns, rows)
    if data.dtype.kind not in "fiub" or {indices.dtype.kind, indptr.dtype.kind} - {*"iu"}:
        wrong = f"types {data.dtype}, {indices.dtype} and {indptr.dtype}"
    elif not data.ndim == indices.ndim == indptr.ndim == 1:
        wrong = "parts that are no vectors"
    elif len(indptr) != lines + 1 or indptr[0] != 0 or (indptr[1:] < indptr[:-1]).any():
        wrong = f"{len(indptr)} starts, not all ascending, for {lines} rows or columns"
    elif len(data) != len(indices) or indptr[-1] != len(indices):
        wrong = f"{len(data)} values at {len(indices)} places, {indptr[-1]} wanted"
    elif len(indices) and not (indices.min() >= 0 and indices.max() < width):
        wrong = f"places {indices.min()} to {indices.max()} of {width}"
    else:
        return kind((data, indices, indptr), shape=(rows, columns))
    raise InputError(name, f"a sparse matrix of shape {(rows, columns)}", wrong, "Write it again.")


def check_compressed(name: str, matrix: Any) -> None:
    """Proves a CSR or CSC matrix; one of another kind passes.

    Raises:
        InputError: Its parts do not fit each other.
    """
    if getattr(matrix, "format", None) in ("csr", "csc"):
        kind = sp.csr_array if matrix.format == "csr" else sp.csc_array
        sparse_matrix(name, (matrix.data, matrix.indices, matrix.indptr), matrix.shape, kind)


def checked_labels(labels: Any, nodes: int) -> np.ndarray:
    """Classes, or a 0/1 matrix of classes.

    Raises:
        InputError: Other values, or another number of nodes.
    """
    array = array_of("labels", labels)
    if array.ndim not in (1, 2) or len(array) != nodes:
        raise InputError(
            "labels", f"[{nodes}] or [{nodes}, classes]", f"shape {array.shape}", "Reshape it."
        )
    if array.dtype.kind not in "iub" and array.size:
        raise InputError("labels", "integers", array.dtype, "Number the classes from 0.")
    if array.ndim == 2:
        if not array.shape[1] or not np.isin(array, (0, 1)).all():
            received = "other values" if array.shape[1] else f"shape {array.shape}"
            raise InputError("labels", "a 0/1 matrix", received, "Use one column per class.")
        return array.astype(np.int8)
    if array.min(initial=0) < -1:
        raise InputError("labels", "-1 (none) or a class from 0", array.min(), "Recode them.")
    if array.max(initial=0) >= MOST_CLASSES:
        expected = f"classes from 0 to {MOST_CLASSES - 1:,}"
        raise InputError("labels", expected, array.max(), "Number the classes from 0.")
    return array.astype(np.int32)


def checked_node_ids(node_ids: Any, nodes: int) -> np.ndarray:
    """Distinct integers or strings.

    Raises:
        InputError: Other values, repetitions, or another number of nodes.
    """
    array = array_of("node_ids", node_ids)
    if array.dtype.kind in "OU" and array.ndim == 1:
        # Not in the array: of a list, NumPy has made text of what is missing.
        check_no_gaps("node_ids", node_ids)
        array = array.astype(str)
    if array.dtype.kind not in "iuU" and array.size:
        raise InputError("node_ids", "integers or strings", array.dtype, "Convert them.")
    if array.shape != (nodes,):
        raise InputError("node_ids", f"{nodes} ids", f"shape {array.shape}", "One id per node.")
    ordered = np.sort(array)
    repeated = ordered[1:][ordered[1:] == ordered[:-1]]
    if len(repeated):
        raise InputError(
            "node_ids", "distinct ids", f"{repeated[0]} more than once", "Drop the repeats."
        )
    return array


def checked_weights(weights: Any, edges: int) -> np.ndarray:
    """Positive float32 weights.

    Raises:
        InputError: Other values, or another number of edges.
    """
    array = array_of("edge_weights", weights)
    if array.shape != (edges,):
        raise InputError(
            "edge_weights", f"{edges} numbers", f"shape {array.shape}", "One per edge."
        )
    if array.dtype.kind not in "fiu" and array.size:
        raise InputError("edge_weights", "numbers", array.dtype, "Convert them.")
    with np.errstate(over="ignore", under="ignore"):
        array = array.astype(np.float32)
    if not (np.isfinite(array).all() and (array > 0).all()):
        raise InputError(
            "edge_weights", "finite numbers above 0", "others", "Drop edges of weight 0 or less."
        )
    return array


def checked_edges(edges: Any) -> np.ndarray:
    """Pairs of positions, int64 [edges, 2].

    Raises:
        InputError: Other values or another shape.
    """
    pairs = checked_pairs(np.asarray(edges))
    if pairs.dtype.kind == "U":
        raise InputError("edges", "integers", "strings", "Use positions of nodes.")
    return pairs


def checked_pairs(edges: np.ndarray) -> np.ndarray:
    """Pairs of integers, int64 [edges, 2], or of strings.

    Raises:
        InputError: Other values or another shape.
    """
    if edges.size == 0:
        return np.zeros((0, 2), np.int64)
    if edges.ndim != 2 or edges.shape[1] != 2:
        remedy = "Give pairs of nodes."
        if edges.ndim == 2 and edges.shape[0] == 2:
            remedy = "Use Graph.from_edge_index for [2, edges]."
        raise InputError("edges", "shape [edges, 2]", f"shape {edges.shape}", remedy)
    if edges.dtype.kind == "U":
        return edges
    if edges.dtype.kind not in "iu":
        raise InputError("edges", "integers or strings", edges.dtype, "Number the nodes from 0.")
    return edges.astype(np.int64, copy=False)
