"""Candidates of all nodes from one set of draws, each hidden vector computed once.

Within a pass of Algorithm 1 a node's draw is a function of the pass, the sampling and the level.
So instead of growing a tree from every root, each level is computed for all nodes at once, layer
by layer: the same numbers, without encoding a node anew for each batch that meets it.
"""

from typing import Any, NamedTuple

import tensorflow as tf

from cade_tf.layers.aggregators import MeanAggregator
from cade_tf.layers.parallel_dense import parallel_matmul
from cade_tf.layers.sparse_ops import gather_mean, gather_rows
from cade_tf.models.dual_encoder import DualEncoder, unit
from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.sampling.neighborhood import draw_children

CHUNK_NODES = 16384


class Place(NamedTuple):
    """What decides a draw beside the node: the pass, the level of the tree, the sampling."""

    key: tf.Tensor
    level: tf.Tensor
    sampling: tf.Tensor


class WholePass:
    """Encodes all nodes of a graph, pass by pass.

    Args:
        model: A trained model.
        graph: Tables of the graph.
        chunk_nodes: Nodes computed together.
    """

    def __init__(
        self, model: DualEncoder, graph: GraphTables, chunk_nodes: int = CHUNK_NODES
    ) -> None:
        self.model = model
        self.graph = graph
        self.chunk_nodes = chunk_nodes
        self._projected: tuple[tf.Tensor, tf.Tensor] | None = None
        if isinstance(model.sagb.rounds[0].aggregate, MeanAggregator) and model.parameter_sets == 1:
            self._projected = self._project_features()

    @staticmethod
    def memory(model: DualEncoder, num_nodes: int) -> int:
        """Bytes that all nodes' vectors take at most."""
        kept = model.samplings + len(model.fanouts) + 1
        return 4 * num_nodes * model.dim * model.parameter_sets * kept

    def candidates(self, key: tf.Tensor) -> tf.Tensor:
        """Candidates of all nodes for the draws of a key, `[nodes, K or 1, dim]`."""
        samplings = [self._one_sampling(key, k) for k in range(self.model.samplings)]
        vectors = samplings[0] if len(samplings) == 1 else tf.concat(samplings, axis=1)
        return unit(vectors) if self.model.normalize in ("encoder", "both") else vectors

    def _one_sampling(self, key: tf.Tensor, sampling: int) -> tf.Tensor:
        depth = self.model.sagb.depth
        below: list[tf.Tensor] = []
        for level in reversed(range(depth)):
            place = Place(key, tf.constant(level), tf.constant(sampling, tf.int64))
            rounds = [self._all(self._first_round, place, fanout=self.model.fanouts[level])]
            for number in range(1, depth - level):
                rounds.append(
                    self._all(
                        self._next_round,
                        place,
                        rounds[-1],
                        below[number - 1],
                        number=number,
                        fanout=self.model.fanouts[level],
                    )
                )
            below = rounds
        return below[-1]

    def _all(self, function: object, *inputs: Any, **static: int) -> Any:
        """Runs a function of nodes for all of them, chunk by chunk.

        Chunks are few and large: compiling a function for them would take longer than it saves.
        """
        nodes = self.graph.num_nodes
        parts = [
            function(  # type: ignore[operator]
                tf.range(first, min(first + self.chunk_nodes, nodes), dtype=tf.int64),
                *inputs,
                **static,
            )
            for first in range(0, nodes, self.chunk_nodes)
        ]
        return tf.nest.map_structure(
            lambda *columns: columns[0] if len(columns) == 1 else tf.concat(columns, 0), *parts
        )

    def _first_round(self, nodes: tf.Tensor, place: Place, fanout: int) -> tf.Tensor:
        layer = self.model.sagb.rounds[0]
        children = self._children(nodes, place, fanout)
        if self._projected is not None:
            own, others = self._projected
            hidden = layer.activate(gather_rows(own, nodes) + gather_mean(others, children))
        else:
            every = tf.concat([nodes, tf.reshape(children, [-1])], 0)
            rows, index = self.model.features_of(self.graph, every)
            own_index, child_index = tf.split(index, [tf.size(nodes), tf.size(children)])
            hidden = layer(rows, (tf.reshape(child_index, [-1, fanout]),), own_index)
        return self._with_bias(hidden, nodes, 1)

    def _next_round(
        self,
        nodes: tf.Tensor,
        place: Place,
        own: tf.Tensor,
        below: tf.Tensor,
        number: int,
        fanout: int,
    ) -> tf.Tensor:
        children = self._children(nodes, place, fanout)
        rows = tf.concat([tf.gather(own, nodes), below], axis=0)
        hidden = self.model.sagb.rounds[number](rows, (children + tf.size(nodes, tf.int64),))
        return self._with_bias(hidden, nodes, number + 1)

    def _children(self, nodes: tf.Tensor, place: Place, fanout: int) -> tf.Tensor:
        return draw_children(self.graph, nodes, place.sampling, place.key, place.level, fanout)

    def _with_bias(self, hidden: tf.Tensor, nodes: tf.Tensor, rounds_done: int) -> tf.Tensor:
        if self.model.bias is None or rounds_done == self.model.sagb.depth:
            return hidden
        return hidden + tf.expand_dims(self.model.bias_of(self.graph, nodes), 1)

    def _project_features(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Features of all nodes times both parts of W: weights do not change any more."""
        layer = self.model.sagb.rounds[0]
        own_kernel, child_kernel = layer.split_kernel()

        def project(nodes: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            rows = self.graph.features.lookup(nodes)
            return parallel_matmul(rows, own_kernel), parallel_matmul(rows, child_kernel)

        projected: tuple[tf.Tensor, tf.Tensor] = self._all(project)
        return projected
