"""A report follows from its lines of JSON alone."""

import json

import pytest

from cade_tf.benchmark import report
from cade_tf.benchmark.measure import Measurement
from cade_tf.benchmark.suite import Results
from cade_tf.benchmark.targets import Target, targets
from cade_tf.errors import InputError

HEADER = {
    "machine": {
        "processor": "A processor",
        "cores": 2,
        "memory_gib": 23.5,
        "load_before": 0.1,
        "system": "Linux x86_64",
        "versions": {"tensorflow": "2.21.0"},
        "commit": "abc",
        "date": "2026-01-01",
    },
    "options": {
        "quick": False,
        "dataset": "pubmed",
        "graph": None,
        "k": 10,
        "dim": 256,
        "fanouts": [20, 10],
        "batch_size": 512,
        "negatives": 20,
        "densify_features": True,
    },
}
FOUND = [
    Measurement("train/graphsage/mean/step", "s", (0.02, 0.021, 0.019)),
    Measurement("train/graphsage/mean/products", "s", (0.01,)),
    Measurement("train/graphsage/mean/arithmetic_share", "x", (0.5,)),
    Measurement("train/cade_ms-k10/mean/step", "s", (0.06,)),
    Measurement("train/cade_ms-k10/mean/over_graphsage", "x", (3.0, 3.1, 3.2)),
    Measurement("train/cade_ms-k10/mean/peak_memory", "MiB", (1536.0,)),
    Measurement("embed/graphsage/sampled", "nodes/s", (65432.1,)),
]


@pytest.fixture
def text(tmp_path):
    report.write_lines(HEADER, Results(FOUND, {"growth cade_gb": "out of memory"}), tmp_path)
    return report.write_report(tmp_path).read_text()


def test_targets_are_met_missed_or_not_measured(text):
    assert (
        "| CADE-MS, K = 10, step / GraphSAGE step | at most 4.00 | 3.10 [3.05, 3.15] | met |"
        in text
    )
    assert "| arithmetic share of the GraphSAGE step | at least 0.60 | 0.50 | **missed** |" in text
    assert "| peak memory of CADE-MS, K = 10 | at most 2,048 MiB | 1,536 MiB | met |" in text
    assert "| GraphSAGE training, ours / peer | at least 2.00 | not measured |  |" in text
    assert "| at most 8,192 MiB | not measured |  |" in text


def test_tables_have_a_row_for_each_model_and_a_column_for_each_quantity(text):
    assert "| | step | products | arithmetic share | over graphsage | peak memory |" in text
    assert "| graphsage, mean | 20.0 ms [19.5, 20.5] | 10.0 ms | 0.50 |  |  |" in text
    assert "| graphsage | 65,432 nodes/s |" in text


def test_the_machine_the_sizes_and_failures_are_told(text):
    assert "A processor, 2 cores, 23.5 GiB" in text
    assert "batch 512, fan-outs 20,10, 256 dimensions, Q = 20, float32, dense features" in text
    assert "- growth cade_gb: out of memory" in text
    assert "quick run" not in text


def test_a_quick_run_is_marked_and_judged_by_no_target():
    header = {**HEADER, "options": {**HEADER["options"], "quick": True}}
    text = report.render(header, Results(FOUND, {}))
    assert "**A quick run" in text
    assert "met |" not in text
    assert "missed" not in text


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (0.0123, "s", "12.3 ms"),
        (0.25, "s", "250 ms"),
        (12.5, "s", "12.50 s"),
        (3.14159, "x", "3.14"),
        (65432.1, "nodes/s", "65,432 nodes/s"),
        (7.25, "steps/s", "7.2 steps/s"),
    ],
)
def test_numbers_are_shown_with_their_unit(value, unit, shown):
    assert report.format_value(value, unit) == shown


def test_the_plot_is_drawn(text, tmp_path):
    assert (tmp_path / "bench.png").read_bytes().startswith(b"\x89PNG")
    assert "(bench.png)" in text


def test_lines_are_json_and_give_the_results_back(tmp_path):
    results = Results(FOUND, {"peer": "gone"})
    report.write_lines(HEADER, results, tmp_path)
    lines = (tmp_path / "results.jsonl").read_text().splitlines()
    assert len([json.loads(line) for line in lines]) == 1 + len(FOUND) + 1
    assert report.read_lines(tmp_path) == (HEADER, results)


@pytest.mark.parametrize("content", [None, "no JSON", "{}\n{}"])
def test_a_damaged_file_is_named(content, tmp_path):
    if content is not None:
        (tmp_path / "results.jsonl").write_text(content)
    with pytest.raises(InputError, match=r"results\.jsonl: expected lines of JSON"):
        report.read_lines(tmp_path)


def test_a_bound_is_kept_on_its_own_side():
    speed, memory = Target("a", "a", 2.0, at_least=True), Target("b", "b", 2.0)
    assert speed.met(2.0)
    assert not speed.met(1.9)
    assert memory.met(2.0)
    assert not memory.met(2.1)
    assert speed.margin(4.0) == memory.margin(1.0) == 2.0


def test_targets_bound_different_measurements():
    names = [target.measurement for target in targets(10)]
    assert len(set(names)) == len(names)
