"""How far two embeddings of the same nodes are from each other."""

import dataclasses

import numpy as np


@dataclasses.dataclass(frozen=True)
class Agreement:
    """Cosines and distances between rows of the same node.

    Args:
        mean_cosine: Mean cosine of a node's two vectors.
        low_cosine: The cosine that 5 % of the nodes stay below.
        relative_distance: Mean length of the difference, relative to the second vector.

    Example:

    >>> print(Agreement(0.998, 0.99, 0.05))
    mean cosine 0.9980 (5 % of nodes below 0.9900), mean relative distance 0.0500
    """

    mean_cosine: float
    low_cosine: float
    relative_distance: float

    def __str__(self) -> str:
        return (
            f"mean cosine {self.mean_cosine:.4f} (5 % of nodes below {self.low_cosine:.4f}), "
            f"mean relative distance {self.relative_distance:.4f}"
        )


def agreement(first: np.ndarray, second: np.ndarray) -> Agreement:
    """Compares two embeddings row by row.

    Args:
        first: [nodes, dim], for instance from samples.
        second: [nodes, dim], for instance from whole neighbourhoods.

    Example:

    >>> agreement(np.eye(2), 2 * np.eye(2)).mean_cosine
    1.0
    """
    products = np.einsum("nd,nd->n", first, second, dtype=np.float64)
    lengths = np.linalg.norm(first, axis=1), np.linalg.norm(second, axis=1)
    tiny = np.finfo(np.float32).tiny
    cosines = products / np.maximum(lengths[0] * lengths[1], tiny)
    distances = np.linalg.norm(first - second, axis=1) / np.maximum(lengths[1], tiny)
    return Agreement(
        float(cosines.mean()), float(np.quantile(cosines, 0.05)), float(distances.mean())
    )
