"""Many trainings in one process, as in a notebook, and what TensorFlow says about them."""

import logging

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.retracing import traced_for_each_model
from cade_tf.training.trainer import train
from tests.training.small_run import small_config, small_graph

TRAININGS = 8


@pytest.fixture
def said():
    """Warnings of TensorFlow's logger, which does not hand them on.

    Its level is set here, because a command that ran in this process before leaves it higher.
    """
    records = []
    handler = logging.Handler()
    handler.emit = records.append
    logger = logging.getLogger("tensorflow")
    level = logger.level
    logger.setLevel(logging.WARNING)
    logger.addHandler(handler)
    yield records
    logger.removeHandler(handler)
    logger.setLevel(level)


def test_trainings_after_the_first_bring_no_warning_of_retracing(said):
    graph = small_graph()
    config = small_config(model="cade_ms", steps=5, embed_walks=1)
    for _ in range(TRAININGS):
        trained = train(graph, config, progress=False)
        trained.embed(graph, progress=False)
        trained.model.score_links(graph, np.array([[0, 1], [2, 3]]), draws=1)
    assert [record.getMessage() for record in said] == []


def make(decorate):
    @decorate
    @tf.function
    def one_of_many(value):
        return value + 1

    return one_of_many


def test_tensorflow_warns_of_functions_of_others_as_ever(said):
    for _ in range(TRAININGS):
        make(lambda function: function)(tf.constant(1))
    assert any("retracing" in record.getMessage() for record in said)
    said.clear()
    for _ in range(TRAININGS):
        make(traced_for_each_model)(tf.constant(1))
    assert not said
