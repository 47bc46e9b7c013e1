"""`cade tune` end to end, with trainings that are made up: the search itself is what is tested."""

import pytest

from cade_tf.cli import app
from cade_tf.cli.flags import parse
from cade_tf.config import Config
from cade_tf.experiments import tuning
from cade_tf.graph import datasets
from tests.training.small_run import small_graph

SPACE = "--steps=30\n--validate_every=10\n--k=1..20\n--dim=4|8\n"


@pytest.fixture
def trials(monkeypatch):
    """Trainings whose score rises to k / 20 in three validations; records their options."""
    made = []

    def train(graph, config, *, progress, validate):
        made.append(config)
        for step in (10, 20, 30):
            validate(config, step)

    def make_validate(graph, split, config):
        return lambda encoder, step: {"probe": encoder.k / 20 * step / 30, "mrr": 0.5}

    monkeypatch.setattr(datasets, "load", lambda options, progress: small_graph())
    monkeypatch.setattr(tuning, "train_graph", train)
    monkeypatch.setattr(tuning, "make_validate", make_validate)
    return made


def run(tmp_path, *flags):
    (tmp_path / "space.flags").write_text(SPACE)
    return app.main(
        ["tune", f"--search={tmp_path / 'space.flags'}", f"--study={tmp_path / 'study'}", *flags]
    )


def test_the_best_flags_are_found_written_and_trainable(trials, tmp_path, capsys):
    assert run(tmp_path, "--trials=15") == 0
    shown = capsys.readouterr().out
    best = max(config.k for config in trials)
    assert f"--k={best}" in shown
    assert "importance" in shown
    flagfile = tmp_path / "study" / "best.flags"
    options, _ = parse(Config, [f"--flagfile={flagfile}"])
    assert options == next(config for config in trials if config.k == best)
    assert (tmp_path / "study" / "importances.png").read_bytes().startswith(b"\x89PNG")


def test_a_search_goes_on_where_it_was_stopped(trials, tmp_path, capsys):
    run(tmp_path, "--trials=3")
    first = len(trials)
    run(tmp_path, "--trials=5")
    assert (first, len(trials)) == (3, 5)
    run(tmp_path, "--trials=5")
    assert len(trials) == 5
    assert "5 trials" in capsys.readouterr().out


def test_trials_below_the_median_are_given_up_early(trials, tmp_path, capsys):
    run(tmp_path, "--trials=25")
    pruned = int(capsys.readouterr().out.split(" trials, ")[1].split()[0])
    assert 0 < pruned < 25


@pytest.mark.parametrize(
    ("flags", "message"),
    [([], "--search"), (["--search=/no/such/file"], "a readable text file")],
)
def test_without_a_search_space_nothing_is_tried(flags, message, capsys):
    assert app.main(["tune", *flags]) == 2
    assert message in capsys.readouterr().err


def test_a_search_needs_validations(trials, tmp_path, capsys):
    (tmp_path / "space.flags").write_text("--k=1..3\n")
    assert app.main(["tune", f"--search={tmp_path / 'space.flags'}"]) == 2
    assert "validate_every" in capsys.readouterr().err
    assert not trials
