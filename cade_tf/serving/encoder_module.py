"""A trained encoder as a module that TensorFlow alone can run, for graphs kept elsewhere."""

from typing import Any

import tensorflow as tf

from cade_tf.inference import on_demand
from cade_tf.layers.bi_attention import DualPair
from cade_tf.layers.sagb import trees_of_hops
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.serving.feature_scaling import FeatureScaling
from cade_tf.serving.requests import (
    Tensors,
    guarded,
    request_function,
    require,
    require_moderate,
)


class EncoderModule(tf.Module):
    """The encoder without any graph: its size does not depend on one.

    Args:
        model: The trained model.

    Attributes:
        functions: tf.functions by the name of their signature: `encode_tree`, for models with a
            global bias `encode_tree_with_bias`, and `attend_pair`.

    Example:

    >>> from cade_tf.config import Config
    >>> from cade_tf.graph.graph import Graph
    >>> from cade_tf.training.trainer import train
    >>> graph = Graph.from_edges([[0, 1], [1, 2]], features=[[1.0], [2.0], [3.0]])
    >>> config = Config(model="graphsage", dim=4, fanouts=(2,), steps=1, batch_size=4)
    >>> module = EncoderModule(train(graph, config, progress=False).model)
    >>> module.functions["encode_tree"](tf.zeros([5, 1]), tf.zeros([5, 2, 1]))["embeddings"].shape
    TensorShape([5, 4])
    """

    def __init__(self, model: DualEncoder) -> None:
        super().__init__()
        # The Keras model itself stays untracked: who loads the module needs no Keras.
        self._model = _Untracked(model)
        self.scaling = FeatureScaling(model.prepared().transform)
        self.weights = [weight.value for weight in self._kept_weights()]
        self.functions = {
            "attend_pair": self._attend_pair(),
            "encode_tree": self._encode_tree(with_bias=False),
        }
        if model.bias is not None:
            self.functions["encode_tree_with_bias"] = self._encode_tree(with_bias=True)

    @property
    def model(self) -> DualEncoder:
        """The model."""
        return self._model.value

    def _kept_weights(self) -> list[Any]:
        bias = self.model.bias
        table = None if bias is None else bias.table
        return [weight for weight in self.model.variables if weight is not table]

    def _encode_tree(self, *, with_bias: bool) -> Any:
        model, width = self.model, self.model.prepared().transform.input_width
        # Trees of CADE-MS have one axis more: K samplings of each root's neighbourhood.
        trees = [None, None] if model.samplings_by_k else [None]
        shapes = [[None]] + [
            [*trees, *model.fanouts[:hop]] for hop in range(1, len(model.fanouts) + 1)
        ]
        hops = [_spec(f"hop_{n}", [*shape, width]) for n, shape in enumerate(shapes)]
        biases = [_spec(f"bias_{n}", [*shape, model.dim]) for n, shape in enumerate(shapes[:-1])]
        specs = hops + biases if with_bias else hops

        def encode_tree(given: Tensors) -> Tensors:
            roots = ("hop_0", "bias_0")
            checks = [_require_same_trees(n, given, 1 if n in roots else len(trees)) for n in given]
            checks += [require_moderate(spec.name, given[spec.name]) for spec in specs[len(hops) :]]
            given = guarded(given, checks)
            rows = [_scaled(self.scaling, given[spec.name], spec.name) for spec in hops]
            own = [given[spec.name] for spec in biases] if with_bias else []
            candidates = encode_hops(model, rows, own)
            return {
                "candidates": tf.cast(candidates, tf.float32),
                "embeddings": on_demand.own_context(model, candidates),
            }

        return request_function(encode_tree, specs)

    def _attend_pair(self) -> Any:
        model = self.model
        k = None if model.samplings_by_k else model.parameter_sets
        specs = [_spec(name, [None, k, model.dim]) for name in ("nodes", "partners")]

        def attend_pair(given: Tensors) -> Tensors:
            shapes = tf.shape(given["nodes"]), tf.shape(given["partners"])
            check = require(
                shapes[0][0] == shapes[1][0],
                "partners: expected as many rows as nodes, received the shape",
                shapes[1],
            )
            finite = [require_moderate(name, value) for name, value in given.items()]
            given = guarded(given, [check, *finite])
            return pair_outputs(model.dual(given["nodes"], given["partners"]))

        return request_function(attend_pair, specs)


class _Untracked:
    """Holds something that a tf.Module is not to find."""

    def __init__(self, value: DualEncoder) -> None:
        self.value = value


def encode_hops(model: DualEncoder, hops: list[tf.Tensor], biases: list[tf.Tensor]) -> tf.Tensor:
    """Algorithm 3 on neighbourhoods that somebody else sampled.

    Args:
        model: A trained model.
        hops: Scaled features by distance from the root: `[n, width]`, `[n, s_1, width]` and so on;
            for CADE-MS `[n, width]`, `[n, K, s_1, width]` and so on.
        biases: Global bias of all nodes but those of the last hop, with `dim` for `width`; none
            for nodes that training did not know.

    Returns:
        Candidates `[n, K or 1, dim]`.
    """
    count = tf.shape(hops[0])[0]
    if model.samplings_by_k:
        hops, biases = (_every_sampling(values, tf.shape(hops[1])[1]) for values in (hops, biases))
    trees = trees_of_hops(hops)
    bias = None
    if biases:
        bias = tf.concat([tf.reshape(rows, [-1, model.dim]) for rows in biases], 0)
        trees = trees._replace(bias_index=trees.self_index)
    return tf.reshape(model(trees, bias=bias), [count, -1, model.dim])


def _every_sampling(values: list[tf.Tensor], samplings: tf.Tensor) -> list[tf.Tensor]:
    """Each sampling as a root of its own, which has the features of the one root."""
    if not values:
        return values
    root, *others = values
    merged = [tf.reshape(rows, [-1, *rows.shape[2:]]) for rows in others]
    return [tf.repeat(root, samplings, axis=0), *merged]


def pair_outputs(pair: DualPair) -> Tensors:
    """What requests for pairs are answered with."""
    return {
        "node_embeddings": tf.cast(pair.nodes, tf.float32),
        "partner_embeddings": tf.cast(pair.partners, tf.float32),
        "attention": tf.cast(pair.attention, tf.float32),
    }


def _spec(name: str, shape: list[int | None]) -> tf.TensorSpec:
    return tf.TensorSpec(shape, tf.float32, name)


def _require_same_trees(name: str, given: Tensors, axes: int) -> Any:
    return require(
        tf.reduce_all(tf.shape(given[name])[:axes] == tf.shape(given["hop_1"])[:axes]),
        f"{name}: expected as many trees as hop_1, received the shape",
        tf.shape(given[name]),
    )


def _scaled(scaling: FeatureScaling, features: tf.Tensor, name: str) -> tf.Tensor:
    """Features of any rank, scaled along the last axis."""
    rows = scaling(tf.reshape(features, [-1, features.shape[-1]]), name)
    shape = tf.concat([tf.shape(features)[:-1], [rows.shape[-1]]], 0)
    return tf.ensure_shape(tf.reshape(rows, shape), [*features.shape[:-1], rows.shape[-1]])
