"""A request that cannot be answered with numbers gets an error that names its input.

150 requests; the environment variable CADE_ATTACKS multiplies the random ones."""

import re

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.serving.graph_module import GraphModule
from cade_tf.serving.requests import MAX_ROWS
from tests.attacks.damage import tries
from tests.serving import serving_examples as examples


@pytest.fixture(scope="module")
def served():
    graph = examples.pairs_graph()
    model = examples.make_model("cade_ms", graph)
    return GraphModule(model, graph, walks=1).functions, examples.requests(graph, model)


def changed(served, signature, **inputs):
    functions, requests = served
    return functions[signature](**{**requests[signature], **inputs})


@pytest.mark.parametrize("seed", [-1, 2**31, 2**62, -(2**63)])
@pytest.mark.parametrize("signature", ["serving_default", "embed_new", "embed_pair"])
def test_a_seed_out_of_range_is_refused_by_name(served, signature, seed):
    with pytest.raises(tf.errors.InvalidArgumentError, match="seed: expected a number from 0"):
        changed(served, signature, seed=tf.constant(seed, tf.int64))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e30, -1e13])
@pytest.mark.parametrize("name", ["nodes", "partners"])
def test_candidates_out_of_range_are_refused_by_name(served, name, value):
    good = served[1]["attend_pair"][name].numpy()
    good[1, 0, 2] = value
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"{name}: expected finite numbers"):
        changed(served, "attend_pair", **{name: tf.constant(good)})


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e20, -1e38])
@pytest.mark.parametrize(
    ("signature", "name"), [("embed_new", "features"), ("encode_tree", "hop_1")]
)
def test_features_out_of_range_are_refused_by_name(served, signature, name, value):
    good = served[1][signature][name].numpy()
    good[1].flat[0] = value
    with pytest.raises(tf.errors.InvalidArgumentError, match=f"{name}.*expected finite numbers"):
        changed(served, signature, **{name: tf.constant(good)})


def test_a_request_for_too_many_nodes_is_refused_before_any_work(served):
    many = tf.repeat(served[1]["serving_default"]["node_ids"][:1], MAX_ROWS + 1)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match=f"node_ids: expected at most {MAX_ROWS}"
    ):
        changed(served, "serving_default", node_ids=many)
    splits = tf.zeros([MAX_ROWS + 2], tf.int64)
    with pytest.raises(
        tf.errors.InvalidArgumentError, match="neighbor_row_splits: expected at most"
    ):
        changed(served, "embed_new", neighbor_row_splits=splits)


@pytest.mark.parametrize("signature", ["serving_default", "embed_new", "embed_pair", "attend_pair"])
def test_a_good_request_is_answered(served, signature):
    for value in changed(served, signature).values():
        assert np.isfinite(value).all()


NUMBERS = {
    "float32": (np.nan, np.inf, -np.inf, 1e30, -1e38, 1e-40, 0.0),
    "int64": (-1, -(2**63), 2**63 - 1, 2**31, 0),
}


def one_number(value, rng):
    value = np.array(value)
    if value.size:
        value.flat[rng.integers(value.size)] = rng.choice(NUMBERS[str(value.dtype)])
    return value


def all_numbers(value, rng):
    return np.full_like(value, rng.choice(NUMBERS[str(value.dtype)]))


def no_rows(value, rng):
    return value[:0] if value.ndim else value


def fewer_rows(value, rng):
    return value[: rng.integers(len(value))] if value.ndim else value


def more_rows(value, rng):
    return np.repeat(value, 1 + rng.integers(1, 4), axis=0) if value.ndim else value


def other_order(value, rng):
    return rng.permutation(value) if value.ndim else value


def another_axis(value, rng):
    return value[..., None]


def another_width(value, rng):
    return value[..., :-1] if value.ndim > 1 else value


DAMAGES = (
    one_number,
    all_numbers,
    no_rows,
    fewer_rows,
    more_rows,
    other_order,
    another_axis,
    another_width,
)


@pytest.mark.parametrize("number", range(tries(115)))
def test_a_random_mistake_is_answered_with_numbers_or_an_error_that_names_an_input(served, number):
    rng = np.random.default_rng(number)
    requests = served[1]
    signature = sorted(requests)[number % len(requests)]
    name = str(rng.choice(sorted(requests[signature])))
    damage = DAMAGES[rng.integers(len(DAMAGES))]
    value = damage(requests[signature][name].numpy(), rng)
    answer, error = {}, None
    try:
        answer = changed(served, signature, **{name: tf.constant(value)})
    # What has another number of axes does not reach the function from Python.
    except (tf.errors.InvalidArgumentError, TypeError) as raised:
        error = str(raised)
    what = f"{signature}, {name}, {damage.__name__}: {error}"
    names = "|".join(requests[signature])
    named = rf"\[({names})(, scaled)?:|name='({names})'"
    assert error is None or re.search(named, error), what
    assert all(np.isfinite(found).all() for found in answer.values()), what
