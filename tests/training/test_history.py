"""What a training leaves for a notebook: its metrics by step, pictures, short representations."""

import dataclasses
import math
import sys

import numpy as np
import pytest

import cade_tf
from cade_tf.errors import InputError
from cade_tf.training.history import HISTORY_FILE, MOST_STEPS, History
from cade_tf.training.metrics import STEP_METRICS
from cade_tf.training.trainer import train
from tests.training.small_run import small_config, small_graph


@pytest.fixture(scope="module")
def graph():
    return small_graph()


@pytest.fixture(scope="module")
def trained(graph):
    config = small_config(steps=40, summary_every=10, validate_every=20)
    return train(graph, config, progress=False, validate=lambda model, step: {"own": step / 40})


def test_the_history_has_every_metric_by_step(trained):
    history = trained.history
    assert history["step"] == [10, 20, 30, 40]
    for name in STEP_METRICS:
        assert np.isfinite(history[name]).all()
        assert history[name][-1] == pytest.approx(trained.metrics[name])
    assert [math.isnan(value) for value in history["validation_own"]] == [True, False, True, False]
    assert history["validation_own"][1::2] == [0.5, 1.0]
    assert len(set(map(len, history.values()))) == 1


def test_a_history_is_there_without_summaries_too(graph):
    trained = train(graph, small_config(steps=40), progress=False)
    assert trained.history["step"] == [20, 40]


def test_a_resumed_run_has_the_history_of_its_earlier_processes(graph, tmp_path):
    config = small_config(steps=20, summary_every=10)
    train(graph, config, run_dir=tmp_path, progress=False)
    longer = train(graph, config.replace(steps=40), run_dir=tmp_path, progress=False)
    whole = train(graph, config.replace(steps=40), progress=False)
    assert longer.history["step"] == [10, 20, 30, 40]
    np.testing.assert_array_equal(longer.history["loss"], whole.history["loss"])
    again = train(graph, config.replace(steps=40), run_dir=tmp_path, progress=False)
    assert again.history == longer.history


def test_a_history_of_many_steps_is_thinned_and_keeps_its_last():
    history = History()
    for step in range(1, 3 * MOST_STEPS):
        history.add(step, {"loss": 1 / step})
    columns = history.columns()
    assert MOST_STEPS / 2 <= len(columns["step"]) <= MOST_STEPS
    assert columns["step"][-1] == 3 * MOST_STEPS - 1
    assert max(np.diff(columns["step"])) < 3 * 3 * MOST_STEPS / (MOST_STEPS / 2)
    assert columns["loss"] == [1 / step for step in columns["step"]]


@pytest.mark.parametrize("damage", ["", "[1]", '{"a": {}}', '{"1": {"loss": "x"}}'])
def test_a_damaged_history_does_not_stop_a_run(graph, tmp_path, damage, caplog):
    config = small_config(steps=10, summary_every=10)
    train(graph, config, run_dir=tmp_path, progress=False)
    (tmp_path / HISTORY_FILE).write_text(damage)
    longer = train(graph, config.replace(steps=20), run_dir=tmp_path, progress=False)
    assert longer.history["step"] == [20]
    assert "cannot be read" in caplog.text


def test_plot_draws_the_history(trained):
    figure = trained.plot()
    (loss,) = figure.axes[0].get_lines()
    assert loss.get_xdata().tolist() == [10, 20, 30, 40]
    np.testing.assert_allclose(loss.get_ydata(), trained.history["loss"])
    assert figure._repr_png_().startswith(b"\x89PNG")


def test_plot_needs_a_step_and_matplotlib(graph, trained, monkeypatch):
    with pytest.raises(InputError, match="at least one step"):
        dataclasses.replace(trained, history={}).plot()
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(InputError, match=r'pip install "cade_tf\[plot\]"'):
        trained.plot()


def test_representations_are_short(graph, trained):
    assert len(repr(trained)) < 200
    assert repr(trained).startswith("Trained(CadeGB, steps=40, loss=")
    long = dataclasses.replace(graph, name="x" * 500)
    assert len(repr(long)) < 200
    many = small_config(run_dir="r" * 300, temperature=0.5, clip_norm=1.0, patience=7, seed=123)
    assert len(repr(many)) < 200
    assert repr(many).endswith(" more)")


def test_a_config_shows_what_differs_from_the_defaults():
    assert repr(cade_tf.Config()) == "Config()"
    assert repr(cade_tf.Config(k=3, model="cade_ma")) == "Config(model='cade_ma', k=3)"
    page = cade_tf.Config(k=3)._repr_html_()
    assert "<th>k</th><td>3</td>" in page
    assert "fanouts" not in page


@pytest.mark.parametrize("kind", ["graph", "trained"])
def test_notebooks_show_tables(kind, graph, trained):
    page = {"graph": graph, "trained": trained}[kind]._repr_html_()
    assert page.startswith("<table>")
    assert page.endswith("</table>")
    escaped = dataclasses.replace(graph, name="<b>")._repr_html_()
    assert "<b>" not in escaped
