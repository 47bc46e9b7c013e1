"""The feature transform of training as TensorFlow operations, for features inside a request."""

import numpy as np
import tensorflow as tf

from cade_tf.graph.features import LOGARITHMIC, UNIT_ROWS, FeatureTransform
from cade_tf.serving.requests import guarded, require, require_moderate


class FeatureScaling(tf.Module):
    """What `FeatureTransform.apply` does to dense features, with its arrays as variables.

    Args:
        transform: The transform of training.

    Example:

    >>> transform = FeatureTransform(scaling="standard", input_width=1, mean=np.array([1.0]))
    >>> FeatureScaling(transform)(tf.constant([[3.0]])).numpy().tolist()
    [[2.0]]
    """

    def __init__(self, transform: FeatureTransform) -> None:
        super().__init__()
        self.scaling = transform.scaling
        self.mean = _variable(transform.mean)
        self.factor = _variable(None if transform.scale is None else 1 / transform.scale)
        self.weights = _variable(transform.weights)
        self.components = _variable(transform.components)

    def __call__(self, features: tf.Tensor, name: str = "features") -> tf.Tensor:
        """Scales rows `[n, input width]`; errors call the rows `name`."""
        scaled = self._scaled(features, name)
        return guarded({name: scaled}, [require_moderate(f"{name}, scaled", scaled)])[name]

    def _scaled(self, features: tf.Tensor, name: str) -> tf.Tensor:
        finite = tf.reduce_all(tf.math.is_finite(features))
        checks = [require(finite, f"{name}: expected finite numbers, received NaN or infinity.")]
        if self.scaling in LOGARITHMIC:
            counts = tf.reduce_all(features >= 0)
            checks.append(require(counts, f"{name}: expected counts of at least 0."))
        features = guarded({name: features}, checks)[name]
        if self.scaling in LOGARITHMIC:
            features = tf.math.log1p(features)
        if self.mean is not None:
            features -= self.mean
        for factor in (self.factor, self.weights):
            if factor is not None:
                features *= factor
        if self.scaling in UNIT_ROWS:
            length = tf.norm(features, axis=1, keepdims=True)
            # Rows too long for float32 become NaN, which is refused, not zero.
            features /= tf.where(length == 0, 1.0, tf.where(length < np.inf, length, np.nan))
        return features if self.components is None else tf.matmul(features, self.components)


def _variable(values: np.ndarray | None) -> tf.Variable | None:
    if values is None:
        return None
    return tf.Variable(np.asarray(values, np.float32), trainable=False)
