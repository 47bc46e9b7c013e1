"""Weights that start as a smoothing filter (an extension, not the paper's)."""

import numpy as np
import scipy.sparse as sp

from cade_tf.errors import InputError
from cade_tf.graph.graph import Features, Graph
from cade_tf.graph.shares import neighbor_shares
from cade_tf.models.dual_encoder import DualEncoder

_POWER_ITERATIONS = 4
_OVERSAMPLING = 16
# Features at most this many times as wide as the iterated subspace are decomposed exactly, which
# takes less time than the iterations.
_NARROW = 2
_CHUNK_ROWS = 65536
_TINY = float(np.finfo(np.float32).tiny)

OWN_SHARE = 0.25
"""Share of the dimensions for a node's own features, where the start has any."""


def start_as_smoothing(
    model: DualEncoder,
    graph: Graph,
    features: Features,
    *,
    self_weights: tuple[float, ...],
    own_weight: float = 0.0,
    remove_mean: bool = False,
    seed: int,
) -> None:
    """Sets the weights of a linear encoder so that untrained it smooths and projects features.

    With P the mean over neighbours, X the features and a the self weight, the encoder of L layers
    gives (a I + (1 - a) P)^L X V: the first layer has W = [a V; (1 - a) V], the others
    [a I; (1 - a) I]. V are the main directions (PCA) of the smoothed features of training nodes.
    The K aggregators of CADE-MA share V and take self weights evenly spaced over a range.

    Where `own_weight` is above 0, some dimensions hold the node's own features instead: there a
    is 1, and V are the main directions of the features themselves.

    Args:
        model: A built model, mean aggregator, linear activations.
        graph: The training graph.
        features: Its scaled features.
        self_weights: a, or the ends of its range.
        own_weight: How long the part of own features is on average, as a share of the smoothed
            part; 0 leaves it out.
        remove_mean: Whether all directions are orthogonal to the mean: then embeddings have the
            mean 0, without a bias that new nodes would have to know.
        seed: Seed of the decomposition.

    Raises:
        InputError: The model's layers are not linear.
    """
    if (model.aggregator, model.activation, model.last_activation) != ("mean", "linear", "linear"):
        raise InputError(
            "model",
            "the mean aggregator and linear activations",
            f"{model.aggregator}, {model.activation}, {model.last_activation}",
            "Change them, or start with glorot.",
        )
    sets = model.parameter_sets
    low, high = self_weights[0], self_weights[-1]
    weights = np.linspace(low, high, sets) if sets > 1 else np.array([(low + high) / 2])
    depth, shares = model.sagb.depth, neighbor_shares(graph)
    own = round(OWN_SHARE * model.dim) if own_weight else 0
    smoothed = _Smoothed(shares, features, weights, depth, remove_mean=remove_mean)
    directions, length = smoothed.directions(model.dim - own, seed)
    if own:
        alone = _Smoothed(shares, features, np.ones(1), depth, remove_mean=remove_mean)
        single, own_length = alone.directions(own, seed)
        single *= own_weight * length / max(own_length, _TINY)
        directions = np.concatenate([directions, single], axis=1)
    for number, layer in enumerate(model.sagb.rounds):
        base = directions if number == 0 else np.eye(model.dim, dtype=np.float32)
        kernels = []
        for a in weights:
            selves = np.repeat(np.array([a, 1.0], np.float32), [model.dim - own, own])
            kernels.append(np.concatenate([base * selves, base * (1 - selves)]))
        layer.kernel.assign(np.stack(kernels))


class _Smoothed:
    """The smoothed features S, centred, as an operator: sparse features stay sparse."""

    def __init__(
        self,
        shares: sp.csr_array,
        features: Features,
        weights: np.ndarray,
        depth: int,
        *,
        remove_mean: bool,
    ) -> None:
        self.shares, self.features = shares, features
        self.transposed = sp.csr_array(shares.T)
        self.weights, self.depth = weights.astype(np.float32), depth
        ones = np.full((shares.shape[0], 1), 1 / max(shares.shape[0], 1), np.float32)
        mean = np.asarray(features.T @ self._filter(ones, self.transposed))
        self.removed = mean / max(np.linalg.norm(mean), _TINY) * remove_mean

    def directions(self, count: int, seed: int) -> tuple[np.ndarray, float]:
        """The first right singular vectors, and how long S is in their directions.

        Returns:
            [width, count], zeros where there are no more; the root of the sum of squares of S.
        """
        width = self.features.shape[1]
        found = min(count, width, self.features.shape[0])
        drawn = found + _OVERSAMPLING
        if width <= _NARROW * drawn:
            basis = np.eye(width, dtype=np.float32)
        else:
            basis = self._main_subspace(drawn, seed)
        squares, rotation = np.linalg.eigh(_gram(self.apply(basis)))
        main = rotation[:, ::-1][:, :found].astype(np.float32)
        padded = np.pad(self._kept(basis @ main), ((0, 0), (0, count - found)))
        return padded, float(np.sqrt(np.maximum(squares[::-1][:found], 0).sum()))

    def _main_subspace(self, size: int, seed: int) -> np.ndarray:
        """An orthogonal basis near the main directions, by subspace iteration."""
        generator = np.random.default_rng(seed)
        basis = generator.standard_normal((self.features.shape[1], size), np.float32)
        for _ in range(_POWER_ITERATIONS):
            basis = np.linalg.qr(self.adjoint(np.linalg.qr(self.apply(basis))[0]))[0]
        return basis

    def apply(self, vectors: np.ndarray) -> np.ndarray:
        """S times vectors."""
        rows = self._filter(np.asarray(self.features @ self._kept(vectors)), self.shares)
        return rows - rows.mean(axis=0)

    def adjoint(self, vectors: np.ndarray) -> np.ndarray:
        """S transposed times vectors."""
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
