"""An encoder together with a graph, whose nodes requests name by their ids.

Everything as large as the graph is a variable, so that a saved module keeps it apart from its
graph of operations. Every mistake in a request is an error that names the input.
"""

from typing import Any

import numpy as np
import tensorflow as tf

from cade_tf.config import EmbeddingOptions
from cade_tf.graph.graph import Graph
from cade_tf.graph.structure import before_last_step
from cade_tf.inference import on_demand
from cade_tf.models.dual_encoder import DualEncoder, unit
from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.sampling.tables import SparseTable, TensorTable
from cade_tf.serving.encoder_module import EncoderModule, pair_outputs
from cade_tf.serving.known_ids import KnownIds
from cade_tf.serving.new_nodes import with_new_nodes
from cade_tf.serving.requests import (
    Tensors,
    check_row_splits,
    check_weights,
    guarded,
    request_function,
    require,
)


class GraphModule(EncoderModule):
    """What `EncoderModule` offers and, with a graph, embeddings of known and of new nodes.

    Args:
        model: The trained model.
        graph: The graph whose nodes requests may name.
        walks: Walks that make the contexts of a node.
        seed: Seed of requests that bring none.

    Attributes:
        functions: As in `EncoderModule`, and `serving_default`, `embed_new`, `embed_pair`.

    Example:

    >>> from cade_tf.config import Config
    >>> from cade_tf.training.trainer import train
    >>> graph = Graph.from_edges([[0, 1], [1, 2]], features=[[1.0], [2.0], [3.0]])
    >>> config = Config(model="graphsage", dim=4, fanouts=(2,), steps=1, batch_size=4)
    >>> module = GraphModule(train(graph, config, progress=False).model, graph)
    >>> embed = module.functions["serving_default"]
    >>> embed(tf.constant([2, 0], tf.int64))["embeddings"].shape
    TensorShape([2, 4])
    """

    def __init__(
        self,
        model: DualEncoder,
        graph: Graph,
        *,
        walks: int = EmbeddingOptions.embed_walks,
        seed: int = 0,
    ) -> None:
        super().__init__(model)
        self.walks = walks
        self.default_seed = seed
        self.graph = model.tables(graph, _variable_table)
        self.graph_variables = _variables(self.graph)
        self.walk_ends: tf.Variable | None = None
        if model.prepared().structural:
            self.walk_ends = tf.Variable(before_last_step(graph), trainable=False)
        self.ids = KnownIds(graph.ids)
        self.functions.update(
            serving_default=self._embed_known(),
            embed_new=self._embed_new(),
            embed_pair=self._embed_pair(),
        )

    def _kept_weights(self) -> list[Any]:
        return list(self.model.variables)

    def _ids(self, name: str) -> tf.TensorSpec:
        return tf.TensorSpec([None], self.ids.dtype, name)

    def _embed_known(self) -> Any:
        def serving_default(given: Tensors) -> Tensors:
            nodes = self.ids.positions("node_ids", given["node_ids"])
            return self._embed(self.graph, nodes, given["seed"])

        return request_function(serving_default, [self._ids("node_ids")], self.default_seed)

    def _embed_pair(self) -> Any:
        def embed_pair(given: Tensors) -> Tensors:
            check = require(
                tf.size(given["node_ids"]) == tf.size(given["partner_ids"]),
                "partner_ids: expected as many ids as node_ids, received",
                tf.size(given["partner_ids"]),
            )
            given = guarded(given, [check])
            nodes, partners = (
                self.ids.positions(name, given[name]) for name in ("node_ids", "partner_ids")
            )
            pair = on_demand.embed_pairs(self.model, self.graph, nodes, partners, given["seed"])
            return pair_outputs(pair)

        specs = [self._ids("node_ids"), self._ids("partner_ids")]
        return request_function(embed_pair, specs, self.default_seed)

    def _embed_new(self) -> Any:
        specs = [
            tf.TensorSpec([None], tf.int64, "neighbor_row_splits"),
            self._ids("neighbor_ids"),
        ]
        if not self.model.prepared().structural:
            width = self.model.prepared().transform.input_width
            specs.insert(0, tf.TensorSpec([None, width], tf.float32, "features"))
        if self.graph.edge_chances is not None:
            specs.append(tf.TensorSpec([None], tf.float32, "neighbor_weights"))

        def embed_new(given: Tensors) -> Tensors:
            given = guarded(given, _check_new_nodes(given))
            tables = self._with_new_nodes(given)
            count = tf.size(given["neighbor_row_splits"], tf.int64) - 1
            nodes = self.graph.num_nodes + tf.range(count)
            return self._embed(tables, nodes, given["seed"])

        return request_function(embed_new, specs, self.default_seed)

    def _with_new_nodes(self, given: Tensors) -> GraphTables:
        """The graph with the nodes of a request."""
        splits, neighbors = given["neighbor_row_splits"], given["neighbor_ids"]
        features, weights = given.get("features"), given.get("neighbor_weights")
        positions = self.ids.positions("neighbor_ids", neighbors)
        if features is None:
            features = self._structural_features(splits, positions, weights)
        return with_new_nodes(self.graph, self.scaling(features), splits, positions, weights)

    def _structural_features(
        self, splits: tf.Tensor, neighbors: tf.Tensor, weights: tf.Tensor | None
    ) -> tf.Tensor:
        """`structural_features` of new nodes; the others' positions stay what they were."""
        ends = tf.gather(self.walk_ends, neighbors)
        if weights is not None:
            ends *= weights[:, None, None]
        degrees = splits[1:] - splits[:-1]
        owners = tf.repeat(tf.range(tf.size(degrees)), degrees)
        # Unit vectors below: sums over neighbours do as well as means.
        summed = tf.math.unsorted_segment_sum(ends, owners, tf.size(degrees))
        position = tf.reduce_sum(unit(summed), axis=1)
        degrees = tf.math.log1p(tf.cast(degrees, tf.float32))
        return tf.concat([degrees[:, None], position], axis=1)

    def _embed(self, tables: GraphTables, nodes: tf.Tensor, seed: tf.Tensor) -> Tensors:
        vectors = on_demand.embed_nodes(
            self.model,
            tables,
            nodes,
            seed,
            walks=self.walks,
            walk_length=self.model.walk_length,
        )
        return {"embeddings": vectors}


def _check_new_nodes(given: Tensors) -> list[Any]:
    splits, neighbors = given["neighbor_row_splits"], given["neighbor_ids"]
    features, weights = given.get("features"), given.get("neighbor_weights")
    rows = None if features is None else tf.shape(features)[0]
    checks = check_row_splits(splits, neighbors, rows)
    return checks if weights is None else checks + check_weights(weights, neighbors)


def _variable_table(values: np.ndarray) -> TensorTable:
    return TensorTable(tf.Variable(values, trainable=False))


def _variables(graph: GraphTables) -> list[tf.Variable]:
    """The variables that embedding reads; walks of training and negatives are not among them."""
    tables: list[Any] = [graph.spans, graph.neighbors, graph.edge_chances, graph.bias_rows]
    if isinstance(graph.features, SparseTable):
        tables += [graph.features.spans, graph.features.columns, graph.features.entries]
    else:
        tables.append(graph.features)
    return [table.values for table in tables if isinstance(table, TensorTable)]
