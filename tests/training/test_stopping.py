"""When a run ends before its last step, and what it ends with."""

import signal

import numpy as np
import pytest

from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.experiments.single_run import make_validate
from cade_tf.graph.splits import NodeSplit, split_nodes
from cade_tf.training.early_stopping import EarlyStopping
from cade_tf.training.signals import RunStopped, StopRequest
from cade_tf.training.trainer import train
from cade_tf.training.validation import with_pairs
from tests.training.small_run import assert_same_bits, small_config, small_graph, weights_of


def test_only_a_higher_score_is_better_and_patience_counts_anew_after_it():
    stopping = EarlyStopping(patience=2)
    told = [(stopping.better(step, score), stopping.exhausted) for step, score in
            enumerate([0.1, 0.1, 0.2, 0.2, 0.15])]  # fmt: skip
    assert told == [(True, False), (False, False), (True, False), (False, False), (False, True)]
    assert stopping.best_step == 2


def test_a_gain_that_is_too_small_is_none():
    stopping = EarlyStopping(patience=2, smallest_gain=0.1)
    scores = [0.0, 0.1, 0.109, 0.112]
    told = [stopping.better(step, score) for step, score in enumerate(scores)]
    assert told == [True, True, False, True]


def scripted(scores):
    """A validation that gives these scores, and the weights of the encoder at each."""
    seen = {}

    def validate(model, step):
        seen[step] = {w.path.split("/", 1)[1]: w.numpy() for w in model.weights}
        return {"mrr": scores[len(seen) - 1]}

    return validate, seen


OPTIONS = {"steps": 40, "validate_every": 5, "stop_on": "mrr", "patience": 2}


@pytest.mark.parametrize("kept", [True, False])
def test_a_run_stops_when_its_patience_ends_and_has_the_best_weights(kept, tmp_path):
    validate, seen = scripted([0.1, 0.5, 0.4, 0.3, 0.9])
    trained = train(
        small_graph(),
        small_config(**OPTIONS),
        run_dir=tmp_path if kept else None,
        progress=False,
        validate=validate,
    )
    # Calls of ten steps end at 10, 20, ...: validation is due at the first end behind its step.
    assert sorted(seen) == [10, 20, 30, 40]
    assert trained.best_step == 20
    assert_same_bits(weights_of(trained), seen[20])
    assert any((seen[40][name] != seen[20][name]).any() for name in seen[20])
    if kept:
        validate, again = scripted([])
        resumed = train(
            small_graph(),
            small_config(**OPTIONS),
            run_dir=tmp_path,
            progress=False,
            validate=validate,
        )
        assert not again
        assert_same_bits(weights_of(resumed), weights_of(trained))


def test_a_score_to_stop_on_needs_a_validation():
    with pytest.raises(InputError, match="validate_every"):
        Config(stop_on="mrr")
    with pytest.raises(InputError, match="validate_every: expected 0 without validate"):
        train(small_graph(), small_config(**OPTIONS), progress=False)


@pytest.mark.parametrize("kept", [True, False])
def test_training_that_ruins_a_good_start_keeps_the_start(kept, tmp_path):
    graph = small_graph()
    start = small_config(
        model="graphsage",
        activation="linear",
        initialization="smoothing",
        feature_scaling="standard_row",
        steps=0,
    )
    ruined = start.replace(
        steps=90, learning_rate=0.5, feature_dropout=0.9, stop_on="pairs", patience=2
    )
    trained = train(graph, ruined, run_dir=tmp_path if kept else None, progress=False)
    assert trained.best_step == 0
    assert trained.steps < 90
    assert_same_bits(weights_of(trained), weights_of(train(graph, start, progress=False)))


def test_stopping_on_pairs_hides_nothing_and_scores_the_same_pairs_at_every_call():
    graph = small_graph()
    config = small_config(steps=10, stop_on="pairs")
    trained = train(graph, config, progress=False)
    assert trained.model.prepared().known_ids.tolist() == graph.ids.tolist()
    scores = with_pairs(graph, config, lambda model, step: {"other": 1.0})
    first = scores(trained.model, 10)
    assert 0 < first["pairs"] <= 1
    assert first["other"] == 1.0
    assert scores(trained.model, 10) == first


def test_validation_scores_held_out_nodes_and_never_looks_at_test_nodes():
    graph = small_graph()
    split = split_nodes(graph, 0.3, seed=0)
    config = small_config(validate_every=10, stop_on="probe", steps=10)
    found = []

    def validate(model, step):
        found.append(make_validate(graph, split, config)(model, step))
        return found[-1]

    trained = train(graph.subgraph(split.train), config, progress=False, validate=validate)
    (scores,) = found
    assert 0 < scores["mrr"] <= 1
    assert 0 <= scores["probe"] <= 1
    # With other test nodes and edges to them the scores are the same.
    part = np.concatenate([split.train, split.validation])
    smaller = graph.subgraph(np.sort(part))
    position = {node: place for place, node in enumerate(np.sort(part))}
    moved = NodeSplit(
        train=[position[n] for n in split.train],
        validation=[position[n] for n in split.validation],
        test=[],
    )
    assert make_validate(smaller, moved, config)(trained.model, 10) == scores


def test_stopping_on_labels_needs_labels():
    graph = small_graph()
    bare = type(graph).from_edges(graph.edges(), features=graph.features)
    split = split_nodes(graph, 0.3, seed=0)
    with pytest.raises(InputError, match="a graph with labels"):
        make_validate(bare, split, small_config(validate_every=5, stop_on="probe"))


@pytest.fixture
def interruptible():
    """SIGINT as in a terminal; a shell starts what runs in its background with it ignored."""
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, inherited)


def test_the_first_signal_is_a_request_and_the_second_acts(interruptible):
    before = signal.getsignal(signal.SIGINT)
    with StopRequest() as stop:
        signal.raise_signal(signal.SIGINT)
        assert stop.number == signal.SIGINT
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert signal.getsignal(signal.SIGINT) == before


def test_a_stopped_run_has_the_exit_code_of_its_signal():
    assert RunStopped("saved", signal.SIGTERM).exit_code == 143
    assert RunStopped("saved", signal.SIGINT).exit_code == 130
