"""Medians, spreads, turns and the memory of a process."""

import subprocess
import sys
from pathlib import Path

import pytest

from cade_tf.benchmark import measure
from cade_tf.benchmark.measure import Measurement


def test_a_measurement_gives_median_and_quartiles():
    one = Measurement("a/b/c", "s", (5.0, 1.0, 2.0, 4.0, 3.0))
    assert one.median == 3.0
    assert one.spread == (2.0, 4.0)


def test_an_outlier_moves_neither_median_nor_quartiles():
    calm = Measurement("a", "s", (1.0, 2.0, 3.0, 4.0, 5.0))
    disturbed = Measurement("a", "s", (1.0, 2.0, 3.0, 4.0, 500.0))
    assert calm.median == disturbed.median
    assert calm.spread == disturbed.spread


def test_a_record_gives_the_measurement_back():
    one = Measurement("a/b/c", "nodes/s", (2.0, 1.0))
    assert Measurement.from_record(one.record()) == one


def test_values_of_equal_names_are_joined_in_order_of_appearance():
    parts = [
        Measurement("a", "s", (1.0,)),
        Measurement("b", "s", (9.0,)),
        Measurement("a", "s", (2.0, 3.0)),
    ]
    assert measure.joined(parts) == [
        Measurement("a", "s", (1.0, 2.0, 3.0)),
        Measurement("b", "s", (9.0,)),
    ]


def test_works_are_called_in_turn_and_timed_apart(monkeypatch):
    clock = iter(range(100))
    monkeypatch.setattr(measure.time, "perf_counter", lambda: next(clock) ** 2)
    called = []
    works = {"a": lambda: called.append("a"), "b": lambda: called.append("b")}
    seconds = measure.in_turn(works, repeats=2)
    assert called == ["a", "b", "a", "b"]
    assert seconds == {"a": [1, 9], "b": [5, 13]}


def test_ratios_are_taken_round_by_round():
    assert measure.ratios([2.0, 30.0], [1.0, 10.0]) == (2.0, 3.0)
    with pytest.raises(ValueError, match="zip"):
        measure.ratios([1.0], [1.0, 2.0])


@pytest.mark.parametrize(("seconds", "steps"), [(10.0, 1), (0.3, 3), (1e-6, 10), (0.0, 10)])
def test_short_steps_are_timed_together(seconds, steps):
    assert measure.steps_per_repeat(seconds) == steps


def test_peak_memory_rises_with_what_is_held_and_is_not_that_of_a_parent():
    ask = "import measure; print(measure.peak_memory())"
    code = f"""
import subprocess, sys, measure
before = measure.peak_memory()
held = bytearray(b"x") * (200 << 20)
child = subprocess.run([sys.executable, "-c", {ask!r}], capture_output=True, check=True).stdout
print(before, measure.peak_memory(), float(child))
"""
    # The file by itself: what the rest of the package holds would only blur the numbers.
    printed = subprocess.run(
        [sys.executable, "-c", code],
        cwd=Path(measure.__file__).parent,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    before, held, child = map(float, printed.split())
    assert before + 150 < held < before + 250
    assert child < before + 50
