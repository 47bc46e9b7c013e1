"""For processes that train many models one after the other: lets go of those before."""

import gc

import keras
from tensorflow.python.framework import ops


def forget_models() -> None:
    """Frees what Keras and TensorFlow keep of models that nobody holds any more.

    TensorFlow enters every custom gradient that it traces in a register, and never takes it out:
    with it stay the traced graph and the tables that this read. Models that are still held can be
    used as before, but not be differentiated or exported through functions traced before.
    """
    keras.utils.clear_session()
    register = ops.gradient_registry._registry
    for name in [name for name in register if name.startswith("CustomGradient-")]:
        del register[name]
    gc.collect()
