"""The base of the four models: from sampled trees to candidates, and from candidates to scores."""

from typing import Any, NamedTuple

import keras
import numpy as np
import tensorflow as tf

from cade_tf.config import LONGEST_WALK, FeatureOptions, ModelOptions, check_seed
from cade_tf.errors import InputError
from cade_tf.layers.bi_attention import BiAttention, DualPair, affinities
from cade_tf.layers.global_bias import GlobalBias, RowStore
from cade_tf.layers.sagb import SAGB
from cade_tf.layers.sparse_ops import gather_rows
from cade_tf.models.graph_model import GraphModel
from cade_tf.sampling.batch import PairBatch
from cade_tf.sampling.trees import Trees, TreeShape

UNIT_EPSILON = 1e-12
"""Vectors of a smaller squared length are not scaled to length 1."""


class PairScores(NamedTuple):
    """What the loss is made of.

    Attributes:
        affinities: `[pairs, m]`: z_v . z_{v_p}, then z_v . z_{v_n} of every negative.
        dual: The dual representations of the pairs.
    """

    affinities: tf.Tensor
    dual: DualPair

    @property
    def labels(self) -> tf.Tensor:
        """`[pairs, m]`: 1 for the partner, 0 for a negative; what Keras calls y_true."""
        ones = tf.ones_like(self.affinities[:, :1])
        return tf.concat([ones, tf.zeros_like(self.affinities[:, 1:])], axis=1)

    def against_batch(self, batch: PairBatch) -> "PairScores":
        """The same with the partners of the batch's other pairs among the negatives.

        A partner that is one of the node's own, or the node itself, does not count: its affinity
        is minus infinity.
        """
        of_nodes, of_partners = (
            tf.cast(v, tf.float32) for v in (self.dual.nodes, self.dual.partners)
        )
        others = tf.matmul(of_nodes, of_partners, transpose_b=True)
        nodes, partners = batch.nodes, batch.partners
        counts = batch.valid[None, :] & (nodes[:, None] != nodes[None, :])
        counts &= partners[:, None] != partners[None, :]
        counts &= nodes[:, None] != partners[None, :]
        others = tf.where(counts, others, -float("inf"))
        sampled = tf.cast(self.affinities, tf.float32)
        return PairScores(tf.concat([sampled, others], axis=1), self.dual)


class DualEncoder(GraphModel):
    """Base of the four models; a subclass says how K candidates come about and are attended.

    Args:
        dim: Width of hidden layers and embeddings.
        k: K.
        fanouts: Sampled neighbours of each hop, the root's first.
        aggregator: mean, pool or lstm.
        activation: Of hidden layers.
        last_activation: Of the last layer.
        normalize: What is scaled to unit length: output, encoder, both or none.
        attention_score: For CADE-MA: linear or tanh.
        attention_temperature: Scores of the attention are divided by this.
        global_bias: Whether the model has a global bias; None for the model's own choice.
        feature_scaling: How features are scaled, learnt from the training graph; see
            `cade_tf.FeatureTransform`.
        feature_svd: Dimensions to which features are reduced first; 0 keeps them.
        densify_features: Whether sparse features are made dense.
        walk_length: Steps of the walks that make positive pairs and contexts.
        seed: Seed of the initial weights.

    Input shape:
        `Trees`: features of sampled trees.

    Output shape:
        `[roots, K or 1, dim]`: candidates of each root.
    """

    # Keras would guess a signature in which indices are floats, and then fail to trace it; a
    # SavedModel is written with functions of its own.
    _default_save_signature = None

    ARGUMENTS = (
        "dim", "k", "fanouts", "aggregator", "activation", "last_activation", "normalize",
        "attention_score", "attention_temperature", "global_bias", "feature_scaling",
        "feature_svd", "densify_features", "walk_length", "seed",
    )  # fmt: skip
    """Names of the constructor's own arguments, which are options of `Config` too."""

    samplings_by_k = False
    parameter_sets_by_k = False
    has_bias = True

    dim: int
    k: int
    fanouts: tuple[int, ...]
    aggregator: str
    activation: str
    last_activation: str
    normalize: str
    attention_score: str
    attention_temperature: float
    global_bias: bool
    feature_scaling: str
    feature_svd: int
    densify_features: bool
    walk_length: int
    samplings: int
    parameter_sets: int
    feature_width: int
    num_known: int
    attention: BiAttention | None

    def __init__(
        self,
        dim: int = 256,
        k: int = 10,
        fanouts: tuple[int, ...] = (20, 10),
        *,
        aggregator: str = "mean",
        activation: str = "relu",
        last_activation: str = "linear",
        normalize: str = "output",
        attention_score: str = "linear",
        attention_temperature: float = 1.0,
        global_bias: bool | None = None,
        feature_scaling: str = "standard",
        feature_svd: int = 0,
        densify_features: bool = False,
        walk_length: int = 4,
        seed: int = 0,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.global_bias = self.has_bias if global_bias is None else global_bias
        # The same bounds and choices as on the command line.
        ModelOptions(
            dim=dim,
            k=k,
            fanouts=tuple(fanouts),
            aggregator=aggregator,
            activation=activation,
            last_activation=last_activation,
            normalize=normalize,
            attention_score=attention_score,
            attention_temperature=attention_temperature,
        )
        self.feature_options = FeatureOptions(
            feature_scaling=feature_scaling,
            feature_svd=feature_svd,
            densify_features=densify_features,
        )
        if not isinstance(walk_length, int | np.integer) or not 1 <= walk_length <= LONGEST_WALK:
            raise InputError(
                "walk_length",
                f"a whole number from 1 to {LONGEST_WALK}",
                repr(walk_length),
                "Choose another.",
            )
        check_seed(seed)
        self.dim = dim
        self.k = k
        self.fanouts = tuple(fanouts)
        self.aggregator = aggregator
        self.activation = activation
        self.last_activation = last_activation
        self.normalize = normalize
        self.attention_score = attention_score
        self.attention_temperature = attention_temperature
        self.feature_scaling = feature_scaling
        self.feature_svd = feature_svd
        self.densify_features = densify_features
        self.walk_length = walk_length
        self.seed = seed
        self.samplings = k if self.samplings_by_k else 1
        self.parameter_sets = k if self.parameter_sets_by_k else 1
        self.feature_width = 0
        self.num_known = 0
        self._sagb: SAGB | None = None
        self.attention = self._make_attention()

    def _make_attention(self) -> BiAttention | None:
        return None

    @property
    def sagb(self) -> SAGB:
        """The base encoder.

        Raises:
            InputError: The model has not seen a graph yet.
        """
        if self._sagb is None:
            raise _unbuilt()
        return self._sagb

    @property
    def bias(self) -> GlobalBias | None:
        """The global bias, for a model that has one."""
        return None if self._sagb is None else self._sagb.bias

    @property
    def tree_shape(self) -> TreeShape:
        """What the model wants to have drawn for it."""
        return TreeShape(
            fanouts=self.fanouts,
            samplings=self.samplings,
            distinct_rows=self.aggregator != "mean" or self._project_first(),
            global_bias=self.bias is not None,
            as_sets=self.aggregator == "pool" and self.samplings > 1,
        )

    def _project_first(self) -> bool:
        """Whether the first layer projects each distinct row before the mean.

        K samplings average the same rows many times, so that there narrow rows alone cost less
        to average; with one sampling, a row must be much wider than its projection to cost more.
        """
        factor = 0.5 if self.samplings > 1 else 2.0
        return (
            self.aggregator == "mean"
            and self.feature_width > factor * self.parameter_sets * self.dim
        )

    # --- weights -----------------------------------------------------------------------------

    def build_for(
        self, feature_width: int, num_known: int, bias_store: RowStore | None = None
    ) -> None:
        """Creates all weights.

        Args:
            feature_width: Width of the (scaled) features.
            num_known: Nodes of the training graph, rows of the global bias.
            bias_store: Keeps the global bias, where it is not to be a weight of the model.
        """
        if self._sagb is not None:
            if (feature_width, num_known) != (self.feature_width, self.num_known):
                raise InputError(
                    "model",
                    f"{self.feature_width} features and {self.num_known} known nodes, for which "
                    "it was built",
                    f"{feature_width} and {num_known}",
                    "Make a new model for another graph.",
                )
            return
        self.feature_width, self.num_known = feature_width, num_known
        self._sagb = SAGB(
            self.dim,
            depth=len(self.fanouts),
            aggregator=self.aggregator,
            parameter_sets=self.parameter_sets,
            activation=self.activation,
            last_activation=self.last_activation,
            num_nodes=num_known if self.global_bias else 0,
            project_first=self._project_first(),
            seed=self.seed,
            dtype=self.dtype_policy,
            name="sagb",
        )
        if bias_store is not None and self.bias is not None:
            self.bias.keep_in(bias_store)
        with keras.name_scope(self.name, caller=self):
            self.sagb.build([(None, feature_width)])
            if self.attention is not None:
                candidates = (None, self.k, self.dim)
                self.attention.build(candidates, candidates)
        self.built = True

    def build(self, inputs_shape: Any = None) -> None:
        """Weights need the width of features and the number of known nodes: see `adapt`."""
        if self._sagb is None:
            raise _unbuilt()

    def get_build_config(self) -> dict[str, Any]:
        """What `build_from_config` needs."""
        return {"feature_width": self.feature_width, "num_known": self.num_known}

    def build_from_config(self, config: dict[str, Any]) -> None:
        """Builds a deserialised model; one that was saved before it was built stays so."""
        if config["feature_width"]:
            self.build_for(config["feature_width"], config["num_known"])

    # --- from trees to candidates --------------------------------------------------------------

    def call(self, inputs: Trees, bias: tf.Tensor | None = None) -> tf.Tensor:
        """Algorithm 2, line 1: candidates of the roots; `bias` as of `SAGB`."""
        return self.normalized(self.sagb(inputs, bias=bias))

    def normalized(self, candidates: tf.Tensor) -> tf.Tensor:
        """What `normalize` asks for of candidates."""
        return unit(candidates) if self.normalize in ("encoder", "both") else candidates

    # --- from candidates to embeddings -------------------------------------------------------

    def dual(self, nodes: tf.Tensor, partners: tf.Tensor) -> DualPair:
        """Algorithm 2, equation 3: dual representations of candidates `[pairs, K, dim]`."""
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

    def score_pairs(self, batch: PairBatch) -> PairScores:
        """Encodes a batch of positive pairs and their negatives, and scores them."""
        encoded = self(batch.trees)
        width = max(self.samplings, self.parameter_sets)
        nodes, partners = (
            tf.reshape(gather_rows(encoded, index), [-1, width, self.dim])
            for index in (batch.node_index, batch.partner_index)
        )
        index = batch.negative_index
        shape = tf.concat([tf.shape(index), [self.parameter_sets, self.dim]], 0)
        negatives = tf.reshape(gather_rows(encoded, tf.reshape(index, [-1])), shape)
        negatives.set_shape([*index.shape, self.parameter_sets, self.dim])
        dual = self.dual(nodes, partners)
        positive = tf.reduce_sum(dual.nodes * dual.partners, axis=-1, keepdims=True)
        negative = self.negative_affinities(nodes, dual, negatives)
        return PairScores(tf.concat([positive, negative], axis=1), dual)

    def get_config(self) -> dict[str, Any]:
        """Constructor arguments."""
        return {**super().get_config(), **{name: getattr(self, name) for name in self.ARGUMENTS}}

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> "DualEncoder":
        """The model that `get_config` describes.

        Raises:
            InputError: An earlier version of cade_tf saved it.
        """
        if "feature_width" in config:
            raise InputError(
                "model", "one saved by this version of cade_tf", "one of 0.1", "Train it again."
            )
        return super().from_config(config)


def _unbuilt() -> InputError:
    return InputError(
        "model", "a model that knows its graph", "one that does not", "Call adapt or fit."
    )


def unit(vectors: tf.Tensor) -> tf.Tensor:
    """Vectors scaled to length 1; a zero vector stays zero."""
    # In half precision the epsilon itself would be zero, and squares leave the range early.
    wide = vectors if vectors.dtype.size > 2 else tf.cast(vectors, tf.float32)
    return tf.cast(tf.math.l2_normalize(wide, axis=-1, epsilon=UNIT_EPSILON), vectors.dtype)
