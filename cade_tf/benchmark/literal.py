"""The paper's sampling as printed: a tree for every root, every place of it drawn and gathered.

What a straightforward implementation does. The layers are the same; only the batch differs, in
which no two places share a draw, a row or a hidden vector. Here to be timed against.
"""

import dataclasses
from collections.abc import Iterator

import tensorflow as tf

from cade_tf.benchmark.cases import label, make_step, step_seconds
from cade_tf.benchmark.measure import Measurement, ratios
from cade_tf.benchmark.options import BenchOptions
from cade_tf.graph import datasets
from cade_tf.sampling import random
from cade_tf.sampling.batch import PairBatch, PairSampler, every_sampling
from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.sampling.neighborhood import draw_children
from cade_tf.sampling.neighbors import draw_neighbors
from cade_tf.sampling.trees import Trees, bias_rows_of
from cade_tf.sampling.walks import Pairs
from cade_tf.training.step import TrainingStep


@dataclasses.dataclass(frozen=True, kw_only=True)
class LiteralSampler(PairSampler):
    """Batches in which every root has a tree of its own.

    Args:
        own_draws: Whether every place of every tree draws for itself, as in the paper; otherwise
            a node draws the same wherever it stands, as in `sample_neighborhood`, so that both
            kinds of batches give the same scores.
    """

    own_draws: bool = True

    def assemble(
        self, graph: GraphTables, pairs: Pairs, negatives: tf.Tensor, key: tf.Tensor
    ) -> PairBatch:
        """The batch of given pairs and negatives."""
        both, of_both = every_sampling(
            tf.concat([pairs.nodes, pairs.partners], 0), self.shape.samplings
        )
        flat = tf.reshape(negatives, [-1])
        roots = tf.concat([both, flat], 0)
        samplings = tf.concat([of_both, tf.zeros_like(flat)], 0)
        half = tf.size(both) // 2
        index = tf.range(tf.size(roots))
        return PairBatch(
            *pairs,
            self._trees(graph, roots, samplings, key),
            index[:half],
            index[half : 2 * half],
            tf.reshape(index[2 * half :], tf.shape(negatives)),
        )

    def _trees(
        self, graph: GraphTables, roots: tf.Tensor, samplings: tf.Tensor, key: tf.Tensor
    ) -> Trees:
        levels = [roots]
        for level, fanout in enumerate(self.shape.fanouts):
            children = self._draw(graph, levels[-1], samplings, key, level, fanout)
            samplings = tf.repeat(samplings, fanout)
            levels.append(tf.reshape(children, [-1]))
        starts = [tf.constant(0)]
        for nodes in levels:
            starts.append(starts[-1] + tf.size(nodes))
        child_index = tuple(
            tf.reshape(tf.range(starts[level + 1], starts[level + 2]), [-1, fanout])
            for level, fanout in enumerate(self.shape.fanouts)
        )
        instances = tf.range(starts[-2])
        bias_rows = None
        if self.shape.global_bias:
            bias_rows = bias_rows_of(graph, tf.concat(levels[:-1], 0))
        return Trees(
            graph.features.lookup(tf.concat(levels, 0)),
            instances,
            child_index,
            child_index[:-1],
            bias_rows,
            None if bias_rows is None else instances,
        )

    def _draw(
        self,
        graph: GraphTables,
        nodes: tf.Tensor,
        samplings: tf.Tensor,
        key: tf.Tensor,
        level: int,
        fanout: int,
    ) -> tf.Tensor:
        if not self.own_draws:
            return draw_children(graph, nodes, samplings, key, level, fanout)
        places = random.fold_in(random.fold_in(key, level), tf.range(tf.size(nodes)))
        return draw_neighbors(graph, nodes, places, fanout)


def literal_step(fast: TrainingStep, *, own_draws: bool = True) -> TrainingStep:
    """A training step on the weights, graph and options of another, tree by tree."""
    sampler = LiteralSampler(**vars(fast.sampler), own_draws=own_draws)
    optimizer = type(fast.optimizer).from_config(fast.optimizer.get_config())
    return TrainingStep(
        fast.model,
        sampler,
        fast.loss,
        optimizer,
        clip_value=fast.clip_value,
        clip_norm=fast.clip_norm,
    )


def speedup(options: BenchOptions, *, model: str) -> Iterator[Measurement]:
    """One model, shared trees and a tree for every root in turn."""
    config = options.config(model)
    fast = make_step(datasets.load(config), config)
    times = step_seconds({"fast": fast, "literal": literal_step(fast)}, options.repeats)
    place = f"literal/{label(config)}"
    yield Measurement(f"{place}/step", "s", times["literal"])
    yield Measurement(f"{place}/fast_step", "s", times["fast"])
    yield Measurement(f"{place}/speedup", "x", ratios(times["literal"], times["fast"]))
