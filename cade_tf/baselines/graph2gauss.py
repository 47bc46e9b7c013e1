"""Graph2Gauss (Bojchevski and Günnemann, 2018): nodes as Gaussians, inductive from attributes.

A node's attributes become the mean and the diagonal variance of a Gaussian. Nodes of a nearer hop
shall have a smaller energy KL(N_j || N_i) than nodes of a farther one. An unseen node needs nothing
but its attributes; nodes are classified by their means.
"""

import dataclasses
from typing import Any

import keras
import numpy as np
import scipy.sparse as sp
import tensorflow as tf

from cade_tf.baselines.hop_triplets import HopTriplets
from cade_tf.errors import InputError
from cade_tf.evaluation.design import Matrix, as_dense
from cade_tf.graph.graph import Graph
from cade_tf.graph.link_splits import LinkSplit, hidden_edges
from cade_tf.progress import Shown, make_bar

HIDDEN = 512
PATIENCE = 100
EVALUATE_EVERY = 5
VALIDATION_RATIO = 0.1
# Above this share of non-zeros a dense product is the faster one.
DENSE_FROM = 0.02


class GaussianEncoder(keras.layers.Layer):
    """Attributes -> mean and variance: one hidden layer, then a linear layer for each.

    Args:
        latent: L, the width of mean and variance.

    Input shape: [nodes, attributes], dense or `tf.SparseTensor`.

    Output shape: Two tensors [nodes, latent].

    Example:

    >>> mean, variance = GaussianEncoder(2)(np.eye(3, dtype="float32"))
    >>> mean.shape, bool((variance.numpy() > 0).all())
    (TensorShape([3, 2]), True)
    """

    def __init__(self, latent: int, *, seed: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.latent = latent
        self.seed = seed

    def build(self, input_shape: Any) -> None:
        """Makes the weights; biases are drawn too, as the original does."""

        def weight(name: str, shape: tuple[int, ...], number: int) -> Any:
            initializer = keras.initializers.GlorotUniform(seed=self.seed * 6 + number)
            return self.add_weight(name=name, shape=shape, initializer=initializer)

        self.hidden_kernel = weight("hidden_kernel", (int(input_shape[-1]), HIDDEN), 0)
        self.hidden_bias = weight("hidden_bias", (HIDDEN,), 1)
        self.mean_kernel = weight("mean_kernel", (HIDDEN, self.latent), 2)
        self.mean_bias = weight("mean_bias", (self.latent,), 3)
        self.variance_kernel = weight("variance_kernel", (HIDDEN, self.latent), 4)
        self.variance_bias = weight("variance_bias", (self.latent,), 5)

    def call(self, attributes: Any) -> tuple[Any, Any]:
        """Means and variances."""
        if isinstance(attributes, tf.SparseTensor):
            projected = tf.sparse.sparse_dense_matmul(attributes, self.hidden_kernel)
        else:
            projected = tf.matmul(attributes, self.hidden_kernel)
        hidden = tf.nn.relu(projected + self.hidden_bias)
        mean = tf.matmul(hidden, self.mean_kernel) + self.mean_bias
        raw = tf.matmul(hidden, self.variance_kernel) + self.variance_bias
        return mean, tf.nn.elu(raw) + 1.0 + 1e-14


def kl_energy(mean: Any, variance: Any, pairs: Any) -> Any:
    """KL(N_j || N_i) of pairs (i, j), for diagonal variances.

    Args:
        mean: [nodes, L].
        variance: [nodes, L].
        pairs: [pairs, 2].

    Returns:
        [pairs].
    """
    mean_i, mean_j = tf.gather(mean, pairs[:, 0]), tf.gather(mean, pairs[:, 1])
    variance_i, variance_j = tf.gather(variance, pairs[:, 0]), tf.gather(variance, pairs[:, 1])
    ratio = variance_j / variance_i
    distance = tf.square(mean_i - mean_j) / variance_i
    return 0.5 * tf.reduce_sum(ratio + distance - 1.0 - tf.math.log(ratio + 1e-14), axis=1)


def triplet_loss(mean: Any, variance: Any, triplets: Any) -> Any:
    """Mean of E_near^2 + exp(-E_far) over triplets (anchor, nearer, farther)."""
    near = kl_energy(mean, variance, tf.gather(triplets, [0, 1], axis=1))
    far = kl_energy(mean, variance, tf.gather(triplets, [0, 2], axis=1))
    return tf.reduce_mean(tf.square(near) + tf.exp(-far))


@dataclasses.dataclass(frozen=True)
class Graph2Gauss:
    """A trained Graph2Gauss.

    Args:
        encoder: The encoder with its best weights.
        epochs: Epochs trained before it stopped.
        validation_auc: Best AUC on validation links; NaN where the graph was too small for any.
    """

    encoder: GaussianEncoder
    epochs: int
    validation_auc: float

    def embed(self, attributes: Matrix) -> np.ndarray:
        """Means of any nodes, float32 [nodes, L]."""
        return self.encoder(_tensor(attributes))[0].numpy()


def train(
    graph: Graph,
    attributes: Matrix,
    *,
    latent: int,
    hops: int = 1,
    epochs: int = 2000,
    learning_rate: float = 1e-3,
    seed: int = 0,
    progress: Shown = True,
) -> Graph2Gauss:
    """Trains Graph2Gauss, full batch, stopping early by validation links.

    Args:
        graph: Training graph.
        attributes: Attributes of its nodes, dense or CSR.
        latent: L.
        hops: K.
        epochs: Epochs at most.
        learning_rate: Learning rate of Adam.
        seed: Seed of weights, triplets and validation links.
        progress: Whether to show progress.

    Returns:
        The trained model.

    Raises:
        InputError: The graph has no edge to learn from.
        FloatingPointError: Training diverged.
    """
    if not graph.num_edges:
        raise InputError("graph", "a training graph with edges", "none", "See more nodes.")
    links = _validation_links(graph, seed)
    sampler = HopTriplets(links.input_graph(graph) if links else graph, hops, seed)
    features = _tensor(attributes)
    encoder = GaussianEncoder(latent, seed=seed)
    encoder.build(attributes.shape)
    # The original's epsilon; Keras would take 1e-7.
    optimizer = keras.optimizers.Adam(learning_rate, epsilon=1e-8)
    optimizer.build(encoder.trainable_variables)

    @tf.function(input_signature=[tf.TensorSpec([None, 3], tf.int64)], autograph=False)
    def step(triplets: Any) -> tuple[Any, Any, Any]:
        with tf.GradientTape() as tape:
            mean, variance = encoder(features)
            loss = triplet_loss(mean, variance, triplets)
        gradients = tape.gradient(loss, encoder.trainable_variables)
        optimizer.apply(gradients, encoder.trainable_variables)
        return loss, mean, variance

    best = _Best(encoder)
    epoch = 0
    with make_bar(progress, "graph2gauss", epochs, "epochs") as bar:
        for epoch in range(1, epochs + 1):
            # Means and variances are those of the weights before this step's update.
            weights = encoder.get_weights() if _evaluated(epoch) and links else None
            loss, mean, variance = step(tf.constant(sampler.draw()))
            if not np.isfinite(loss):
                raise FloatingPointError(
                    f"The loss of Graph2Gauss is not finite in epoch {epoch}: scale its features "
                    "down (row), its energy grows with the square of their length."
                )
            if weights is not None and links is not None:
                best.offer(epoch, weights, *_link_scores(mean, variance, links))
            bar.advance(note=f"loss {float(loss):.3f}  validation AUC {best.auc:.3f}")
            if links and epoch - best.epoch >= PATIENCE:
                break
    best.restore()
    return Graph2Gauss(encoder, epoch, best.auc)


class _Best:
    """The weights with the best sum of AUC and average precision so far."""

    def __init__(self, encoder: GaussianEncoder) -> None:
        self._encoder = encoder
        self._weights: list[np.ndarray] | None = None
        self._score = -np.inf
        self.epoch = 0
        self.auc = float("nan")

    def offer(self, epoch: int, weights: list[np.ndarray], auc: float, precision: float) -> None:
        if auc + precision > self._score:
            self._score = auc + precision
            self.epoch, self.auc, self._weights = epoch, auc, weights

    def restore(self) -> None:
        if self._weights is not None:
            self._encoder.set_weights(self._weights)


def _evaluated(epoch: int) -> bool:
    return epoch % EVALUATE_EVERY == 1


def _validation_links(graph: Graph, seed: int) -> LinkSplit | None:
    """Edges set aside for early stopping; None where the graph cannot spare them."""
    try:
        links = hidden_edges(graph, VALIDATION_RATIO, 0.0, seed)
    except InputError:
        return None
    return links if len(links.test_edges) else None


def _link_scores(mean: Any, variance: Any, links: LinkSplit) -> tuple[float, float]:
    from sklearn.metrics import average_precision_score, roc_auc_score

    pairs = np.concatenate([links.test_edges, links.test_non_edges])
    truth = np.repeat([1, 0], [len(links.test_edges), len(links.test_non_edges)])
    likely = -kl_energy(mean, variance, tf.constant(pairs)).numpy()
    return float(roc_auc_score(truth, likely)), float(average_precision_score(truth, likely))


def _tensor(attributes: Matrix) -> Any:
    """A constant for the encoder: sparse where that is the faster product."""
    if isinstance(attributes, np.ndarray):
        return tf.constant(attributes, tf.float32)
    if attributes.nnz > DENSE_FROM * np.prod(attributes.shape):
        return tf.constant(as_dense(attributes))
    entries = sp.coo_array(attributes)
    positions = np.stack(entries.coords, axis=1).astype(np.int64)
    return tf.SparseTensor(positions, entries.data.astype(np.float32), attributes.shape)
