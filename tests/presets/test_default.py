"""The recommended preset as the default: what waits for the graph, and what does not."""

import dataclasses
import json
import logging

import pytest

from cade_tf import presets
from cade_tf.cli import flags
from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.experiments import cells, declarations, runner
from cade_tf.experiments.options import ReproduceOptions
from cade_tf.graph.digits import digits
from cade_tf.graph.splits import split_nodes
from cade_tf.presets.recommended import decided
from cade_tf.training.trainer import train
from tests.presets.kinds import generated

SMALL = {"model": "graphsage", "dim": 8, "fanouts": (3, 2), "batch_size": 32, "steps": 3}


def parse(*arguments):
    return flags.parse(Config, arguments)[0]


def test_a_command_remembers_what_was_given_until_the_graph_is_known():
    config = parse("--k=3", "--steps=400")
    assert config.given == {"k", "steps"}
    assert config.loss == "pair"
    found = decided(generated("binary"), config)
    assert (found.k, found.steps, found.loss, found.given) == (3, 400, "softmax", None)


def test_the_papers_preset_leaves_nothing_to_decide():
    config = parse("--preset=paper")
    assert config.given is None
    assert decided(generated("binary"), config) is config


def test_a_config_made_in_python_is_left_as_it_is():
    config = Config(**SMALL)
    assert decided(generated("binary"), config) is config
    assert train(generated("binary"), config, progress=False).config == config


def test_what_is_changed_before_the_decision_counts_as_given():
    config = Config.from_given().replace(steps=7, feature_scaling="none")
    found = decided(generated("binary"), config)
    assert (found.steps, found.feature_scaling) == (7, "none")


@pytest.mark.parametrize("given", [(), ("--epochs=2",), ("--aggregator=pool",)])
def test_the_flags_of_a_run_lead_to_the_same_decisions(given):
    graph = generated("counts")
    first = decided(graph, parse(*given))
    again = decided(graph, flags.parse(Config, first.to_flagfile().splitlines())[0])
    assert again == first
    assert again.preset == "recommended"


def test_flags_of_plain_options_stay_plain():
    config = Config(k=3)
    found = parse(*config.to_flagfile().splitlines())
    assert found.preset == "paper"
    assert found.replace(preset=None) == config


def test_training_by_named_options_follows_the_graph_and_says_so(caplog):
    with caplog.at_level(logging.INFO, "cade_tf"):
        trained = train(generated("binary"), **SMALL, progress=False)
    assert (trained.config.dim, trained.config.steps) == (8, 3)
    assert trained.config.feature_scaling == "tfidf"
    assert trained.config.preset == "recommended"
    read, said = (record.getMessage() for record in caplog.records[:2])
    assert read.startswith("Read: 500 nodes")
    assert said.startswith("Decided: tfidf scaling")


def test_a_config_and_named_options_do_not_go_together():
    with pytest.raises(InputError, match="a Config and steps"):
        train(generated("binary"), Config(**SMALL), steps=3)


def test_nodes_of_ones_own_graph_are_hidden_only_where_it_is_asked_for():
    assert parse("--graph=mine.npz").unseen_ratio == 0
    assert parse("--graph=mine.npz", "--preset=paper").unseen_ratio == 0
    assert parse("--graph=mine.npz", "--unseen_ratio=0.2").unseen_ratio == 0.2
    assert parse("--dataset=digits").unseen_ratio == 0.3


def test_experiments_get_the_decisions_as_options():
    graph = generated("counts")
    values = presets.options_of("recommended", "cade_ma", lambda: graph, {"aggregator": "pool"})
    assert (values["preset"], values["model"]) == ("recommended", "cade_ma")
    assert (values["feature_scaling"], values["aggregator"]) == ("log_tfidf", "pool")
    # A pool cannot start as a smoothing filter.
    assert "initialization" not in values
    Config(**values)


def test_a_cell_of_the_recommended_block_is_decided_when_it_is_computed(tmp_path):
    entry = declarations.Entry(
        row="digits", column="a", dataset="digits", task=cells.CLASSIFICATION,
        method="graphsage", preset="recommended", changes={"dim": 16, "steps": 0, "epochs": 0},
    )  # fmt: skip
    cell = runner.cell_of(entry, 100, ReproduceOptions(cells=str(tmp_path)))
    assert {"dim", "seed"} < set(cell.given())
    assert "initialization" not in cell.given()
    result = cells.compute(cell, tmp_path)
    whole = digits()
    seen = whole.subgraph(split_nodes(whole, 0.3, 100).seen)
    expected = decided(seen, Config.from_given(model="graphsage", seed=100, **entry.changes))
    assert result["flags"]["initialization"] == "smoothing"
    assert result["flags"] == cell.settings(expected)
    # It is found again, also in a report, without asking the preset.
    kept = json.loads(json.dumps(result))
    assert cells.cached(cell, tmp_path) == kept
    assert cells.restore({"entries": [{"cells": [kept]}]}, tmp_path) == 0
    other = runner.cell_of(
        dataclasses.replace(entry, changes={"dim": 8}), 100, ReproduceOptions(cells=str(tmp_path))
    )
    assert cells.cached(other, tmp_path) is None
