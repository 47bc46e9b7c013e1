"""From the ids of nodes to their positions, inside a saved graph of any size."""

import numpy as np
import tensorflow as tf

from cade_tf.errors import InputError
from cade_tf.serving.requests import guarded, require

_HASH_KEYS = 16


class KnownIds(tf.Module):
    """Looks ids up by bisection in sorted variables; strings by their hash, then compared.

    A look-up table of TensorFlow would keep its keys as constants of the graph.

    Args:
        ids: Distinct integers or strings.

    Example:

    >>> KnownIds(np.array([30, 10])).positions("node_ids", tf.constant([10, 30], tf.int64)).numpy()
    array([1, 0])
    """

    def __init__(self, ids: np.ndarray) -> None:
        super().__init__()
        self.strings: tf.Variable | None = None
        self.hash_key = 0
        if ids.dtype.kind == "U":
            self.dtype = tf.string
            texts = tf.constant(ids.astype(object))
            self.hash_key, numbers = _distinct_hashes(texts)
            self.strings = tf.Variable(texts, trainable=False)
        else:
            self.dtype = tf.int64
            if len(ids) and ids.max() > np.iinfo(np.int64).max:
                raise InputError("node_ids", "integers below 2**63", ids.max(), "Use strings.")
            numbers = ids.astype(np.int64)
        order = np.argsort(numbers)
        self.order = tf.Variable(order.astype(np.int64), trainable=False)
        self.numbers = tf.Variable(numbers[order], trainable=False)

    def positions(self, name: str, ids: tf.Tensor) -> tf.Tensor:
        """Position of each id, int64 [n]; an unknown id is an error that says so.

        Args:
            name: What errors call the ids.
            ids: `[n]`.
        """
        numbers = ids if self.strings is None else _hashes(ids, self.hash_key)
        place = tf.searchsorted(self.numbers, numbers, out_type=tf.int64)
        place = tf.minimum(place, self.numbers.shape[0] - 1)
        found = tf.gather(self.order, place)
        known = tf.gather(self.numbers, place) == numbers
        if self.strings is not None:
            known &= tf.gather(self.strings, found) == ids
        check = require(
            tf.reduce_all(known),
            f"{name}: expected ids of nodes in the exported graph, received unknown ones:",
            tf.boolean_mask(ids, ~known),
        )
        return guarded({name: found}, [check])[name]


def _hashes(texts: tf.Tensor, key: int) -> tf.Tensor:
    return tf.strings.to_hash_bucket_strong(texts, 2**63 - 1, [key, 0])


def _distinct_hashes(texts: tf.Tensor) -> tuple[int, np.ndarray]:
    """A key under which no two texts have the same hash, and the hashes."""
    for key in range(_HASH_KEYS):
        hashes = _hashes(texts, key).numpy()
        if len(np.unique(hashes)) == len(hashes):
            return key, hashes
    raise InputError("node_ids", "distinct ids", "repeated ones", "Drop the repeats.")
