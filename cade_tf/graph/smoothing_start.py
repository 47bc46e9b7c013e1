"""What a smoothing start is made of: main directions of features, and positions of nodes."""

import dataclasses
from typing import Self

import numpy as np
import scipy.sparse as sp

from cade_tf.graph.graph import Features, Graph
from cade_tf.graph.shares import neighbor_shares
from cade_tf.graph.smoothing import SmoothedFeatures
from cade_tf.graph.structure import structural_features

OWN_SHARE = 0.25
"""Share of the dimensions for a node's own features, where there are any."""

POSITION_SHARE = 0.25
"""Share of the dimensions for nodes' positions, where there are any."""

_TINY = float(np.finfo(np.float32).tiny)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class SmoothingStart:
    """Three parts of an untrained embedding, each of some columns.

    Args:
        smoother: The smoothed features.
        smoothed: Their main directions, [width, columns].
        own: Main directions of the features themselves, [width, columns].
        positions: Rows of nodes, [nodes, columns], of which a node takes its neighbours' mean.

    Example:

    >>> graph = Graph.from_edges([[0, 1], [1, 2]], features=np.eye(3))
    >>> found = SmoothingStart.of(graph, graph.features, 8, self_weights=np.ones(1), own_weight=1)
    >>> found.smoothed.shape, found.own.shape, found.positions.shape
    ((3, 6), (3, 2), (3, 0))
    """

    smoother: SmoothedFeatures
    smoothed: np.ndarray
    own: np.ndarray
    positions: np.ndarray

    @classmethod
    def of(
        cls,
        graph: Graph,
        features: Features,
        dim: int,
        *,
        self_weights: np.ndarray,
        depth: int = 2,
        own_weight: float = 0.0,
        position_weight: float = 0.0,
        remove_mean: bool = False,
        seed: int = 0,
    ) -> Self:
        """Finds the parts.

        Args:
            graph: The training graph.
            features: Its scaled features.
            dim: Columns of all parts together.
            self_weights: A node's own share where features are averaged; of several, the mean.
            depth: How many times they are averaged.
            own_weight: How long the part of own features is on average, as a share of the
                smoothed part; 0 leaves it out.
            position_weight: Likewise for the part of positions.
            remove_mean: Whether all directions are orthogonal to the mean: then embeddings have
                the mean 0, without a bias that new nodes would have to know.
            seed: Seed of the decompositions.
        """
        shares = neighbor_shares(graph)
        own_columns = round(OWN_SHARE * dim) if own_weight else 0
        position_columns = round(POSITION_SHARE * dim) if position_weight else 0
        smoother = SmoothedFeatures(shares, features, self_weights, depth, remove_mean=remove_mean)
        smoothed, length = smoother.directions(dim - own_columns - position_columns, seed)
        own = np.zeros((len(smoothed), 0), np.float32)
        if own_columns:
            alone = SmoothedFeatures(shares, features, np.ones(1), depth, remove_mean=remove_mean)
            own, own_length = alone.directions(own_columns, seed)
            own *= own_weight * length / max(own_length, _TINY)
        positions = np.zeros((graph.num_nodes, 0), np.float32)
        if position_columns:
            positions, position_length = _main_positions(graph, shares, position_columns, seed)
            positions *= position_weight * length / max(position_length, _TINY)
        return cls(smoother=smoother, smoothed=smoothed, own=own, positions=positions)

    def by_features(self) -> np.ndarray:
        """The smoothed part and that of own features, [nodes, columns]."""
        own = np.asarray(self.smoother.features @ self.own)
        return np.concatenate([self.smoother.apply(self.smoothed), own], axis=1)

    def by_positions(self) -> np.ndarray:
        """The part of positions, [nodes, columns]."""
        return np.asarray(self.smoother.shares @ self.positions)


def _main_positions(
    graph: Graph, shares: sp.csr_array, columns: int, seed: int
) -> tuple[np.ndarray, float]:
    """Positions along their main directions, and how long neighbours' means of them are."""
    position = structural_features(graph)[:, 1:]
    position -= position.mean(axis=0)
    position /= np.maximum(np.linalg.norm(position, axis=1, keepdims=True), _TINY)
    averaged = SmoothedFeatures(shares, position, np.zeros(1), 1)
    directions, length = averaged.directions(columns, seed)
    return position @ directions, length
