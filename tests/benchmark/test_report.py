"""A report says what was measured, on what, and which targets are met."""

import json

import pytest

from cade_tf.benchmark import report
from cade_tf.benchmark.measure import Measurement
from cade_tf.benchmark.report import Target
from cade_tf.benchmark.suite import Results

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
        "precision": "float32",
        "device": "auto",
    },
}
FOUND = [
    Measurement("train/graphsage/pool/step", "s", (0.02, 0.021, 0.019)),
    Measurement("train/graphsage/pool/products", "s", (0.01,)),
    Measurement("train/graphsage/pool/arithmetic_share", "x", (0.5,)),
    Measurement("train/cade_ms-k10/pool/step", "s", (0.4, 0.5, 0.6)),
    Measurement("train/cade_ma-k10/lstm/peak_memory", "MiB", (1536.0,)),
    Measurement("embed/graphsage/sampled", "nodes/s", (65432.1,)),
    Measurement("end_to_end/pubmed/graphsage/steps", "steps", (150.0,)),
]


@pytest.fixture
def text(tmp_path):
    results = Results(FOUND, {"growth cade_gb": "out of memory"})
    return report.write(HEADER, results, tmp_path).read_text()


def test_targets_are_met_or_missed_where_they_were_measured(text):
    assert "| step, CADE-MS, pool | at most 560 ms | 500 ms [450, 550] | met |" in text
    assert "| arithmetic share, GraphSAGE, pool | at least 0.75 | 0.50 | **missed** |" in text
    assert "| peak memory, CADE-MA, LSTM | at most 3,072 MiB | 1,536 MiB | met |" in text
    assert "ours / peer" not in text


def test_tables_have_a_row_for_each_model_and_a_column_for_each_quantity(text):
    assert "| | step | products | arithmetic share | peak memory |" in text
    assert "| graphsage, pool | 20.0 ms [19.5, 20.5] | 10.0 ms | 0.50 |  |" in text
    assert "| graphsage | 65,432 nodes/s |" in text
    assert "| pubmed, graphsage | 150 |" in text


def test_the_machine_the_sizes_and_failures_are_told(text):
    assert "A processor, 2 cores, 23.5 GiB" in text
    assert "batch 512, fan-outs 20,10, 256 dimensions, K = 10, Q = 20, float32" in text
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


def test_every_value_is_a_line_of_json(text, tmp_path):
    header, *records = map(json.loads, (tmp_path / "results.jsonl").read_text().splitlines())
    assert header == HEADER
    assert [Measurement.from_record(record) for record in records[:-1]] == FOUND
    assert records[-1] == {"failed": "growth cade_gb", "reason": "out of memory"}


def test_a_bound_is_kept_on_its_own_side():
    speed, memory = Target("a", "a", 2.0, at_least=True), Target("b", "b", 2.0)
    assert (speed.met(2.0), speed.met(1.9)) == (True, False)
    assert (memory.met(2.0), memory.met(2.1)) == (True, False)


def test_the_machine_is_described():
    machine = report.describe_machine()
    assert machine.keys() == HEADER["machine"].keys()
    assert machine["cores"] >= 1
