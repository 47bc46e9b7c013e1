"""DualENC: K candidates a node by SAGB, and the attention between those of a pair."""

from typing import Any, NamedTuple

import keras
import tensorflow as tf

from cade_tf.layers.bi_attention import (
    BiAttention,
    DualPair,
    affinities,
)
from cade_tf.layers.global_bias import GlobalBias
from cade_tf.layers.sagb import SAGB, TreeInputs
from cade_tf.layers.sparse_ops import Rows, gather_rows
from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.sampling.neighborhood import distinct_instances, sample_neighborhood

NORMALIZATIONS = ("output", "encoder", "both", "none")


class PairScores(NamedTuple):
    """What the loss is made of.

    Attributes:
        positive: `[pairs]`, z_v . z_{v_p}.
        negative: `[pairs, negatives]`, z_v . z_{v_n}.
        dual: The dual representations of the pairs.
    """

    positive: tf.Tensor
    negative: tf.Tensor
    dual: DualPair


class DualEncoder(keras.Model):
    """Base of the four models; a subclass says how K candidates come about and are attended.

    Args:
        feature_width: Width of the (scaled) features.
        num_known: Nodes of the training graph, rows of the global bias.
        dim: Width of hidden layers and embeddings.
        fanouts: Sampled neighbours of each hop, the root's first.
        k: K.
        aggregator: mean, pool or lstm.
        activation: Of hidden layers.
        last_activation: Of the last layer.
        normalize: What is scaled to unit length: output, encoder, both or none.
        attention_score: For CADE-MA: linear or tanh.
        attention_temperature: Scores of the attention are divided by this.
        global_bias: Whether the model has a global bias; None for the model's own choice.
        seed: Seed of the initial weights.

    Input shape:
        `TreeInputs`: features of sampled trees.

    Output shape:
        `[roots, K or 1, dim]`: candidates of each root.
    """

    # Keras would guess a signature in which indices are floats, and then fail to trace it; a
    # SavedModel is written with functions of its own.
    _default_save_signature = None

    samplings_by_k = False
    parameter_sets_by_k = False
    has_bias = True

    def __init__(
        self,
        *,
        feature_width: int,
        num_known: int,
        dim: int = 256,
        fanouts: tuple[int, ...] = (20, 10),
        k: int = 10,
        aggregator: str = "mean",
        activation: str = "relu",
        last_activation: str = "linear",
        normalize: str = "output",
        attention_score: str = "linear",
        attention_temperature: float = 1.0,
        global_bias: bool | None = None,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.feature_width = feature_width
        self.num_known = num_known
        self.dim = dim
        self.fanouts = tuple(fanouts)
        self.k = k
        self.aggregator = aggregator
        self.activation = activation
        self.last_activation = last_activation
        self.normalize = normalize
        self.attention_score = attention_score
        self.attention_temperature = attention_temperature
        self.global_bias = self.has_bias if global_bias is None else global_bias
        self.seed = seed
        self.samplings = k if self.samplings_by_k else 1
        self.parameter_sets = k if self.parameter_sets_by_k else 1
        self.sagb = SAGB(
            dim,
            depth=len(self.fanouts),
            aggregator=aggregator,
            parameter_sets=self.parameter_sets,
            activation=activation,
            last_activation=last_activation,
            project_first=self._project_first(),
            seed=seed,
            dtype=self.dtype_policy,
            name="sagb",
        )
        self.bias = None
        if self.global_bias and len(self.fanouts) > 1:
            self.bias = GlobalBias(num_known, dim, dtype=self.dtype_policy, name="global_bias")
        self.attention = self._make_attention()

    def _project_first(self) -> bool:
        """Whether the first layer projects each distinct row before the mean.

        K samplings average the same rows many times; and a row much wider than its projection
        costs more to average than to project.
        """
        widest = 2 * self.parameter_sets * self.dim
        return self.aggregator == "mean" and (self.samplings > 1 or self.feature_width > widest)

    def _make_attention(self) -> BiAttention | None:
        return None

    def build(self, inputs_shape: Any = None) -> None:
        """Creates all weights; the shapes follow from the constructor's arguments."""
        if self.built:
            return
        levels = tuple((None, fanout) for fanout in self.fanouts)
        self.sagb.build(TreeInputs((None, self.feature_width), (None,), levels, levels[:-1]))
        if self.bias is not None:
            self.bias.build((None,))
        if self.attention is not None:
            candidates = (None, self.k, self.dim)
            self.attention.build(candidates, candidates)
        super().build(inputs_shape)

    def call(self, inputs: TreeInputs) -> tf.Tensor:
        """Algorithm 2, line 1: candidates of the roots."""
        candidates = self.sagb(inputs)
        return unit(candidates) if self.normalize in ("encoder", "both") else candidates

    # --- from nodes to candidates ------------------------------------------------------------

    def candidates(
        self, graph: GraphTables, nodes: tf.Tensor, key: tf.Tensor, samplings: int | None = None
    ) -> tf.Tensor:
        """Samples neighbourhoods and encodes nodes.

        Args:
            graph: Tables of the graph.
            nodes: Integers, any shape, repetitions welcome.
            key: Key of the neighbour stream; equal keys give equal draws.
            samplings: Samplings a node; the model's own number by default.

        Returns:
            The shape of `nodes`, then `[K or 1, dim]`.
        """
        count = samplings or self.samplings
        shape = tf.shape(nodes)
        roots, samplings_of_roots, position = distinct_instances(
            *_every_sampling(nodes, count), graph.num_nodes
        )
        encoded = self.encode(graph, roots, samplings_of_roots, key)
        width = max(count, self.parameter_sets)
        flat = gather_rows(encoded, position)
        return tf.reshape(flat, tf.concat([shape, [width, self.dim]], 0))

    def encode(
        self, graph: GraphTables, roots: tf.Tensor, samplings: tf.Tensor, key: tf.Tensor
    ) -> tf.Tensor:
        """Algorithm 3 for distinct (sampling, root) pairs: `[roots, K or 1, dim]`."""
        trees = sample_neighborhood(graph, roots, samplings, self.fanouts, key)
        nodes = [trees.nodes, *(tf.reshape(c, [-1]) for c in trees.child_nodes)]
        sizes = [tf.size(n) for n in nodes]
        features, index = self.features_of(graph, tf.concat(nodes, 0))
        self_index, *child_index = tf.split(index, sizes)
        bias, bias_index = self.bias_of(graph, trees.nodes)
        return self(
            TreeInputs(
                features,
                self_index,
                tuple(
                    tf.reshape(flat, [-1, fanout])
                    for flat, fanout in zip(child_index, self.fanouts, strict=True)
                ),
                trees.child_positions,
                bias,
                bias_index,
            )
        )

    def features_of(self, graph: GraphTables, nodes: tf.Tensor) -> tuple[Rows, tf.Tensor]:
        """A matrix with the features of nodes, and their positions in it.

        A mean of features reads them where they are; whatever multiplies each row first wants
        distinct ones, in the order of first use.
        """
        if self.aggregator == "mean" and not self.sagb.project_first:
            return graph.features.compact(nodes)
        distinct, index = tf.unique(nodes)
        return graph.features.lookup(distinct), index

    def bias_of(
        self, graph: GraphTables, nodes: tf.Tensor
    ) -> tuple[tf.Tensor | None, tf.Tensor | None]:
        """Rows of the global bias and which of them each node has; None for a model without.

        Distinct rows travel and are updated once, however often a node stands in the trees.
        """
        if self.bias is None:
            return None, None
        distinct, position = tf.unique(nodes)
        rows = distinct if graph.bias_rows is None else graph.bias_rows.lookup(distinct)
        return self.bias(rows), position

    # --- from candidates to embeddings -------------------------------------------------------

    def dual(self, nodes: tf.Tensor, partners: tf.Tensor) -> DualPair:
        """Algorithm 2: dual representations of candidates `[pairs, K, dim]`."""
        if self.attention is None:
            ones = tf.ones([tf.shape(nodes)[0], 1, 1], nodes.dtype)
            return DualPair(self.without_partner(nodes), self.without_partner(partners), ones)
        pair = self.attention(nodes, partners)
        return DualPair(self._output(pair.nodes), self._output(pair.partners), pair.attention)

    def without_partner(self, candidates: tf.Tensor) -> tf.Tensor:
        """The first candidate as an embedding, `[nodes, dim]`: all there is without attention."""
        return self._output(candidates[..., 0, :])

    def negative_affinities(
        self, nodes: tf.Tensor, dual: DualPair, negatives: tf.Tensor
    ) -> tf.Tensor:
        """z_v . z_{v_n} of every pair with its negatives, `[pairs, negatives]`.

        Args:
            nodes: `[pairs, K, dim]`, candidates of v.
            dual: Dual representations of the pairs.
            negatives: `[negatives, K, dim]` or `[pairs, negatives, K, dim]`.
        """
        # Equation 1: a negative is the direct output of the encoder.
        return affinities(dual.nodes, self.without_partner(negatives))

    def _output(self, vectors: tf.Tensor) -> tf.Tensor:
        return unit(vectors) if self.normalize in ("output", "both") else vectors

    def score_pairs(
        self,
        graph: GraphTables,
        nodes: tf.Tensor,
        partners: tf.Tensor,
        negatives: tf.Tensor,
        key: tf.Tensor,
    ) -> PairScores:
        """Encodes a batch of positive pairs and their negatives.

        Args:
            graph: Tables of the graph.
            nodes: `[pairs]`, v.
            partners: `[pairs]`, v_p.
            negatives: `[negatives]` shared by the batch, or `[pairs, negatives]`.
            key: Key of the neighbour stream of this step.
        """
        nodes, partners, negatives = (
            tf.cast(ids, tf.int64) for ids in (nodes, partners, negatives)
        )
        pairs, count = tf.size(nodes), tf.size(negatives)
        both, of_both = _every_sampling(tf.concat([nodes, partners], 0), self.samplings)
        # A negative needs one sampling; it shares the first one's draws.
        every = tf.concat([both, tf.reshape(negatives, [-1])], 0)
        of = tf.concat([of_both, tf.zeros([count], tf.int64)], 0)
        roots, samplings, position = distinct_instances(every, of, graph.num_nodes)
        encoded = self.encode(graph, roots, samplings, key)

        width = max(self.samplings, self.parameter_sets)
        positive_index, negative_index = tf.split(position, [2 * pairs * self.samplings, count])
        of_nodes, of_partners = (
            tf.reshape(gather_rows(encoded, index), [pairs, width, self.dim])
            for index in tf.split(positive_index, 2)
        )
        negative_shape = tf.concat([tf.shape(negatives), [self.parameter_sets, self.dim]], 0)
        others = tf.reshape(gather_rows(encoded, negative_index), negative_shape)
        others.set_shape([*negatives.shape, self.parameter_sets, self.dim])
        dual = self.dual(of_nodes, of_partners)
        return PairScores(
            tf.reduce_sum(dual.nodes * dual.partners, axis=-1),
            self.negative_affinities(of_nodes, dual, others),
            dual,
        )

    def get_build_config(self) -> dict[str, Any]:
        """One number, though building needs none: Keras does not build what has an empty one."""
        return {"feature_width": self.feature_width}

    def build_from_config(self, config: dict[str, Any]) -> None:
        """Builds a deserialised model."""
        self.build()

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        names = (
            "feature_width", "num_known", "dim", "fanouts", "k", "aggregator", "activation",
            "last_activation", "normalize", "attention_score", "attention_temperature",
            "global_bias", "seed",
        )  # fmt: skip
        return {**super().get_config(), **{name: getattr(self, name) for name in names}}


def _every_sampling(nodes: tf.Tensor, count: int) -> tuple[tf.Tensor, tf.Tensor]:
    """Each node `count` times behind each other, and the samplings 0..count-1 it stands for."""
    repeated = tf.repeat(tf.reshape(nodes, [-1]), count)
    return repeated, tf.range(tf.size(repeated, nodes.dtype), dtype=nodes.dtype) % count


def unit(vectors: tf.Tensor) -> tf.Tensor:
    """Vectors scaled to length 1; a zero vector stays zero."""
    # In half precision the epsilon itself would be zero, and squares leave the range early.
    wide = vectors if vectors.dtype.size > 2 else tf.cast(vectors, tf.float32)
    return tf.cast(tf.math.l2_normalize(wide, axis=-1, epsilon=1e-12), vectors.dtype)
