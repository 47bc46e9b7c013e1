"""Embeddings are numbers, or an error that names the node."""

import numpy as np

from cade_tf.errors import InputError

_CHUNK_ROWS = 1 << 16


def require_finite(embeddings: np.ndarray, ids: np.ndarray | None = None) -> np.ndarray:
    """Embeddings, all of whose numbers are finite.

    Args:
        embeddings: [nodes, dim].
        ids: Id of each row; None where the position says enough.

    Returns:
        The embeddings.

    Raises:
        InputError: A number is infinite or NaN; the message names the first such node.

    Example:

    >>> require_finite(np.array([[1.0], [np.inf]]), np.array(["a", "b"]))
    Traceback (most recent call last):
    cade_tf.errors.InputError: embeddings: expected finite numbers, received inf at node b. ...
    """
    for first in range(0, len(embeddings), _CHUNK_ROWS):
        finite = np.isfinite(embeddings[first : first + _CHUNK_ROWS])
        if not finite.all():
            _refuse(embeddings, ids, first + int(np.argmin(finite.all(axis=1))))
    return embeddings


def _refuse(embeddings: np.ndarray, ids: np.ndarray | None, row: int) -> None:
    node = f"the node at position {row}" if ids is None else f"node {ids[row]}"
    wrong = embeddings[row][~np.isfinite(embeddings[row])][0]
    raise InputError(
        "embeddings",
        "finite numbers",
        f"{wrong} at {node}",
        "Look for very large features or weights there and at its neighbours.",
    )
