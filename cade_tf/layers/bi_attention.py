"""Bi-attention, Algorithm 2, lines 2-8: from K x K candidates to a pair of dual representations."""

from typing import Any, NamedTuple

import keras
import tensorflow as tf

from cade_tf.errors import InputError

Shape = tuple[int | None, ...]


class DualPair(NamedTuple):
    """Dual representations of node pairs.

    Attributes:
        nodes: `[..., dim]`, z_{v|v_p}.
        partners: `[..., dim]`, z_{v_p|v}.
        attention: `[..., K, K]`, S after the softmax; rows belong to v, columns to v_p.
    """

    nodes: tf.Tensor
    partners: tf.Tensor
    attention: tf.Tensor


class BiAttention(keras.layers.Layer):
    """Base of the attentions.

    Args:
        temperature: Scores are divided by this before the softmax (paper: 1).

    Input shape:
        `nodes`, `partners`: `[..., K, dim]`, candidates of both sides of a pair.

    Output shape:
        `DualPair`.

    Attributes:
        depends_on_partner: Whether a node's representation changes with its partner.
    """

    depends_on_partner = True

    def __init__(self, *, temperature: float = 1.0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        if not temperature > 0:
            raise InputError("temperature", "a number above 0", temperature, "Raise it.")
        self.temperature = temperature

    def build(self, nodes_shape: Shape, partners_shape: Shape) -> None:
        """Creates what weights the attention has."""
        super().build(nodes_shape)

    def call(self, nodes: tf.Tensor, partners: tf.Tensor) -> DualPair:
        """Dual representations of pairs."""
        return attend(nodes, partners, self.scores(nodes, partners) / self.temperature)

    def scores(self, nodes: tf.Tensor, partners: tf.Tensor) -> tf.Tensor:
        """Line 3: alpha(h_vi, h_pj), `[..., K, K]`."""
        raise TypeError(f"{type(self).__name__} has no score of its own.")

    def compute_output_shape(self, nodes_shape: Shape, partners_shape: Shape) -> DualPair:
        """Shapes of the pair and of the attention."""
        output = (*nodes_shape[:-2], nodes_shape[-1])
        return DualPair(output, output, (*nodes_shape[:-1], partners_shape[-2]))

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), "temperature": self.temperature}


@keras.saving.register_keras_serializable("cade_tf")
class DotProductBiAttention(BiAttention):
    """The attention of CADE-MS: alpha is the dot product.

    Example:

    >>> DotProductBiAttention()(tf.zeros([7, 3, 4]), tf.zeros([7, 3, 4])).attention.shape
    TensorShape([7, 3, 3])
    """

    def scores(self, nodes: tf.Tensor, partners: tf.Tensor) -> tf.Tensor:
        """Dot products of all candidates."""
        if nodes.shape.rank < 4 or nodes.shape[-3] != 1:
            return tf.matmul(nodes, partners, transpose_b=True)
        # A node with several partners: one product for all of them takes less than one for each.
        shape = tf.shape(partners)
        flat = tf.reshape(partners, tf.concat([shape[:-3], [-1, shape[-1]]], 0))
        products = tf.matmul(tf.squeeze(nodes, -3), flat, transpose_b=True)
        by_partner = tf.concat([tf.shape(products)[:-1], shape[-3:-1]], 0)
        return tf.einsum("...ipj->...pij", tf.reshape(products, by_partner))


class SupportAttention(BiAttention):
    """An attention with parameters of its own, which negatives reuse but never train."""

    def support(self, nodes: tf.Tensor, negatives: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Support embeddings z'_v, z_n by A*: as `call`, without gradient to the parameters.

        Args:
            nodes: `[pairs, K, dim]`.
            negatives: `[negatives, K, dim]` shared by all pairs, or `[pairs, negatives, K, dim]`.

        Returns:
            z'_v and z_n, such that `affinities` scores every pair of a node and a negative.
        """
        raise TypeError(f"{type(self).__name__} has no support embeddings.")


@keras.saving.register_keras_serializable("cade_tf")
class VectorBiAttention(SupportAttention):
    """The attention of CADE-MA: alpha = A^T [h_vi || h_pj], with A in R^2d.

    The score is a sum of a term of i and a term of j, so the softmax over the flattened K x K
    matrix is the outer product of two softmaxes: a_v does not depend on the partner. This is
    computed in O(K), and a node needs one support embedding for all its negatives.

    Args:
        temperature: Scores are divided by this before the softmax.
        seed: Seed of the initial A.

    Example:

    >>> VectorBiAttention()(tf.zeros([7, 3, 4]), tf.zeros([7, 3, 4])).nodes.shape
    TensorShape([7, 4])
    """

    depends_on_partner = False

    def __init__(self, *, seed: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.seed = seed

    def build(self, nodes_shape: Shape, partners_shape: Shape) -> None:
        """Creates A as its two halves, `[2, dim]`."""
        self.vector = self.add_weight(
            name="vector",
            shape=(2, nodes_shape[-1]),
            initializer=keras.initializers.GlorotUniform(seed=self.seed),
        )
        super().build(nodes_shape, partners_shape)

    def call(self, nodes: tf.Tensor, partners: tf.Tensor) -> DualPair:
        """Dual representations by the factorised softmax."""
        halves = tf.convert_to_tensor(self.vector)
        a_nodes = self._attention(nodes, halves[0])
        a_partners = self._attention(partners, halves[1])
        return DualPair(
            weighted_sum(a_nodes, nodes),
            weighted_sum(a_partners, partners),
            tf.expand_dims(a_nodes, -1) * tf.expand_dims(a_partners, -2),
        )

    def support(self, nodes: tf.Tensor, negatives: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Equation 4, with A*: one vector per node and one per negative, each by itself."""
        # Outside of `call` Keras does not cast weights to the arithmetic of the layer.
        halves = tf.cast(tf.stop_gradient(tf.convert_to_tensor(self.vector)), nodes.dtype)
        return (
            weighted_sum(self._attention(nodes, halves[0]), nodes),
            weighted_sum(self._attention(negatives, halves[1]), negatives),
        )

    def _attention(self, candidates: tf.Tensor, half: tf.Tensor) -> tf.Tensor:
        scores = tf.tensordot(candidates, half, axes=1) / self.temperature
        return tf.nn.softmax(scores, axis=-1)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), "seed": self.seed}


@keras.saving.register_keras_serializable("cade_tf")
class TanhBiAttention(SupportAttention):
    """An extension of CADE-MA: alpha = a^T tanh(P_v h_vi + P_p h_pj + b), which does not factorise.

    So the attention of v depends on its partner, which the paper's linear score cannot do.

    Args:
        units: Width of the projections.
        temperature: Scores are divided by this before the softmax.
        seed: Seed of the initial weights.

    Example:

    >>> TanhBiAttention(8)(tf.zeros([7, 3, 4]), tf.zeros([7, 3, 4])).nodes.shape
    TensorShape([7, 4])
    """

    def __init__(self, units: int = 32, *, seed: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.units = units
        self.seed = seed

    def build(self, nodes_shape: Shape, partners_shape: Shape) -> None:
        """Creates the projections `[2, dim, units]`, b and a."""

        def weight(name: str, shape: Shape, initializer: Any) -> Any:
            return self.add_weight(name=name, shape=shape, initializer=initializer)

        glorot = keras.initializers.GlorotUniform
        width = nodes_shape[-1]
        self.node_kernel = weight("node_kernel", (width, self.units), glorot(self.seed))
        self.partner_kernel = weight("partner_kernel", (width, self.units), glorot(self.seed + 1))
        self.bias = weight("bias", (self.units,), "zeros")
        self.vector = weight("vector", (self.units, 1), glorot(self.seed + 2))
        super().build(nodes_shape, partners_shape)

    def scores(self, nodes: tf.Tensor, partners: tf.Tensor) -> tf.Tensor:
        """Nonlinear scores of all candidates."""
        return self._scores(nodes, partners, self._parameters())

    def support(self, nodes: tf.Tensor, negatives: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """Equation 4, with A*: a vector for every node with every negative."""
        if negatives.shape.rank == 3:
            negatives = negatives[None]
        nodes = tf.expand_dims(nodes, 1)
        frozen = [tf.cast(tf.stop_gradient(p), nodes.dtype) for p in self._parameters()]
        pair = attend(nodes, negatives, self._scores(nodes, negatives, frozen) / self.temperature)
        return pair.nodes, pair.partners

    def _parameters(self) -> list[tf.Tensor]:
        weights = (self.node_kernel, self.partner_kernel, self.bias, self.vector)
        return [tf.convert_to_tensor(w) for w in weights]

    @staticmethod
    def _scores(nodes: tf.Tensor, partners: tf.Tensor, parameters: list[tf.Tensor]) -> tf.Tensor:
        node_kernel, partner_kernel, bias, vector = parameters
        left = tf.expand_dims(tf.tensordot(nodes, node_kernel, axes=1), -2)
        right = tf.expand_dims(tf.tensordot(partners, partner_kernel, axes=1), -3)
        return tf.tensordot(tf.tanh(left + right + bias), vector[:, 0], axes=1)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), "units": self.units, "seed": self.seed}


def attend(nodes: tf.Tensor, partners: tf.Tensor, scores: tf.Tensor) -> DualPair:
    """Algorithm 2, lines 5-8: softmax of the flattened scores, sums of its rows and columns."""
    shape = tf.shape(scores)
    flat = tf.reshape(scores, tf.concat([shape[:-2], [shape[-2] * shape[-1]]], 0))
    attention = tf.reshape(tf.nn.softmax(flat, axis=-1), shape)
    return DualPair(
        weighted_sum(tf.reduce_sum(attention, axis=-1), nodes),
        weighted_sum(tf.reduce_sum(attention, axis=-2), partners),
        attention,
    )


def weighted_sum(weights: tf.Tensor, candidates: tf.Tensor) -> tf.Tensor:
    """Lines 7 and 8: sum over k of a_k h_k."""
    return tf.einsum("...k,...kd->...d", weights, candidates)


def entropy(attention: tf.Tensor) -> tf.Tensor:
    """Entropy of `[..., K, K]` matrices, in nats: 2 log K where all candidates count alike."""
    return -tf.reduce_sum(tf.math.xlogy(attention, attention), axis=[-2, -1])


def affinities(nodes: tf.Tensor, negatives: tf.Tensor) -> tf.Tensor:
    """Dot products of nodes with their negatives, `[pairs, negatives]`.

    Args:
        nodes: `[pairs, dim]`, or `[pairs, negatives, dim]` where each negative sees another.
        negatives: `[negatives, dim]` shared by all pairs, or `[pairs, negatives, dim]`.
    """
    if nodes.shape.rank == 2 and negatives.shape.rank == 2:
        return tf.matmul(nodes, negatives, transpose_b=True)
    if nodes.shape.rank == 2:
        return tf.einsum("bd,bqd->bq", nodes, negatives)
    return tf.einsum("bqd,bqd->bq", nodes, negatives)
