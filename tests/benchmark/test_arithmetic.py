"""The products of a step are those that run, with the sizes of a real batch."""

import math

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.benchmark import arithmetic
from cade_tf.benchmark.arithmetic import BatchSizes, Product
from cade_tf.benchmark.cases import make_step
from cade_tf.models.factory import MODEL_CLASSES
from tests.training.small_run import small_config, small_graph


def made(name, **options):
    model = MODEL_CLASSES[name](dim=4, fanouts=(3, 2), k=2, **options)
    model.build_for(feature_width=7, num_known=9)
    return model


SIZES = BatchSizes(levels=(5, 11), nodes=8, rows=20)


def test_the_products_of_graphsage():
    found = arithmetic.products(made("graphsage"), SIZES, pairs=6, negatives=3)
    assert found == [
        Product(16, 14, 4, gradients=1),
        Product(5, 8, 4),
        Product(6, 4, 3),
    ]


def test_samplings_project_each_distinct_row_once():
    found = arithmetic.products(made("cade_ms"), SIZES, pairs=6, negatives=3)
    assert found[:2] == [Product(8, 7, 4, gradients=1), Product(20, 7, 4, gradients=1)]


def test_parameter_sets_are_columns_of_the_first_round_and_a_batch_of_the_next():
    found = arithmetic.products(made("cade_ma"), SIZES, pairs=6, negatives=3)
    assert found[0] == Product(16, 14, 8, gradients=1)
    assert found[1] == Product(5, 8, 4, batch=2)


def test_an_lstm_multiplies_its_state_once_per_child_after_the_first():
    found = arithmetic.products(made("graphsage", aggregator="lstm"), SIZES, pairs=6, negatives=3)
    recurrent = [p for p in found if (p.inner, p.columns) == (128, 512)]
    # Level 0 has 3 children, level 1 has 2; the second round is for level 0 alone.
    assert [p.rows for p in recurrent] == [5] * 2 + [11] + [5] * 2


@pytest.mark.parametrize("aggregator", ["mean", "pool", "lstm"])
@pytest.mark.parametrize("name", MODEL_CLASSES)
def test_the_sizes_are_those_of_the_products_that_run(name, aggregator, monkeypatch, eager):
    config = small_config(model=name, aggregator=aggregator, batch_size=16)
    step = make_step(small_graph(), config)
    sizes = arithmetic.batch_sizes(step)
    found = arithmetic.products(step.model, sizes, config.batch_size, config.negatives)
    # Sums weighed by an attention and products with its vector are no calls of tf.matmul.
    counted = [(p.batch, p.rows, p.inner, p.columns) for p in found if p.rows > 1 < p.columns]
    run, factors = [], []
    multiply = tf.matmul

    def recorded(left, right, **flags):
        product = multiply(left, right, **flags)
        # A pool transforms the same rows once a level; compiled, equal products are done once.
        if not any(left is a and np.array_equal(right, b) for a, b in factors):
            batch = math.prod(left.shape[:-2])
            run.append((batch, *left.shape[-2:], product.shape[-1]))
        factors.append((left, right))
        return product

    monkeypatch.setattr(tf, "matmul", recorded)
    step.look()
    assert sorted(with_joined_gates(run)) == sorted(counted)


def with_joined_gates(run, units=128):
    """An LSTM multiplies its state for each gate by itself; four such products count as one."""
    gates = [product for product in run if product[2:] == (units, units)]
    assert gates[0::4] == gates[1::4] == gates[2::4] == gates[3::4]
    joined = [(batch, rows, units, 4 * units) for batch, rows, *_ in gates[::4]]
    return [product for product in run if product not in gates] + joined


@pytest.fixture
def eager():
    tf.config.run_functions_eagerly(True)
    yield
    tf.config.run_functions_eagerly(False)


def test_the_sizes_are_those_of_the_batch():
    graph = small_graph()
    step = make_step(graph, small_config(model="cade_ms", k=2, batch_size=8))
    sizes = arithmetic.batch_sizes(step)
    pairs = step.sampler.stream.draw(step.sampler.graph, 0, 8)
    positives = len({*pairs.nodes.numpy(), *pairs.partners.numpy()})
    assert 2 * positives <= sizes.levels[0] <= 2 * positives + step.sampler.negatives
    assert sizes.levels[0] < sizes.levels[1] <= 2 * graph.num_nodes
    assert sizes.nodes <= sizes.rows <= graph.num_nodes


def test_bare_products_run():
    run = arithmetic.bare_products([Product(3, 4, 5, gradients=1), Product(2, 3, 4, batch=2)])
    assert len(run()) == 2 + 3
