"""What embeddings must be: finite numbers, a row for each node; errors name what is wrong."""

from typing import Any

import numpy as np
import scipy.sparse as sp

from cade_tf.errors import InputError
from cade_tf.graph.graph import Features, Graph
from cade_tf.graph.validation import array_of

LARGEST = 1e15
"""The length of a vector of larger numbers is beyond float32, and every cosine with it wrong."""

_CHUNK_ROWS = 1 << 16


def require_finite(
    embeddings: np.ndarray, ids: np.ndarray | None = None, name: str = "embeddings"
) -> np.ndarray:
    """Embeddings, all of whose numbers are finite and at most `LARGEST`.

    Args:
        embeddings: [nodes, dim].
        ids: Id of each row; None where the position says enough.
        name: What an error calls them.

    Returns:
        The embeddings.

    Raises:
        InputError: A number is infinite, NaN or too large; the message names the first such node.

    Example:

    >>> require_finite(np.array([[1.0], [np.inf]]), np.array(["a", "b"]))
    Traceback (most recent call last):
    cade_tf.errors.InputError: embeddings: expected finite numbers of at most 1e+15, ... node b. ...
    """
    # In half precision `LARGEST` itself would be infinite.
    dtype = np.promote_types(embeddings.dtype, np.float32)
    for first in range(0, len(embeddings), _CHUNK_ROWS):
        rows = embeddings[first : first + _CHUNK_ROWS].astype(dtype, copy=False)
        fine = np.abs(rows) <= LARGEST
        if not fine.all():
            row = int(np.argmin(fine.all(axis=1)))
            node = f"position {first + row}" if ids is None else f"node {ids[first + row]}"
            raise _refusal(rows[row], node, name)
    return embeddings


def require_rows(embeddings: Features, graph: Graph) -> Any:
    """Embeddings that a user gives for the nodes of a graph.

    Args:
        embeddings: CSR, or anything that NumPy makes a matrix of.
        graph: The graph.

    Returns:
        The same as an array or CSR.

    Raises:
        InputError: Another number of rows, no matrix of numbers, or a number that is not finite.
    """
    found: Any = embeddings if sp.issparse(embeddings) else array_of("embeddings", embeddings)
    if found.ndim != 2 or found.dtype.kind not in "fiub":
        received = f"{found.dtype} of shape {found.shape}"
        raise InputError("embeddings", "a matrix of numbers", received, "Embed this graph.")
    if found.shape[0] != graph.num_nodes:
        received = found.shape[0]
        raise InputError("embeddings", f"{graph.num_nodes} rows", received, "Embed this graph.")
    if not sp.issparse(found):
        require_finite(found, graph.ids)
    return found


def _refusal(vector: np.ndarray, node: str, name: str) -> InputError:
    return InputError(
        name,
        f"finite numbers of at most {LARGEST:g}",
        f"{vector[~(np.abs(vector) <= LARGEST)][0]} at {node}",
        "Look for very large features or weights there and at its neighbours.",
    )
