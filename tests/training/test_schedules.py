import math

import pytest

from cade_tf.config import TrainingOptions
from cade_tf.training.trainer import learning_rate, total_steps


def rates(last, **options):
    rate = learning_rate(TrainingOptions(learning_rate=0.5, **options), last)
    return [float(rate(step)) if callable(rate) else rate for step in range(last + 1)]


def test_a_constant_rate_is_constant():
    assert rates(5) == [0.5] * 6


def test_a_warm_up_rises_linearly_and_its_first_step_already_moves():
    expected = [0.125, 0.21875, 0.3125, 0.40625, 0.5, 0.5, 0.5]
    assert rates(6, warmup_steps=4) == pytest.approx(expected)


def test_a_cosine_starts_at_the_rate_and_falls_to_zero_at_the_last_step():
    expected = [0.25 * (1 + math.cos(math.pi * step / 10)) for step in range(11)]
    assert rates(10, schedule="cosine") == pytest.approx(expected, rel=1e-5, abs=1e-7)


def test_a_cosine_begins_after_its_warm_up():
    found = rates(12, schedule="cosine", warmup_steps=2)
    assert found[:3] == pytest.approx([0.25, 0.375, 0.5])
    assert found[7] == pytest.approx(0.25, rel=1e-5)


def test_epochs_count_whole_passes_and_take_the_place_of_steps():
    options = TrainingOptions(steps=7, batch_size=30)
    assert total_steps(options, 100) == 7
    assert total_steps(TrainingOptions(epochs=2, batch_size=30), 100) == 7
    assert total_steps(TrainingOptions(epochs=3, batch_size=100), 100) == 3
