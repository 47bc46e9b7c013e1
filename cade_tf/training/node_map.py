"""Some nodes in the plane, as training goes on."""

import numpy as np
import tensorflow as tf

from cade_tf.display import can_be_drawn
from cade_tf.sampling import random
from cade_tf.sampling.batch import make_batch
from cade_tf.training.step import TrainingStep

FEWEST_NODES = 100
"""Fewer nodes have no shape that is worth a picture."""
MOST_NODES = 400
"""Few enough that a picture takes less than a second."""
SIDE, MARGIN, RADIUS = 400, 16, 3
"""Pixels of a picture, of its empty edge, and of a node."""

GREY = (160, 160, 160)
COLORS = np.array(
    [
        (31, 119, 180), (255, 127, 14), (44, 160, 44), (214, 39, 40), (148, 103, 189),
        (140, 86, 75), (227, 119, 194), (127, 127, 127), (188, 189, 34), (23, 190, 207),
    ],
    np.uint8,
)  # fmt: skip
"""Colours of classes, in turn."""


class NodeMap:
    """Draws the same nodes again and again by t-SNE, coloured by class.

    Each picture starts from the places of the one before, so that a node moves only where its
    embedding does. A node is embedded in the context of itself, from neighbours that are drawn
    once for all pictures.

    Args:
        step: The training whose model embeds.
        seed: Seed of the choice of nodes and of t-SNE.
    """

    def __init__(self, step: TrainingStep, seed: int = 0) -> None:
        self.step = step
        self.seed = seed
        count = step.sampler.graph.num_nodes
        self.nodes = np.random.default_rng(seed).permutation(count)[:MOST_NODES]
        self._places: np.ndarray | None = None

    def picture(self) -> np.ndarray | None:
        """uint8 [SIDE, SIDE, 3]; None for a small graph, and where nodes are all alike or NaN."""
        if len(self.nodes) < FEWEST_NODES:
            return None
        embeddings = self._embed()
        if not can_be_drawn(embeddings):
            return None
        self._places = _plane(embeddings, self._places, self.seed)
        return draw(self._places, self._colors())

    def _embed(self) -> np.ndarray:
        sampler, nodes = self.step.sampler, tf.constant(self.nodes, tf.int64)
        key = random.make_key(self.seed, random.Stream.NEIGHBOR)
        everyone = tf.ones([len(self.nodes)], tf.bool)
        batch = make_batch(sampler.graph, nodes, nodes, everyone, nodes[:1], sampler.shape, key)
        embeddings: np.ndarray = self.step.model.score_pairs(batch).dual.nodes.numpy()
        return embeddings.astype(np.float32)

    def _colors(self) -> np.ndarray:
        colors = np.tile(np.array(GREY, np.uint8), (len(self.nodes), 1))
        graph = self.step.model.trained_on
        if graph is None or graph.labels is None or graph.is_multilabel:
            return colors
        labels = graph.labels[self.nodes]
        return np.where(labels[:, None] < 0, colors, COLORS[labels % len(COLORS)])


def draw(places: np.ndarray, colors: np.ndarray) -> np.ndarray:
    """Draws dots on white.

    Args:
        places: [dots, 2], in any units.
        colors: uint8 [dots, 3].

    Returns:
        uint8 [SIDE, SIDE, 3].

    Example:

    >>> picture = draw(np.array([[0.0, 0.0], [1.0, 1.0]]), np.zeros((2, 3), np.uint8))
    >>> picture[MARGIN, MARGIN].tolist(), picture[0, 0].tolist()
    ([0, 0, 0], [255, 255, 255])
    """
    low, high = places.min(axis=0), places.max(axis=0)
    scaled = (places - low) / np.maximum(high - low, 1e-12)
    centres = np.rint(MARGIN + scaled * (SIDE - 1 - 2 * MARGIN)).astype(int)
    across = np.arange(-RADIUS, RADIUS + 1)
    disc = np.argwhere(across[:, None] ** 2 + across**2 <= RADIUS**2 + 1) - RADIUS
    pixels = centres[:, None] + disc
    picture = np.full((SIDE, SIDE, 3), 255, np.uint8)
    picture[pixels[..., 0], pixels[..., 1]] = colors[:, None]
    return picture


def _plane(embeddings: np.ndarray, before: np.ndarray | None, seed: int) -> np.ndarray:
    from sklearn.manifold import TSNE

    if before is None:
        return TSNE(init="pca", random_state=seed, max_iter=500).fit_transform(embeddings)
    # Without exaggeration, which would tear apart what the last picture has found.
    going_on = TSNE(init=before, early_exaggeration=1.0, max_iter=250, random_state=seed)
    return going_on.fit_transform(embeddings)
