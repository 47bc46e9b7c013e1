"""A trained encoder as a module that TensorFlow alone can run, for graphs kept elsewhere."""

from typing import Any

import tensorflow as tf

from cade_tf.inference import on_demand
from cade_tf.inference.encoder import Encoder
from cade_tf.inference.requests import Tensors, guarded, request_function, require
from cade_tf.inference.scaling import FeatureScaling
from cade_tf.inference.trees import encode_trees
from cade_tf.layers.bi_attention import DualPair


class EncoderModule(tf.Module):
    """The encoder without any graph: its size does not depend on one.

    Args:
        encoder: The trained encoder.

    Attributes:
        functions: tf.functions by the name of their signature: `encode_tree`, for models with a
            global bias `encode_tree_with_bias`, and `attend_pair`.

    Example:

    >>> from cade_tf.config import Config
    >>> from cade_tf.graph.graph import Graph
    >>> from cade_tf.training.trainer import train
    >>> graph = Graph.from_edges([[0, 1], [1, 2]], features=[[1.0], [2.0], [3.0]])
    >>> config = Config(model="graphsage", dim=4, fanouts=(2,), steps=1, batch_size=4)
    >>> module = EncoderModule(train(graph, config, progress=False).encoder)
    >>> module.functions["encode_tree"](tf.zeros([5, 1]), tf.zeros([5, 2, 1]))["embeddings"].shape
    TensorShape([5, 4])
    """

    def __init__(self, encoder: Encoder) -> None:
        super().__init__()
        self.encoder = encoder
        self.scaling = FeatureScaling(encoder.transform)
        # The Keras model itself stays untracked: who loads the module needs no Keras.
        self.weights = [weight.value for weight in self._kept_weights()]
        self.functions = {
            "attend_pair": self._attend_pair(),
            "encode_tree": self._encode_tree(with_bias=False),
        }
        if encoder.model.bias is not None:
            self.functions["encode_tree_with_bias"] = self._encode_tree(with_bias=True)

    def _kept_weights(self) -> list[Any]:
        bias = self.encoder.model.bias
        table = None if bias is None else bias.table
        return [weight for weight in self.encoder.model.variables if weight is not table]

    def _encode_tree(self, *, with_bias: bool) -> Any:
        model, width = self.encoder.model, self.encoder.transform.input_width
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
            given = guarded(
                given,
                [_require_same_trees(n, given, 1 if n in roots else len(trees)) for n in given],
            )
            rows = [_scaled(self.scaling, given[spec.name], spec.name) for spec in hops]
            own = [given[spec.name] for spec in biases] if with_bias else []
            if len(trees) == 1:
                rows[1:] = [tf.expand_dims(hop, 1) for hop in rows[1:]]
                own[1:] = [tf.expand_dims(bias, 1) for bias in own[1:]]
            candidates = encode_trees(model, rows, own or None)
            return {
                "candidates": tf.cast(candidates, tf.float32),
                "embeddings": on_demand.own_context(model, candidates),
            }

        return request_function(encode_tree, specs)

    def _attend_pair(self) -> Any:
        model = self.encoder.model
        k = None if model.samplings_by_k else model.parameter_sets
        specs = [_spec(name, [None, k, model.dim]) for name in ("nodes", "partners")]

        def attend_pair(given: Tensors) -> Tensors:
            shapes = tf.shape(given["nodes"]), tf.shape(given["partners"])
            check = require(
                shapes[0][0] == shapes[1][0],
                "partners: expected as many rows as nodes, received the shape",
                shapes[1],
            )
            given = guarded(given, [check])
            return pair_outputs(model.dual(given["nodes"], given["partners"]))

        return request_function(attend_pair, specs)


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
