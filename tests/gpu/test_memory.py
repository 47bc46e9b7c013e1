"""The tensors of a training step take what the formula of the benchmark's page says."""

import math

import pytest

from cade_tf.benchmark import arithmetic, cases
from cade_tf.benchmark.options import BenchOptions
from cade_tf.benchmark.processes import Job, run_job
from cade_tf.graph import datasets


def formula(graph, step):
    """Bytes of the graph, the weights and a step with the mean aggregator."""
    model, sizes = step.model, arithmetic.batch_sizes(step)
    nodes, width = graph.features.shape
    instances, dim = sum(sizes.levels), model.dim
    held = 4 * nodes * width + 16 * graph.num_edges + 40 * nodes
    held += 12 * sum(math.prod(weight.shape) for weight in model.weights)
    rows = 4 * instances * 2 * width
    if model.sagb.project_first:
        rows = 8 * (sizes.rows + sizes.nodes) * dim
    drawn = sum(n * s for n, s in zip(sizes.levels, model.fanouts, strict=True))
    return held + rows + 4 * instances * 3 * model.parameter_sets * dim + 36 * drawn


def measured(model, options):
    """The most that the tensors of a training process take, in bytes."""
    found = run_job(Job("cases.steps", {"model": model, "aggregator": "mean"}), options)
    (tensors,) = [one.median * 2**20 for one in found if one.name.endswith("/tensors")]
    return tensors


@pytest.mark.parametrize("model", ["cade_ms", "cade_ma"])
def test_tensors_take_what_the_formula_says(model):
    options = BenchOptions(dataset="digits", k=5, repeats=1, device="cpu")
    graph = datasets.load(options)
    expected = formula(graph, cases.make_step(graph, options.config(model)))
    # The order in which a process runs what is ready differs, and with it the peak: twelve
    # processes of CADE-MS took 0.81 to 1.01 of the formula. The larger of two says what is needed.
    tensors = max(measured(model, options) for _ in range(2))
    # The allocator gives pieces of up to twice the size.
    assert 0.8 * expected < tensors < 2 * expected
