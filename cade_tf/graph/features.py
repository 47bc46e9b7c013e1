"""Scaling and reduction of features, fit on training nodes and kept with the model."""

import dataclasses
import itertools
from collections.abc import Iterable, Mapping
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from cade_tf.config import FeatureOptions
from cade_tf.errors import InputError
from cade_tf.graph.graph import Features, Graph
from cade_tf.graph.structure import structural_features

LOGARITHMIC = ("log", "log_tfidf")
"""Scalings that take logarithms of counts first."""

UNIT_ROWS = ("row", "standard_row", "tfidf", "log_tfidf")
"""Scalings that end with unit length of each node's vector."""

LARGEST = 1e12
"""Scaled features beyond it would overflow in an encoder, whose lengths need their squares."""


def node_features(graph: Graph) -> Features:
    """The features of a graph; structural ones where it has none.

    Returns:
        `graph.features`, or degree and position of each node (`structural_features`).
    """
    if graph.features is not None and graph.num_features:
        return graph.features
    return structural_features(graph)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class FeatureTransform:
    """What is done to the features of every node, also of nodes that come later.

    Make one with `fit`. Sparse features stay sparse: they are divided by the standard deviation
    but not centred, unless `densify` is set or an SVD follows.

    Args:
        scaling: One of the choices of `feature_scaling`.
        input_width: Number of features it takes.
        densify: Whether sparse features become dense.
        mean: Subtracted from each column of dense features.
        scale: Each column is divided by it.
        weights: Each column is multiplied by it before rows get unit length (tfidf, log_tfidf).
        components: [input_width, output_width], the directions of the SVD.

    Example:

    >>> features = np.array([[1.0, 5.0], [3.0, 5.0]])
    >>> transform = FeatureTransform.fit(features, FeatureOptions(feature_scaling="standard"))
    >>> transform.apply(np.array([[5.0, 6.0]])).tolist()
    [[3.0, 1.0]]
    """

    scaling: str
    input_width: int
    densify: bool = False
    mean: np.ndarray | None = None
    scale: np.ndarray | None = None
    weights: np.ndarray | None = None
    components: np.ndarray | None = None

    @classmethod
    def fit(cls, features: Features, options: FeatureOptions, seed: int = 0) -> Self:
        """Learns the transform from the features of training nodes.

        Args:
            features: Features of the training nodes only, dense or CSR.
            options: What to do.
            seed: Seed of the randomised SVD.

        Returns:
            The transform.

        Raises:
            InputError: No nodes, negative values for log, or an SVD wider than the features.
        """
        return cls.fit_parts([features], options, seed)

    @classmethod
    def fit_parts(cls, parts: Iterable[Features], options: FeatureOptions, seed: int = 0) -> Self:
        """As `fit`, for features that come in parts and are never held all at once.

        Raises:
            InputError: As for `fit`; or an SVD is asked for, which needs all features at once.
        """
        given = (part for part in parts if part.shape[0])
        first = next(given, None)
        if first is None:
            raise InputError("features", "at least one training node", "none", "Train on some.")
        transform = cls(
            scaling=options.feature_scaling,
            input_width=first.shape[1],
            densify=options.densify_features,
        )
        prepared: Iterable[Features] = map(transform._prepared, itertools.chain([first], given))
        if options.feature_svd:
            prepared = list(prepared)
            if len(prepared) > 1:
                raise InputError(
                    "feature_svd", "0 for features in parts", options.feature_svd, "Leave it out."
                )
        if options.feature_scaling in ("standard", "log", "standard_row"):
            transform = dataclasses.replace(transform, **_standard(prepared))
        elif options.feature_scaling in ("tfidf", "log_tfidf"):
            transform = dataclasses.replace(transform, weights=_inverse_frequency(prepared))
        if options.feature_svd:
            (features,) = prepared
            components = _directions(transform._scaled(features), options.feature_svd, seed)
            transform = dataclasses.replace(transform, components=components)
        return transform

    @property
    def output_width(self) -> int:
        """Number of features it gives."""
        return self.input_width if self.components is None else self.components.shape[1]

    def apply(self, features: Features, ids: np.ndarray | None = None) -> Features:
        """Transforms features of any nodes.

        Args:
            features: [nodes, input_width], dense or CSR.
            ids: Ids of the nodes, for errors.

        Returns:
            float32 [nodes, output_width]; CSR where the features were and stay sparse.

        Raises:
            InputError: Another width than the transform was fit on, or a number that is not finite
                or beyond `LARGEST` after scaling.
        """
        if features.ndim != 2 or features.shape[1] != self.input_width:
            raise InputError(
                "features",
                f"shape [nodes, {self.input_width}], as in training",
                f"shape {tuple(features.shape)}",
                "Give the features the model was trained on.",
            )
        # What overflows is an error that says where, below.
        with np.errstate(over="ignore", invalid="ignore"):
            scaled = self._scaled(self._prepared(features))
            if self.components is not None:
                scaled = np.asarray(scaled @ self.components)
        _require_moderate(scaled, features, ids)
        return scaled

    def _prepared(self, features: Features) -> Features:
        """float32, dense where wanted, and logarithms of counts."""
        if sp.issparse(features):
            features = sp.csr_array(features, dtype=np.float32)
            if self.densify:
                features = features.toarray()
        else:
            features = np.asarray(features, np.float32)
        if self.scaling in LOGARITHMIC:
            values = features if isinstance(features, np.ndarray) else features.data
            if values.size and values.min() < 0:
                raise InputError(
                    "features", "counts of at least 0 for log", values.min(), "Use standard."
                )
            features = np.log1p(features)
        return features

    def _scaled(self, features: Features) -> Features:
        if self.mean is not None and not sp.issparse(features):
            features = features - self.mean
        for factor in (None if self.scale is None else 1 / self.scale, self.weights):
            if factor is not None:
                features = _times_columns(features, factor.astype(np.float32))
        return _unit_rows(features) if self.scaling in UNIT_ROWS else features

    def to_arrays(self) -> dict[str, np.ndarray]:
        """The transform as plain arrays, to be stored with a model."""
        values = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        return {name: np.asarray(value) for name, value in values.items() if value is not None}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> Self:
        """Makes a transform of what `to_arrays` gave.

        Raises:
            InputError: Arrays are missing, unknown, not finite, or do not fit each other.
        """
        names = {field.name for field in dataclasses.fields(cls)}
        if not {"scaling", "input_width", "densify"} <= set(arrays) <= names:
            raise InputError(
                "arrays", f"those of a FeatureTransform {sorted(names)}", sorted(arrays), "Retrain."
            )
        plain: dict[str, Any] = {"scaling": str, "input_width": int, "densify": bool}
        fields: dict[str, Any] = {
            name: plain.get(name, np.asarray)(value) for name, value in arrays.items()
        }
        found = cls(**fields)
        found._check_arrays()
        return found

    def _check_arrays(self) -> None:
        for name in ("mean", "scale", "weights", "components"):
            array = getattr(self, name)
            if array is None:
                continue
            fits = array.shape[:1] == (self.input_width,)
            fits &= array.ndim == (2 if name == "components" else 1) and array.dtype.kind == "f"
            if not fits or not np.isfinite(array).all():
                raise InputError(
                    f"transform.{name}",
                    f"finite numbers for {self.input_width} features",
                    f"{array.dtype} of shape {array.shape}",
                    "Restore the file.",
                )
        if self.scale is not None and not (self.scale > 0).all():
            raise InputError(
                "transform.scale", "numbers above 0", self.scale.min(), "Restore the file."
            )
        if self.scaling in ("standard", "log", "standard_row") and self.scale is None:
            raise InputError("transform.scale", "an array", "none", "Restore the file.")


def _standard(parts: Iterable[Features]) -> dict[str, Any]:
    from sklearn.preprocessing import StandardScaler

    scaler: Any = None
    for features in parts:
        scaler = scaler or StandardScaler(with_mean=isinstance(features, np.ndarray))
        scaler.partial_fit(features)
    scale = scaler.scale_.astype(np.float32)
    # One over less is beyond float32: such a feature counts as constant.
    fitted = {"scale": np.where(scale < np.finfo(np.float32).tiny, np.float32(1), scale)}
    if scaler.with_mean:
        fitted["mean"] = scaler.mean_.astype(np.float32)
    return fitted


def _inverse_frequency(parts: Iterable[Features]) -> np.ndarray:
    """log((1 + nodes) / (1 + nodes with the feature)) + 1, as scikit-learn smooths it."""
    nodes = 0
    present: Any = 0
    for features in parts:
        nodes += features.shape[0]
        if isinstance(features, np.ndarray):
            present += np.count_nonzero(features, axis=0)
        else:
            columns = features.indices[features.data != 0]
            present += np.bincount(columns, minlength=features.shape[1])
    return (np.log((1 + nodes) / (1 + present)) + 1).astype(np.float32)


def _directions(features: Features, width: int, seed: int) -> np.ndarray:
    from sklearn.utils.extmath import randomized_svd

    if width > min(features.shape):
        raise InputError(
            "feature_svd",
            f"at most {min(features.shape)} (training nodes x features: {features.shape})",
            width,
            "Lower it, or 0 for none.",
        )
    _, _, directions = randomized_svd(features, n_components=width, random_state=seed)
    return np.ascontiguousarray(directions.T, np.float32)


def _times_columns(features: Features, factor: np.ndarray) -> Features:
    if isinstance(features, np.ndarray):
        return features * factor
    data = features.data * factor[features.indices]
    return sp.csr_array((data, features.indices, features.indptr), shape=features.shape)


def _require_moderate(scaled: Features, given: Features, ids: np.ndarray | None) -> None:
    """Refuses features that overflowed, or would in an encoder, and names their node."""
    values = scaled if isinstance(scaled, np.ndarray) else scaled.data
    # A comparison with NaN is false.
    if not values.size or max(values.max(), -values.min()) <= LARGEST:
        return
    matrix: Any = scaled if isinstance(scaled, np.ndarray) else abs(scaled).max(axis=1).toarray()
    row = int(np.argmin((np.abs(matrix.reshape(scaled.shape[0], -1)) <= LARGEST).all(axis=1)))
    largest = abs(given[[row]]).max()
    raise InputError(
        "features",
        f"finite numbers of at most {LARGEST:g} after scaling",
        f"{largest:g} at " + (f"row {row}" if ids is None else f"node {ids[row]}"),
        "Correct it, or scale the features otherwise.",
    )


def _unit_rows(features: Features) -> Features:
    if isinstance(features, np.ndarray):
        norms = np.linalg.norm(features, axis=1, keepdims=True)
        return features / _divisors(norms)
    norms = np.sqrt(np.asarray(features.multiply(features).sum(axis=1), np.float32)).ravel()
    factor = np.repeat(1 / _divisors(norms), np.diff(features.indptr))
    data = (features.data * factor).astype(np.float32)
    return sp.csr_array((data, features.indices, features.indptr), shape=features.shape)


def _divisors(lengths: np.ndarray) -> np.ndarray:
    """Zero rows stay zero; rows too long for float32 become NaN, not zero."""
    return np.where(np.isinf(lengths), np.nan, np.where(lengths == 0, 1, lengths))
