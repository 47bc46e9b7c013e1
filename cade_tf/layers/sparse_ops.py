"""Gathers and means of rows as products with sparse matrices.

TensorFlow's gradient of a gather scatters rows one after the other on one thread; a product with a
compressed sparse row matrix, and with its transpose for the gradient, does the same sums on all
threads, several times as fast and in a fixed order.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

import tensorflow as tf

from cade_tf.sampling.tables import slices

Rows = Any  # tf.Tensor or tf.SparseTensor; TensorFlow declares no types


class Segments(NamedTuple):
    """Children of nodes that have different numbers of them: rows of a CSR matrix.

    Attributes:
        columns: Integers [entries], positions of the children, node after node.
        row_splits: Integers [n + 1]; node i has the entries row_splits[i]..row_splits[i + 1] - 1.
        shares: [entries], weight of each child in a mean; those of a node add up to 1.
        owners: int64 [entries], node of each entry.
    """

    columns: tf.Tensor
    row_splits: tf.Tensor
    shares: tf.Tensor
    owners: tf.Tensor


Children: TypeAlias = tf.Tensor | Segments
"""Positions of each node's children: `[n, s]`, or `Segments`."""


def gather_rows(values: tf.Tensor, index: tf.Tensor) -> tf.Tensor:
    """`values[index]`: rows of the first axis, for an index of one dimension.

    Args:
        values: `[m, ...]`.
        index: Integers `[n]`.

    Returns:
        `[n, ...]`.
    """

    @tf.custom_gradient
    def gather(values: tf.Tensor) -> tuple[tf.Tensor, Any]:
        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            return scatter_rows(upstream, index, values)

        return tf.gather(values, index), gradient

    return gather(values)


def scatter_rows(upstream: tf.Tensor, index: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """The gradient of `values[index]`: sums of the rows of `upstream` that came from each row."""
    if not _has_kernel(upstream.dtype):
        return tf.cast(scatter_rows(_wide(upstream), index, values), upstream.dtype)
    weights = tf.ones([tf.size(index)], upstream.dtype)
    return _scatter(upstream, tf.expand_dims(index, 1), weights, values)


def gather_mean(values: tf.Tensor, index: tf.Tensor) -> tf.Tensor:
    """Mean over the second axis of `values[index]`, which is never formed.

    Args:
        values: `[m, ...]`.
        index: Integers `[n, s]`.

    Returns:
        `[n, ...]`.
    """
    if not _has_kernel(values.dtype):
        return tf.cast(gather_mean(_wide(values), index), values.dtype)
    weights = tf.fill([tf.size(index)], 1.0 / tf.cast(tf.shape(index)[1], values.dtype))

    @tf.custom_gradient
    def mean(values: tf.Tensor) -> tuple[tf.Tensor, Any]:
        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            return _scatter(upstream, index, weights, values)

        matrix = _matrix(index, weights, tf.shape(values)[0])
        means = tf.raw_ops.SparseMatrixMatMul(a=matrix, b=_flat(values))
        return tf.reshape(means, [-1, *values.shape[1:]]), gradient

    return mean(values)


def segment_mean(values: tf.Tensor, segments: Segments) -> tf.Tensor:
    """Weighted means of the rows that each node's entries name, `[n, ...]`; has no gradient."""
    matrix = _compressed(
        tf.stack([segments.owners, tf.cast(segments.columns, tf.int64)], axis=1),
        tf.cast(segments.shares, tf.float32),
        tf.size(segments.row_splits) - 1,
        tf.shape(values)[0],
    )
    flat = tf.cast(_flat(values), tf.float32)
    means = tf.raw_ops.SparseMatrixMatMul(a=matrix, b=flat)
    return tf.cast(tf.reshape(means, [-1, *values.shape[1:]]), values.dtype)


def segment_max(values: tf.Tensor, segments: Segments) -> tf.Tensor:
    """Maxima of the rows that each node's entries name, `[n, ...]`; every node has an entry."""
    return tf.math.segment_max(tf.gather(values, segments.columns), segments.owners)


def gather_max(values: tf.Tensor, index: tf.Tensor) -> tf.Tensor:
    """Maximum over the second axis of `values[index]`.

    Children are drawn with replacement, and one that was drawn again does not change a maximum.

    Args:
        values: `[m, ...]`.
        index: Integers `[n, s]`.

    Returns:
        `[n, ...]`.
    """
    ordered = tf.sort(index, axis=1)
    first = tf.ones_like(ordered[:, :1], tf.bool)
    new = tf.concat([first, ordered[:, 1:] != ordered[:, :-1]], axis=1)
    entries = tf.where(tf.reshape(new, [-1]))[:, 0]
    columns = tf.gather(tf.reshape(ordered, [-1]), entries)
    owners = entries // index.shape[1]

    @tf.custom_gradient
    def maxima(values: tf.Tensor) -> tuple[tf.Tensor, Any]:
        rows = tf.gather(values, columns)
        found = tf.math.segment_max(rows, owners)
        # A bit of each child's entry is kept, not the entry: these would be most of the memory.
        reached = rows == tf.gather(found, owners)

        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            reaching = tf.cast(reached, upstream.dtype)
            shares = upstream / tf.math.segment_sum(reaching, owners)
            return scatter_rows(reaching * tf.gather(shares, owners), columns, values)

        return found, gradient

    return maxima(values)


def running_max(values: tf.Tensor, index: tf.Tensor) -> tf.Tensor:
    """As `gather_max`, position after position; it has no gradient worth taking.

    The rows of all children never stand in memory together. A gradient would need them.
    """
    first, *others = tf.unstack(index, axis=1)
    found = tf.gather(values, first)
    for position in others:
        found = tf.maximum(found, tf.gather(values, position))
    return found


class SelfAndMean:
    """Nodes' own rows and the means of their children's, as a product with one sparse matrix.

    Args:
        own: Integers `[n]`, the nodes' own rows.
        children: Integers `[n_l, s_l]`, whose n_l sum to n.
        dtype: Type of the rows.
        stacked: Whether both are stacked along a new axis; otherwise they are added.
    """

    def __init__(
        self,
        own: tf.Tensor,
        children: tuple[tf.Tensor, ...],
        dtype: Any,
        *,
        stacked: bool = False,
    ) -> None:
        self.stacked = stacked
        dtype = tf.as_dtype(dtype)
        self.dtype = dtype if _has_kernel(dtype) else tf.float32
        step = 2 if stacked else 1
        self.count = step * tf.size(own)
        self.places, self.weights = _places_of_self_and_mean(own, children, step, self.dtype)

    def __call__(self, values: tf.Tensor) -> tf.Tensor:
        """The product.

        Args:
            values: `[m, ...]`.

        Returns:
            `[n, 2, ...]` or `[n, ...]`.
        """
        wide = tf.cast(values, self.dtype)
        return tf.cast(self._product(wide), values.dtype)

    def _product(self, values: tf.Tensor) -> tf.Tensor:
        count = self.count

        @tf.custom_gradient
        def sums(values: tf.Tensor) -> tuple[tf.Tensor, Any]:
            def matrix() -> tf.Tensor:
                return _compressed(self.places, self.weights, count, tf.shape(values)[0])

            def gradient(upstream: tf.Tensor) -> tf.Tensor:
                # A SavedModel traces the gradient without telling its shape.
                flat = tf.reshape(upstream, [count, math.prod(values.shape[1:])])
                # Made again, as a SavedModel cannot hold it; a compiled step makes it only once.
                turned = _transpose(matrix(), upstream.dtype)
                sums = tf.raw_ops.SparseMatrixMatMul(a=turned, b=flat)
                return tf.reshape(sums, tf.shape(values))

            product = tf.raw_ops.SparseMatrixMatMul(a=matrix(), b=_flat(values))
            parts = [2] if self.stacked else []
            return tf.reshape(product, [-1, *parts, *values.shape[1:]]), gradient

        return sums(values)


def _places_of_self_and_mean(
    own: tf.Tensor, children: tuple[tf.Tensor, ...], step: int, dtype: tf.DType
) -> tuple[tf.Tensor, tf.Tensor]:
    """Places `[entries, 2]` of the matrix, row by row, and what stands there.

    The node stands in row `step * i`, its children in the last of its `step` rows.
    """
    sizes = [tf.shape(index)[0] for index in children]
    places, weights = [], []
    before = tf.constant(0, tf.int64)
    for mine, index, size in zip(slices(own, sizes), children, sizes, strict=True):
        first = tf.expand_dims(before + step * tf.range(tf.size(mine, tf.int64)), 1)
        rows = tf.concat([first, tf.broadcast_to(first + (step - 1), tf.shape(index))], axis=1)
        both = (tf.cast(part, tf.int64) for part in (tf.expand_dims(mine, 1), index))
        columns = tf.concat(list(both), axis=1)
        places.append(tf.stack([tf.reshape(rows, [-1]), tf.reshape(columns, [-1])], axis=1))
        share = tf.fill(tf.shape(index), 1.0 / tf.cast(tf.shape(index)[1], dtype))
        weights.append(tf.reshape(tf.concat([tf.ones([size, 1], dtype), share], axis=1), [-1]))
        before += step * tf.size(mine, tf.int64)
    return tf.concat(places, axis=0), tf.concat(weights, axis=0)


def sparse_matmul(rows: tf.SparseTensor, kernels: Sequence[tf.Tensor]) -> list[tf.Tensor]:
    """Products of sparse rows without gradient and dense matrices with one.

    One product for each matrix: those of a narrow one stay in the cache, while all as one wide
    matrix would be read from memory for every entry.
    """
    dtype = kernels[0].dtype
    if not _has_kernel(dtype):
        wide = sparse_matmul(_wide(rows), [_wide(kernel) for kernel in kernels])
        return [tf.cast(product, dtype) for product in wide]
    matrix = tf.raw_ops.SparseTensorToCSRSparseMatrix(
        indices=rows.indices, values=rows.values, dense_shape=rows.dense_shape
    )

    @tf.custom_gradient
    def product(kernel: tf.Tensor) -> tuple[tf.Tensor, Any]:
        def gradient(upstream: tf.Tensor) -> tf.Tensor:
            return tf.raw_ops.SparseMatrixMatMul(a=_transpose(matrix, kernel.dtype), b=upstream)

        return tf.raw_ops.SparseMatrixMatMul(a=matrix, b=kernel), gradient

    return [product(kernel) for kernel in kernels]


def block_diagonal(first: tf.SparseTensor, second: tf.SparseTensor) -> tf.SparseTensor:
    """Two matrices as blocks of one: times two matrices one on the other it is both products."""
    first_shape, second_shape = (tf.cast(m.dense_shape, tf.int64) for m in (first, second))
    return tf.SparseTensor(
        tf.concat([first.indices, second.indices + first_shape], axis=0),
        tf.concat([first.values, second.values], axis=0),
        first_shape + second_shape,
    )


def first_rows(rows: tf.SparseTensor, count: tf.Tensor) -> tf.SparseTensor:
    """The first rows of a sparse matrix whose entries stand row after row."""
    count = tf.cast(count, tf.int64)
    entries = tf.searchsorted(rows.indices[:, 0], tf.reshape(count, [1]))[0]
    shape = tf.stack([count, rows.dense_shape[1]])
    return tf.SparseTensor(rows.indices[:entries], rows.values[:entries], shape)


def _has_kernel(dtype: tf.DType) -> bool:
    """Sparse products know no half precision: there they are float32, which is exact as well."""
    return dtype in (tf.float32, tf.float64)


def _wide(values: Rows) -> Rows:
    return tf.cast(values, tf.float32)


def _flat(values: tf.Tensor, shape: tf.TensorShape | None = None) -> tf.Tensor:
    """Rows as vectors; `shape` says how wide they are where `values` do not know it."""
    widths = (values.shape if shape is None else shape)[1:]
    return tf.reshape(values, [-1, math.prod(widths)])


def _matrix(index: tf.Tensor, weights: tf.Tensor, columns: tf.Tensor) -> tf.Tensor:
    """The CSR matrix whose row i has `weights` at the columns `index[i]`; repeats add up."""
    shape = tf.shape(index)
    owners = tf.expand_dims(tf.range(tf.size(index[:, 0], tf.int64)), 1)
    rows = tf.reshape(tf.broadcast_to(owners, shape), [-1])
    places = tf.stack([rows, tf.cast(tf.reshape(index, [-1]), tf.int64)], axis=1)
    return _compressed(places, weights, shape[0], columns)


def _compressed(
    places: tf.Tensor, weights: tf.Tensor, rows: tf.Tensor, columns: tf.Tensor
) -> tf.Tensor:
    """The CSR matrix of int32 sizes; these stay on the host, where the kernel reads them."""
    with tf.device("CPU:0"):
        shape = tf.cast(tf.stack([rows, columns]), tf.int64)
    return tf.raw_ops.SparseTensorToCSRSparseMatrix(
        indices=places, values=weights, dense_shape=shape
    )


def _transpose(matrix: tf.Tensor, dtype: tf.DType) -> tf.Tensor:
    return tf.raw_ops.SparseMatrixTranspose(input=matrix, conjugate=False, type=dtype)


def _scatter(
    upstream: tf.Tensor, index: tf.Tensor, weights: tf.Tensor, values: tf.Tensor
) -> tf.Tensor:
    """Sums the weighted rows of a gradient into the rows of `values` they came from."""
    matrix = _transpose(_matrix(index, weights, tf.shape(values)[0]), upstream.dtype)
    # A SavedModel traces the gradient without telling its shape.
    sums = tf.raw_ops.SparseMatrixMatMul(a=matrix, b=_flat(upstream, values.shape))
    return tf.reshape(sums, tf.shape(values))
