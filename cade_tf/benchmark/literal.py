"""The paper's algorithms as printed: a tree for every root, every row gathered, no sharing.

What a straightforward TensorFlow implementation does. It has the weights of a model and gives its
scores, up to rounding, where it is fed the same draws; here to be timed against.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any, cast

import keras
import tensorflow as tf

from cade_tf.benchmark.measure import Measurement, Work, in_turn, ratios
from cade_tf.benchmark.options import BenchOptions
from cade_tf.benchmark.preparation import make_step, run_steps, scaled_features, warm
from cade_tf.benchmark.training import label
from cade_tf.errors import InputError
from cade_tf.graph import loading
from cade_tf.layers.bi_attention import DualPair, VectorBiAttention, affinities, attend
from cade_tf.layers.global_bias import GlobalBias
from cade_tf.layers.parallel_dense import parallel_matmul
from cade_tf.layers.sage_layer import SageLayer
from cade_tf.models.dual_encoder import DualEncoder, PairScores, unit
from cade_tf.sampling import random
from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.sampling.neighborhood import draw_children
from cade_tf.sampling.neighbors import draw_neighbors
from cade_tf.sampling.tables import SparseTable
from cade_tf.training.step import TrainingStep


class LiteralPath(tf.Module):
    """Scores pairs with the weights of a model, tree by tree.

    Args:
        model: A model with the mean aggregator.
        own_draws: Whether every place of every tree draws for itself, as in the paper; otherwise
            a node draws the same wherever it stands, as in `sample_neighborhood`.

    Raises:
        InputError: The model has another aggregator.
    """

    def __init__(self, model: DualEncoder, *, own_draws: bool = True) -> None:
        super().__init__(name="literal")
        if model.aggregator != "mean":
            raise InputError("aggregator", "mean", model.aggregator, "Measure the mean.")
        self.model = model
        self.own_draws = own_draws
        self.bias = model.bias
        self.compute_dtype = model.compute_dtype

    @property
    def trainable_variables(self) -> list[Any]:
        """Weights of the model."""
        return list(self.model.trainable_variables)

    def score_pairs(
        self,
        graph: GraphTables,
        nodes: tf.Tensor,
        partners: tf.Tensor,
        negatives: tf.Tensor,
        key: tf.Tensor,
    ) -> PairScores:
        """As `DualEncoder.score_pairs`, for negatives shared by the batch."""
        samplings = self.model.samplings
        of_nodes = self._candidates(graph, nodes, samplings, key, role=1)
        of_partners = self._candidates(graph, partners, samplings, key, role=2)
        others = self._candidates(graph, negatives, 1, key, role=3)
        if isinstance(self.model.attention, VectorBiAttention):
            return self._score_by_vector(self.model.attention, of_nodes, of_partners, others)
        dual = self.model.dual(of_nodes, of_partners)
        return PairScores(
            tf.reduce_sum(dual.nodes * dual.partners, axis=-1),
            self.model.negative_affinities(of_nodes, dual, others),
            dual,
        )

    def _candidates(
        self, graph: GraphTables, roots: tf.Tensor, samplings: int, key: tf.Tensor, role: int
    ) -> tf.Tensor:
        """Algorithm 2, line 1: `[roots, K or 1, dim]`."""
        if self.own_draws:
            key = random.fold_in(key, role)
        encoded = [self._encode(graph, roots, sampling, key) for sampling in range(samplings)]
        vectors = tf.concat(encoded, axis=1)
        return unit(vectors) if self.model.normalize in ("encoder", "both") else vectors

    def _encode(
        self, graph: GraphTables, roots: tf.Tensor, sampling: int, key: tf.Tensor
    ) -> tf.Tensor:
        """Algorithm 3: level l holds s_1 x ... x s_l nodes for every root."""
        levels = [roots]
        for level, fanout in enumerate(self.model.fanouts):
            flat = tf.reshape(levels[-1], [-1])
            children = self._draw(graph, flat, sampling, key, level, fanout)
            levels.append(tf.reshape(children, [-1, *levels[-1].shape[1:], fanout]))
        hidden = [_rows(graph, nodes) for nodes in levels]
        last = len(self.model.sagb.rounds) - 1
        for number, layer in enumerate(self.model.sagb.rounds):
            after = []
            for own, children, nodes in zip(hidden[:-1], hidden[1:], levels, strict=False):
                # Features are [..., width] and the same for all parameter sets, hidden vectors
                # [..., sets, dim].
                axis = -2 if number == 0 else -3
                joined = tf.concat([own, tf.reduce_mean(children, axis=axis)], axis=-1)
                vectors = _apply(layer, joined, shared=number == 0)
                if self.bias is not None and number < last:
                    vectors += tf.expand_dims(self._bias(self.bias, graph, nodes), -2)
                after.append(vectors)
            hidden = after
        return hidden[0]

    def _draw(
        self,
        graph: GraphTables,
        nodes: tf.Tensor,
        sampling: int,
        key: tf.Tensor,
        level: int,
        fanout: int,
    ) -> tf.Tensor:
        if not self.own_draws:
            of = tf.fill(tf.shape(nodes), tf.constant(sampling, nodes.dtype))
            return draw_children(graph, nodes, of, key, level, fanout)
        places = random.fold_in(
            random.fold_in(random.fold_in(key, level), sampling), tf.range(tf.size(nodes))
        )
        return draw_neighbors(graph, nodes, places, fanout)

    def _bias(self, bias: GlobalBias, graph: GraphTables, nodes: tf.Tensor) -> tf.Tensor:
        flat = tf.reshape(nodes, [-1])
        rows = flat if graph.bias_rows is None else graph.bias_rows.lookup(flat)
        return tf.reshape(bias(rows), [-1, *nodes.shape[1:], self.model.dim])

    def _score_by_vector(
        self,
        attention: VectorBiAttention,
        nodes: tf.Tensor,
        partners: tf.Tensor,
        negatives: tf.Tensor,
    ) -> PairScores:
        """Equations 2-4 with the whole K x K matrix of every pair and of every pair's negatives."""
        vector = tf.convert_to_tensor(attention.vector)
        dual = self._attend(attention, vector, nodes, partners)
        frozen = tf.stop_gradient(vector)
        support = self._attend(attention, frozen, nodes[:, None], negatives[None])
        return PairScores(
            tf.reduce_sum(dual.nodes * dual.partners, axis=-1),
            affinities(support.nodes, support.partners),
            dual,
        )

    def _attend(
        self,
        attention: VectorBiAttention,
        vector: tf.Tensor,
        nodes: tf.Tensor,
        partners: tf.Tensor,
    ) -> DualPair:
        left = tf.expand_dims(tf.tensordot(nodes, vector[0], axes=1), -1)
        right = tf.expand_dims(tf.tensordot(partners, vector[1], axes=1), -2)
        pair = attend(nodes, partners, (left + right) / attention.temperature)
        if self.model.normalize in ("output", "both"):
            return DualPair(unit(pair.nodes), unit(pair.partners), pair.attention)
        return pair


def _rows(graph: GraphTables, nodes: tf.Tensor) -> tf.Tensor:
    """A row of features for every place, `[..., width]`."""
    rows = graph.features.lookup(tf.reshape(nodes, [-1]))
    if isinstance(graph.features, SparseTable):
        rows = tf.sparse.to_dense(rows)
    return tf.reshape(rows, [-1, *nodes.shape[1:], rows.shape[-1]])


def _apply(layer: SageLayer, joined: tf.Tensor, *, shared: bool) -> tf.Tensor:
    """sigma(W [h || mean]): W as one matrix, `[..., sets, dim]`."""
    width = joined.shape[-1]
    places = joined.shape[1:-1] if shared else joined.shape[1:-2]
    flat = tf.reshape(joined, [-1, width] if shared else [-1, layer.parameter_sets, width])
    outputs = parallel_matmul(flat, tf.convert_to_tensor(layer.kernel))
    shaped = tf.reshape(outputs, [-1, *places, layer.parameter_sets, layer.units])
    return keras.activations.get(layer.activation)(shaped)


def literal_step(fast: TrainingStep, *, own_draws: bool = True) -> TrainingStep:
    """A training step of the literal path on the weights, graph and options of another."""
    path = LiteralPath(fast.model, own_draws=own_draws)
    return TrainingStep(cast(DualEncoder, path), fast.graph, fast.options)


def speedup(options: BenchOptions, *, model: str) -> Iterator[Measurement]:
    """One model, the fast and the literal path in turn."""
    config = options.config(model)
    graph = loading.load(config)
    fast = make_step(graph, config, scaled_features(graph, config))
    both = {"fast": fast, "literal": literal_step(fast)}
    counts = {name: warm(step) for name, step in both.items()}
    works: dict[str, Work] = {
        name: partial(run_steps, step, counts[name]) for name, step in both.items()
    }
    seconds = in_turn(works, options.repeats)
    times = {name: [s / counts[name] for s in values] for name, values in seconds.items()}
    place = f"literal/{label(config)}"
    yield Measurement(f"{place}/step", "s", tuple(times["literal"]))
    yield Measurement(f"{place}/fast_step", "s", tuple(times["fast"]))
    yield Measurement(f"{place}/speedup", "x", ratios(times["literal"], times["fast"]))
