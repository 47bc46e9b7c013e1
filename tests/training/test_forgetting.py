import gc

import numpy as np
import tensorflow as tf

from cade_tf.graph.datasets import load_dataset
from cade_tf.training.forgetting import forget_models
from cade_tf.training.trainer import train
from tests.training.small_run import small_config


def live_tensors() -> int:
    gc.collect()
    return sum(isinstance(thing, tf.__internal__.EagerTensor) for thing in gc.get_objects())


def test_a_model_that_nobody_holds_leaves_no_tensor_behind():
    graph = load_dataset("digits").subgraph(np.arange(200))
    forget_models()
    before = live_tensors()
    train(graph, small_config(model="cade_ms", steps=2), progress=False)
    kept = live_tensors()
    forget_models()
    assert live_tensors() == before < kept
