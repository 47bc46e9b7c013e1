import json

import numpy as np
import pytest

from cade_tf.experiments import curve
from cade_tf.experiments.cells import load_graph
from cade_tf.experiments.curve import Curve
from cade_tf.presets.paper import options as paper_options

SMALL = {"k": 2, "dim": 8, "fanouts": (3, 2), "batch_size": 64, "walks_per_node": 1}


@pytest.fixture
def quick(monkeypatch):
    """A curve of a few steps."""
    monkeypatch.setattr(curve, "POINTS", (10, 20))
    monkeypatch.setattr(curve, "EVERY", 10)
    return Curve("digits", "cade_ma", SMALL)


def lines_of(one, folder):
    return [json.loads(line) for line in (folder / f"{one.name}.jsonl").read_text().splitlines()]


def test_points_are_written_with_flags_and_diagnoses(quick, tmp_path):
    curve.trace(quick, tmp_path / "curve", tmp_path / "cells")
    header, *points = lines_of(quick, tmp_path / "curve")
    assert header["flags"]["preset"] == "paper"
    assert header["flags"]["split_seed"] == 100
    assert [point["step"] for point in points[:2]] == [10, 20]
    assert points[-1]["last"]
    assert set(curve.DIAGNOSES) <= set(points[0])
    assert not list((tmp_path / "cells").iterdir())


def test_a_stopped_curve_goes_on_and_a_finished_one_is_left_alone(quick, tmp_path, monkeypatch):
    folder, cells = tmp_path / "curve", tmp_path / "cells"
    monkeypatch.setattr(curve, "load_graph", lambda *_: load_graph("digits", None))
    diagnosis = curve.diagnosis

    def interrupted(*given):
        if len(lines_of(quick, folder)) == 2:
            raise KeyboardInterrupt
        return diagnosis(*given)

    with monkeypatch.context() as patch:
        patch.setattr(curve, "diagnosis", interrupted)
        with pytest.raises(KeyboardInterrupt):
            curve.trace(quick, folder, cells)
    curve.trace(quick, folder, cells)
    before = lines_of(quick, folder)
    assert [line["step"] for line in before[1:3]] == [10, 20]
    monkeypatch.setattr(curve, "load_graph", lambda *_: pytest.fail("trained again"))
    curve.trace(quick, folder, cells)
    assert lines_of(quick, folder) == before


def test_a_curve_departs_from_the_preset_only_where_the_report_says_so():
    for one in curve.CURVES:
        config = one.config()
        usual = paper_options(one.model) | {"embed_walks": curve.WALKS} | dict(one.changes)
        assert {name: getattr(config, name) for name in usual} == usual


def test_a_constant_that_only_tells_roles_apart_is_diagnosed():
    rng = np.random.default_rng(0)
    content = rng.normal(size=(200, 2, 4))
    # Two aggregators add opposite constants, and the halves of A prefer one of them each.
    constants = 20.0 * np.array([[1.0, 0, 0, 0], [-1.0, 0, 0, 0]])
    halves = np.array([[0.1, 0, 0, 0], [-0.1, 0, 0, 0]])
    healthy = curve._roles(halves, content, 1.0)
    sick = curve._roles(halves, content + constants, 1.0)
    assert healthy["constant_share"] < 0.2
    assert sick["constant_share"] > 0.9
    assert abs(healthy["stranger_affinity"]) < 1.0
    assert sick["stranger_affinity"] < -300.0
    cooled = curve._roles(10 * halves, content + constants, 10.0)
    assert cooled["stranger_affinity"] == pytest.approx(sick["stranger_affinity"])


def test_the_budget_is_told_of_finished_curves_only():
    points = [{"step": s, "sgd": v} for s, v in ((1, 0.80), (2, 0.898), (3, 0.9))]
    assert curve.enough(points, "sgd") is None
    points[-1]["last"] = True
    assert curve.enough(points, "sgd") == 2


def test_the_report_says_that_nodes_are_for_validation_and_what_was_not_run(tmp_path):
    one = curve.CURVES[0]
    line = {"step": 250, "logreg": 0.8, "sgd": 0.7, "norm": 1.0, "mean_cosine": 0.0, "rank": 9.0}
    (tmp_path / f"{one.name}.jsonl").write_text(json.dumps(line) + "\n")
    text = curve.write(tmp_path).read_text()
    assert f"| {one.title} | 80.0 | stopped at 250 |  |" in text
    assert "| not run |" in text
    assert "Not run yet." in text
    assert "validation nodes" in text
    assert (tmp_path / "pubmed-logreg.png").is_file()
