"""Standardised design matrices that stay sparse."""

import dataclasses
from typing import Self, TypeAlias

import numpy as np
import scipy.sparse as sp

CHUNK = 65_536

Matrix: TypeAlias = np.ndarray | sp.csr_array


def as_dense(matrix: Matrix) -> np.ndarray:
    """The matrix as a float32 array."""
    dense = matrix if isinstance(matrix, np.ndarray) else matrix.toarray()
    return dense.astype(np.float32, copy=False)


@dataclasses.dataclass(frozen=True)
class Scaling:
    """Mean and spread of each column, measured on training rows.

    Columns that never vary keep a spread of 1, so that they become zero instead of infinite.
    """

    mean: np.ndarray
    spread: np.ndarray

    @classmethod
    def fit(cls, matrix: Matrix) -> Self:
        """Measures the columns of a matrix, in double precision."""
        if sp.issparse(matrix):
            doubles = matrix.astype(np.float64)
            mean = np.asarray(doubles.mean(axis=0)).ravel()
            square = np.asarray((doubles * doubles).mean(axis=0)).ravel()
            variance = square - mean**2
        else:
            mean = matrix.mean(axis=0, dtype=np.float64)
            # By chunks: the double-precision differences of a large matrix would be large too.
            squares = np.zeros_like(mean)
            for start in range(0, len(matrix), CHUNK):
                squares += np.square(matrix[start : start + CHUNK] - mean).sum(axis=0)
            variance = squares / max(len(matrix), 1)
        # A constant column leaves rounding noise; it must not be blown up to unit spread.
        noise = 1e-10 * (mean**2 + 1e-30)
        spread = np.where(variance > noise, np.sqrt(np.maximum(variance, 0.0)), 1.0)
        return cls(mean, spread)


@dataclasses.dataclass(frozen=True)
class Design:
    """A standardised matrix with a column of ones, as an operator.

    A sparse matrix is divided by the spread and stays sparse; its mean is subtracted inside the
    products, which is exact.
    """

    matrix: Matrix
    shift: np.ndarray

    @classmethod
    def make(cls, matrix: Matrix, scaling: Scaling) -> Self:
        """Standardises a matrix by a scaling fit elsewhere."""
        width = matrix.shape[1]
        if sp.issparse(matrix):
            scaled = sp.csr_array(matrix @ sp.diags_array(1.0 / scaling.spread))
            shift = scaling.mean / scaling.spread
            return cls(scaled.astype(np.float32), shift.astype(np.float32))
        scaled = matrix.astype(np.float32)
        scaled -= scaling.mean.astype(np.float32)
        scaled /= scaling.spread.astype(np.float32)
        return cls(scaled, np.zeros(width, np.float32))

    @property
    def num_rows(self) -> int:
        """Number of rows."""
        return self.matrix.shape[0]

    @property
    def num_weights(self) -> int:
        """Number of columns, the column of ones included."""
        return self.matrix.shape[1] + 1

    def rows(self, chosen: np.ndarray) -> "Design":
        """Some of the rows."""
        return Design(self.matrix[chosen], self.shift)

    def dot(self, weights: np.ndarray) -> np.ndarray:
        """[rows, outputs] of weights [columns + 1, outputs], whose last row is the intercept."""
        slope, intercept = weights[:-1], weights[-1]
        return np.asarray(self.matrix @ slope) + (intercept - self.shift @ slope)

    def transposed_dot(self, residuals: np.ndarray) -> np.ndarray:
        """[columns + 1, outputs], the gradient of `dot` for residuals [rows, outputs]."""
        total = residuals.sum(axis=0)
        slope = np.asarray(self.matrix.T @ residuals) - np.outer(self.shift, total)
        return np.concatenate([slope, total[None]])

    def dense(self) -> np.ndarray:
        """The standardised matrix itself, without the column of ones."""
        if isinstance(self.matrix, np.ndarray):
            return self.matrix
        return self.matrix.toarray() - self.shift
