"""Embeddings of nodes as a layer, for supervised training on top of an encoder."""

from typing import Any

import keras
import tensorflow as tf

from cade_tf.graph.graph import Graph
from cade_tf.inference.candidates import sampled_candidates
from cade_tf.inference.on_demand import own_context
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.sampling import random


class NodeEmbedding(keras.layers.Layer):
    """Positions of nodes in a graph go in, embeddings come out, with gradients to the encoder.

    Each call in training samples other neighbourhoods; outside of training they are always the
    same. A node is its own context. The layer holds the graph, and is not saved with a model: make
    it again for the graph at hand.

    Args:
        encoder: A model that has been adapted to a graph, trained or not. Its weights are the
            layer's; `encoder.trainable = False` freezes them.
        graph: The graph that nodes and their neighbours are read from.
        seed: Seed of the neighbourhoods.

    Input shape:
        Integers `[n]` or `[n, 1]`.

    Output shape:
        `[n, dim]`.

    Example:

    >>> import cade_tf
    >>> graph = cade_tf.digits()
    >>> encoder = cade_tf.GraphSAGE(dim=8, fanouts=(3, 2))
    >>> encoder.adapt(graph)
    >>> NodeEmbedding(encoder, graph)(tf.constant([5, 9])).shape
    TensorShape([2, 8])
    """

    def __init__(self, encoder: DualEncoder, graph: Graph, *, seed: int = 0, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.encoder = encoder
        self.seed = seed
        self._tables = encoder.tables(graph)
        self.calls = self.add_weight(
            name="calls", shape=(), dtype="int64", initializer="zeros", trainable=False
        )
        self.built = True

    def call(self, nodes: tf.Tensor, training: bool | None = None) -> tf.Tensor:
        """Samples neighbourhoods and encodes."""
        if training:
            self.calls.assign(self.calls + 1)
        number = self.calls.value if training else tf.constant(0, tf.int64)
        key = random.make_key(self.seed, random.Stream.NEIGHBOR, number)
        flat = tf.cast(tf.reshape(nodes, [-1]), tf.int64)
        return own_context(self.encoder, sampled_candidates(self.encoder, self._tables, flat, key))

    def compute_output_shape(self, nodes_shape: tuple[int | None, ...]) -> tuple[int | None, ...]:
        """`[n, dim]`."""
        return (nodes_shape[0], self.encoder.dim)
