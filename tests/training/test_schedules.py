import math

import pytest
import tensorflow as tf

from cade_tf.config import TrainingOptions
from cade_tf.training.schedules import learning_rate, total_steps


def rates(last, **options):
    made = TrainingOptions(learning_rate=0.5, **options)
    return [float(learning_rate(made, tf.constant(step), last)) for step in range(last)]


def test_a_constant_rate_is_constant():
    assert rates(5) == [0.5] * 5


def test_a_warm_up_rises_linearly_and_its_first_step_already_moves():
    assert rates(6, warmup_steps=4) == pytest.approx([0.125, 0.25, 0.375, 0.5, 0.5, 0.5])


def test_a_cosine_starts_at_the_rate_and_falls_to_zero_at_the_last_step():
    expected = [0.25 * (1 + math.cos(math.pi * step / 10)) for step in range(10)]
    assert rates(10, schedule="cosine") == pytest.approx(expected, rel=1e-5)
    options = TrainingOptions(learning_rate=0.5, schedule="cosine")
    assert float(learning_rate(options, tf.constant(10), 10)) == pytest.approx(0.0, abs=1e-7)
    assert float(learning_rate(options, tf.constant(99), 10)) == pytest.approx(0.0, abs=1e-7)


def test_a_cosine_begins_behind_its_warm_up():
    found = rates(12, schedule="cosine", warmup_steps=2)
    assert found[:3] == pytest.approx([0.25, 0.5, 0.5])
    assert found[7] == pytest.approx(0.25, rel=1e-5)


def test_epochs_count_whole_passes_and_take_the_place_of_steps():
    options = TrainingOptions(steps=7, batch_size=30)
    assert total_steps(options, 100) == 7
    assert total_steps(TrainingOptions(epochs=2, batch_size=30), 100) == 7
    assert total_steps(TrainingOptions(epochs=3, batch_size=100), 100) == 3
