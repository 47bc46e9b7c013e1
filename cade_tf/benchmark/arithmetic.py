"""The matrix products that a training step cannot do without, by themselves.

Their sizes are those of a real batch: distinct instances and rows, counted. Time of the products
over time of the step is the share of arithmetic; the rest is sampling, gathers, element-wise
operations and the update.
"""

import dataclasses
from collections.abc import Callable, Iterator

import tensorflow as tf

from cade_tf.layers.aggregators import LSTMAggregator, MaxPoolAggregator
from cade_tf.layers.sage_layer import SageLayer
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.training.step import TrainingStep


@dataclasses.dataclass(frozen=True)
class Product:
    """`batch` products of `[rows, inner]` and `[inner, columns]`, and those of their gradients.

    Args:
        rows: Rows of the left factor.
        inner: What both factors share.
        columns: Columns of the right factor.
        batch: Independent products of this size.
        gradients: Factors that have a gradient, each one more product: 1 where the left factor
            is data, 2 where it was computed.
    """

    rows: int
    inner: int
    columns: int
    batch: int = 1
    gradients: int = 2


@dataclasses.dataclass(frozen=True)
class BatchSizes:
    """What one batch has to compute.

    Args:
        levels: Distinct instances (sampling, node) on each level, the roots first.
        nodes: Distinct nodes among them.
        rows: Distinct nodes with the leaves.
    """

    levels: tuple[int, ...]
    nodes: int
    rows: int


def batch_sizes(step: TrainingStep) -> BatchSizes:
    """Counts the distinct nodes of the batch that a step would do next."""
    trees = step.sampler.batch(step.step, drops=False).trees
    leaves = tf.reshape(trees.child_index[-1], [-1])
    return BatchSizes(
        tuple(int(children.shape[0]) for children in trees.child_index),
        _distinct(trees.self_index),
        _distinct(tf.concat([trees.self_index, leaves], 0)),
    )


def _distinct(nodes: tf.Tensor) -> int:
    return int(tf.size(tf.unique(nodes)[0]))


def products(model: DualEncoder, sizes: BatchSizes, pairs: int, negatives: int) -> list[Product]:
    """The products of a step with dense features.

    Args:
        model: The model.
        sizes: What the batch has to compute.
        pairs: Positive pairs.
        negatives: Negatives, shared by the batch.
    """
    found: list[Product] = []
    depth = len(sizes.levels)
    for number, layer in enumerate(model.sagb.rounds):
        if number == 0:
            found += _first_round(model, layer, sizes)
        else:
            found += _next_round(model, layer, sizes.levels[: depth - number + 1])
    return [*found, *_scores(model, pairs, negatives)]


def _first_round(model: DualEncoder, layer: SageLayer, sizes: BatchSizes) -> Iterator[Product]:
    """Features are data, the same for all parameter sets: one product for all of them."""
    width, columns = model.feature_width, model.parameter_sets * model.dim
    instances = sum(sizes.levels)
    if layer.project_first:
        yield Product(sizes.nodes, width, columns, gradients=1)
        yield Product(sizes.rows, width, columns, gradients=1)
        return
    aggregate = layer.aggregate
    if isinstance(aggregate, MaxPoolAggregator | LSTMAggregator):
        yield Product(sizes.nodes, width, columns, gradients=1)
        inputs = model.parameter_sets * aggregate.dense.units
        yield Product(sizes.rows, width, inputs, gradients=1)
        yield from _recurrent(model, layer, sizes.levels)
        yield Product(instances, aggregate.units, model.dim, model.parameter_sets)
    else:
        # A node and the mean of its children are joined.
        yield Product(instances, 2 * width, columns, gradients=1)


def _next_round(model: DualEncoder, layer: SageLayer, levels: tuple[int, ...]) -> Iterator[Product]:
    """Hidden vectors of `levels` go in, those of all but the last come out."""
    sets, dim, nodes = model.parameter_sets, model.dim, sum(levels[:-1])
    aggregate = layer.aggregate
    if isinstance(aggregate, MaxPoolAggregator | LSTMAggregator):
        yield Product(nodes, dim, dim, sets)
        # The children of a single level follow it; those of several are among all rows.
        rows = levels[-1] if len(levels) == 2 else sum(levels)
        yield Product(rows, dim, aggregate.dense.units, sets)
        yield from _recurrent(model, layer, levels[:-1])
        yield Product(nodes, aggregate.units, dim, sets)
    else:
        yield Product(nodes, 2 * dim, dim, sets)


def _recurrent(model: DualEncoder, layer: SageLayer, levels: tuple[int, ...]) -> Iterator[Product]:
    aggregate = layer.aggregate
    if isinstance(aggregate, LSTMAggregator):
        for nodes, fanout in zip(levels, model.fanouts, strict=False):
            # One product for the four gates takes least; a step does four, and copies less.
            one = Product(nodes, aggregate.units, 4 * aggregate.units, model.parameter_sets)
            # The state before the first child is zero.
            yield from [one] * (fanout - 1)


def _scores(model: DualEncoder, pairs: int, negatives: int) -> Iterator[Product]:
    """Attention of all pairs, and affinities with the negatives."""
    dim, k = model.dim, model.k
    if model.samplings_by_k:
        yield Product(k, dim, k, pairs)
        yield from [Product(1, k, dim, pairs)] * 2
    elif model.parameter_sets_by_k:
        # Dual representations of both sides, and support embeddings of nodes and negatives; all
        # attentions of a side are one product with the vector A.
        yield from [Product(pairs * k, dim, 1), Product(1, k, dim, pairs)] * 3
        yield from [Product(negatives * k, dim, 1), Product(1, k, dim, negatives)]
    yield Product(pairs, dim, negatives)


def bare_products(found: list[Product]) -> Callable[[], object]:
    """A compiled function that does the products, and nothing else, on random numbers."""

    def factor(product: Product, rows: int, columns: int) -> tf.Tensor:
        # As a step has them: a single product of two dimensions is faster than a batch of one.
        batch = [product.batch] if product.batch > 1 else []
        return tf.random.uniform([*batch, rows, columns])

    factors = [
        (
            factor(p, p.rows, p.inner),
            factor(p, p.inner, p.columns),
            factor(p, p.rows, p.columns),
            p.gradients,
        )
        for p in found
    ]

    @tf.function(autograph=False)
    def run() -> list[tf.Tensor]:
        results = []
        for left, right, gradient, gradients in factors:
            results.append(tf.matmul(left, right))
            results.append(tf.matmul(left, gradient, transpose_a=True))
            if gradients == 2:
                results.append(tf.matmul(gradient, right, transpose_b=True))
        # Numbers that depend on all products, so that none is left out, and hold none in memory.
        return [tf.reshape(result, [-1])[0] for result in results]

    run()
    return run
