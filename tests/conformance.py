"""What every layer and model must do; the suite in tests/layers/test_conformance.py runs it."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

import keras
import numpy as np
import tensorflow as tf


@dataclasses.dataclass(frozen=True)
class Case:
    """A layer or model, and inputs for it.

    Attributes:
        make: Makes the layer; takes keyword arguments of every Keras layer.
        inputs: Positional arguments of a call.
        trains: Whether it has weights.
    """

    make: Callable[..., Any]
    inputs: Callable[[], tuple[Any, ...]]
    trains: bool = True


def flat(outputs: Any) -> list[tf.Tensor]:
    """Tensors of a structure of outputs, in order."""
    return tf.nest.flatten(outputs)


def assert_equal_outputs(one: Any, other: Any) -> None:
    """Outputs of two calls agree to rounding."""
    for mine, theirs in zip(flat(one), flat(other), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-5, atol=1e-6)


def built(case: Case, **kwargs: Any) -> Any:
    """A layer that was called once and has random weights."""
    layer = case.make(**kwargs)
    layer(*case.inputs())
    rng = np.random.default_rng(3)
    for weight in layer.weights:
        weight.assign(rng.normal(scale=0.3, size=weight.shape))
    return layer


def shapes_of(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Shapes of the inputs, in their structure; None stays None."""

    def shape(value: Any) -> Any:
        if value is None:
            return None
        if isinstance(value, tuple) and hasattr(value, "_fields"):
            return type(value)(*map(shape, value))
        return tuple(map(shape, value)) if isinstance(value, tuple | list) else tuple(value.shape)

    return tuple(map(shape, inputs))


def loss_of(outputs: Any) -> tf.Tensor:
    """Some scalar that depends on every output."""
    return tf.add_n([tf.reduce_sum(tf.square(tf.cast(o, tf.float32))) for o in flat(outputs)])


@keras.saving.register_keras_serializable("cade_tf_tests")
class Holder(keras.Model):
    """A model that holds one layer, to be saved with it."""

    def __init__(self, layer: Any, shapes: Any, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.layer = (
            keras.saving.deserialize_keras_object(layer) if isinstance(layer, dict) else layer
        )
        self.shapes = shapes

    def call(self, *inputs: Any) -> Any:
        return self.layer(*inputs)

    def build(self, *shapes: Any) -> None:
        if not self.layer.built:
            self.layer.build(*_tuples(self.shapes))
        self.built = True

    def get_config(self) -> dict[str, Any]:
        layer = keras.saving.serialize_keras_object(self.layer)
        return {**super().get_config(), "layer": layer, "shapes": self.shapes}

    def get_build_config(self) -> dict[str, Any]:
        return {"shapes": self.shapes}

    def build_from_config(self, config: dict[str, Any]) -> None:
        self.build()


def _tuples(value: Any) -> Any:
    """Lists, as JSON gives them back, as tuples."""
    return tuple(map(_tuples, value)) if isinstance(value, list | tuple) else value


def through_keras_file(layer: Any, inputs: tuple[Any, ...], path: Path) -> Any:
    """The layer after it was saved as .keras and loaded."""
    model = layer
    if not isinstance(layer, keras.Model):
        model = Holder(layer, shapes_of(inputs))
        model.build()
    model.save(path)
    loaded = keras.saving.load_model(path)
    return loaded if isinstance(layer, keras.Model) else loaded.layer


class Exported(tf.Module):
    """A layer and one function that calls it, for a SavedModel."""

    def __init__(self, layer: Any, inputs: tuple[Any, ...]) -> None:
        super().__init__()
        self.layer = layer
        self.structure = inputs
        # Integers and floats alike enter as tensors; None is part of the structure.
        signature = [tf.TensorSpec(t.shape, t.dtype) for t in map(tf.constant, flat_inputs(inputs))]
        self.apply = tf.function(self._apply, input_signature=[signature])

    def _apply(self, tensors: list[tf.Tensor]) -> list[tf.Tensor]:
        return flat(self.layer(*tf.nest.pack_sequence_as(self.structure, tensors)))


def flat_inputs(inputs: tuple[Any, ...]) -> list[Any]:
    """Tensors of the inputs, in order."""
    return tf.nest.flatten(inputs)


def through_saved_model(layer: Any, inputs: tuple[Any, ...], path: Path) -> list[tf.Tensor]:
    """Outputs of the layer after it was exported as a SavedModel and loaded."""
    tf.saved_model.save(Exported(layer, inputs), str(path))
    loaded = tf.saved_model.load(str(path))
    return loaded.apply([tf.constant(t) for t in flat_inputs(inputs)])
