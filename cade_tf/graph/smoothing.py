"""Features averaged over neighbours, and the directions in which they differ most."""

import numpy as np
import scipy.sparse as sp

from cade_tf.graph.graph import Features

_POWER_ITERATIONS = 4
_OVERSAMPLING = 16
# Features at most this many times as wide as the iterated subspace are decomposed exactly, which
# takes less time than the iterations.
_NARROW = 2
_CHUNK_ROWS = 65536
_TINY = float(np.finfo(np.float32).tiny)


class SmoothedFeatures:
    """Features S that are averaged over neighbours, as an operator: sparse features stay sparse.

    With P the mean over neighbours and X the features, S is (a I + (1 - a) P)^L X; for several a,
    the mean of these.

    Args:
        shares: P.
        features: X.
        weights: a, some numbers.
        depth: L.
        remove_mean: Whether directions are orthogonal to the mean of S.

    Example:

    >>> one = SmoothedFeatures(sp.csr_array(np.ones((2, 2)) / 2), np.eye(2), np.zeros(1), 1)
    >>> one.apply(np.eye(2)).tolist()
    [[0.5, 0.5], [0.5, 0.5]]
    """

    def __init__(
        self,
        shares: sp.csr_array,
        features: Features,
        weights: np.ndarray,
        depth: int,
        *,
        remove_mean: bool = False,
    ) -> None:
        self.shares, self.features = shares, features
        self.transposed = sp.csr_array(shares.T)
        self.weights, self.depth = weights.astype(np.float32), depth
        ones = np.full((shares.shape[0], 1), 1 / max(shares.shape[0], 1), np.float32)
        mean = np.asarray(features.T @ self._filter(ones, self.transposed))
        self.removed = mean / max(np.linalg.norm(mean), _TINY) * remove_mean

    def directions(self, count: int, seed: int) -> tuple[np.ndarray, float]:
        """The first right singular vectors of S, centred, and how long it is along them.

        Args:
            count: How many.
            seed: Seed of a random start, where there are many features.

        Returns:
            [width, count], zeros where there are no more; the root of the sum of squares.
        """
        width = self.features.shape[1]
        found = min(count, width, self.features.shape[0])
        drawn = found + _OVERSAMPLING
        if width <= _NARROW * drawn:
            basis = np.eye(width, dtype=np.float32)
        else:
            basis = self._main_subspace(drawn, seed)
        squares, rotation = np.linalg.eigh(_gram(self._centred(basis)))
        main = rotation[:, ::-1][:, :found].astype(np.float32)
        padded = np.pad(self._kept(basis @ main), ((0, 0), (0, count - found)))
        return padded, float(np.sqrt(np.maximum(squares[::-1][:found], 0).sum()))

    def _main_subspace(self, size: int, seed: int) -> np.ndarray:
        """An orthogonal basis near the main directions, by subspace iteration."""
        generator = np.random.default_rng(seed)
        basis = generator.standard_normal((self.features.shape[1], size), np.float32)
        for _ in range(_POWER_ITERATIONS):
            basis = np.linalg.qr(self._adjoint(np.linalg.qr(self._centred(basis))[0]))[0]
        return basis

    def apply(self, vectors: np.ndarray) -> np.ndarray:
        """S times vectors [width, columns]."""
        return self._filter(np.asarray(self.features @ self._kept(vectors)), self.shares)

    def _centred(self, vectors: np.ndarray) -> np.ndarray:
        rows = self.apply(vectors)
        return rows - rows.mean(axis=0)

    def _adjoint(self, vectors: np.ndarray) -> np.ndarray:
        """Transposed centred S times vectors."""
        rows = self._filter(vectors - vectors.mean(axis=0), self.transposed)
        return self._kept(np.asarray(self.features.T @ rows))

    def _kept(self, vectors: np.ndarray) -> np.ndarray:
        """Vectors [width, columns] without their part in the direction that is removed."""
        return vectors - self.removed @ (self.removed.T @ vectors)

    def _filter(self, rows: np.ndarray, shares: sp.csr_array) -> np.ndarray:
        """The mean over the parameter sets of (a I + (1 - a) P)^L rows."""
        coefficients = np.trim_zeros(self._coefficients(), "b")
        total = coefficients[0] * rows
        for coefficient in coefficients[1:]:
            rows = shares @ rows
            total += coefficient * rows
        return total

    def _coefficients(self) -> np.ndarray:
        """Weight of each power of P, by the binomial theorem; a mean over the sets."""
        polynomials = []
        for a in self.weights:
            polynomial = np.ones(1, np.float32)
            for _ in range(self.depth):
                polynomial = np.convolve(polynomial, np.array([a, 1 - a], np.float32))
            polynomials.append(polynomial)
        return np.mean(polynomials, axis=0)


def _gram(rows: np.ndarray) -> np.ndarray:
    """Products of all pairs of columns, summed in double precision."""
    parts = (rows[i : i + _CHUNK_ROWS].astype(np.float64) for i in range(0, len(rows), _CHUNK_ROWS))
    return sum((part.T @ part for part in parts), np.zeros((rows.shape[1],) * 2))
