"""Tables that lie in pieces on several machines, as TensorFlow's sharded variables."""

from collections.abc import Sequence

import tensorflow as tf

from cade_tf.sampling.tables import distinct


class ShardedTable:
    """A table whose rows are spread over variables, each wherever TensorFlow has put it.

    Ids are made distinct before they travel; every server is asked once for its rows.

    Args:
        parts: Variables one after the other, of equal length but for one row (`ShardedVariable`
            divides so).

    Example:

    >>> table = ShardedTable([tf.Variable([5, 6]), tf.Variable([7])])
    >>> table.lookup(tf.constant([2, 0, 2])).numpy().tolist()
    [7, 5, 7]
    """

    def __init__(self, parts: Sequence[tf.Variable]) -> None:
        self.parts = list(parts)

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return sum(part.shape[0] for part in self.parts)

    def lookup(self, ids: tf.Tensor) -> tf.Tensor:
        """Rows of the given ids."""
        rows, position = self.compact(ids)
        return tf.gather(rows, position)

    def compact(self, ids: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The distinct rows, in the order in which their ids first appear."""
        once, position = distinct(ids)
        return self.fetch(once), position

    def fetch(self, ids: tf.Tensor) -> tf.Tensor:
        """Rows of ids that are known to be distinct."""
        return tf.nn.embedding_lookup(self.parts, ids)

    def search(self, values: tf.Tensor) -> tf.Tensor:
        """First row above each value: every server counts its rows up to it."""
        flat = tf.reshape(values, [-1])
        counts = []
        for part in self.parts:
            # The numbers travel to the table, which is the larger of the two.
            with tf.device(part.device):
                counts.append(tf.searchsorted(part, flat, side="right", out_type=tf.int64))
        return tf.reshape(tf.add_n(counts), tf.shape(values))
