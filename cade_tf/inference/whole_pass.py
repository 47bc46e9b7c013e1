"""Candidates of all nodes from one set of draws, each hidden vector computed once.

Within a pass of Algorithm 1 a node's draw is a function of the pass, the sampling and the level.
So instead of growing a tree from every root, each level is computed for all nodes at once, layer
by layer: the same numbers, without encoding a node again for each batch that meets it.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import TypeVar

import tensorflow as tf

from cade_tf.layers.aggregators import MeanAggregator
from cade_tf.layers.parallel_dense import parallel_matmul
from cade_tf.layers.sparse_ops import gather_mean
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.sampling.neighborhood import draw_children
from cade_tf.sampling.tables import slices
from cade_tf.sampling.trees import bias_rows_of, features_of

CHUNK_NODES = 16384
CHUNK_DRAWS = 65536

Result = TypeVar("Result")


class WholePass:
    """Encodes all nodes of a graph, pass by pass.

    Args:
        model: A trained model.
        graph: Tables of the graph.
    """

    def __init__(self, model: DualEncoder, graph: GraphTables) -> None:
        self.model = model
        self.graph = graph
        self._projected: tuple[tf.Tensor, tf.Tensor] | None = None
        if isinstance(model.sagb.rounds[0].aggregate, MeanAggregator) and model.parameter_sets == 1:
            self._projected = self._project_features()

    @staticmethod
    def memory(model: DualEncoder, num_nodes: int) -> int:
        """Bytes that all nodes' vectors and draws take at most."""
        kept = model.samplings + len(model.fanouts) + 1
        vectors = model.dim * model.parameter_sets * kept
        return num_nodes * (4 * vectors + 8 * sum(model.fanouts))

    def candidates(self, key: tf.Tensor) -> tf.Tensor:
        """Candidates of all nodes for the draws of a key, `[nodes, K or 1, dim]`."""
        samplings = [
            tf.concat(list(self._one_sampling(key, k)), axis=0) for k in range(self.model.samplings)
        ]
        return self._normalized(samplings)

    def chunks(self, key: tf.Tensor) -> Iterator[tf.Tensor]:
        """The same, some nodes after the others, for uses that need not see all at once."""
        samplings = [self._one_sampling(key, k) for k in range(self.model.samplings)]
        yield from map(self._normalized, zip(*samplings, strict=True))

    def _normalized(self, samplings: Sequence[tf.Tensor]) -> tf.Tensor:
        vectors = samplings[0] if len(samplings) == 1 else tf.concat(samplings, axis=1)
        return self.model.normalized(vectors)

    def _one_sampling(self, key: tf.Tensor, sampling: int) -> Iterator[tf.Tensor]:
        """Outputs of the last round, chunk by chunk."""
        below: list[tf.Tensor] = []
        for level in reversed(range(1, self.model.sagb.depth)):
            chunks = list(self._level(level, key, sampling, below))
            below = [tf.concat(parts, axis=0) for parts in zip(*chunks, strict=True)]
        for rounds in self._level(0, key, sampling, below):
            yield rounds[-1]

    def _level(
        self, level: int, key: tf.Tensor, sampling: int, below: list[tf.Tensor]
    ) -> Iterator[list[tf.Tensor]]:
        """Outputs of all rounds that a level takes part in, chunk by chunk.

        Args:
            level: Of the trees, 0 for the roots.
            key: Key of the pass.
            sampling: Which of the K.
            below: Outputs of the level below for all nodes, one less.
        """
        fanout = self.model.fanouts[level]

        def draw(part: slice) -> tf.Tensor:
            number = tf.constant(sampling, tf.int64)
            return draw_children(self.graph, _nodes(part), number, key, level, fanout)

        children = tf.concat(list(self._by_chunk(draw, CHUNK_DRAWS)), axis=0)

        def rounds(part: slice) -> list[tf.Tensor]:
            drawn = children[part]
            outputs = [self._with_bias(self._first_round(part, drawn), part, 1)]
            for number, rows in enumerate(below, start=1):
                hidden = self.model.sagb.rounds[number].combine(outputs[-1], rows, (drawn,))
                outputs.append(self._with_bias(hidden, part, number + 1))
            return outputs

        yield from self._by_chunk(rounds, CHUNK_NODES)

    def _by_chunk(self, function: Callable[[slice], Result], size: int) -> Iterator[Result]:
        """Calls a function of a part of the nodes for all parts.

        Chunks are few and large: compiling a function for them would take longer than it saves.
        """
        nodes = self.graph.num_nodes
        for first in range(0, nodes, size):
            yield function(slice(first, min(first + size, nodes)))

    def _first_round(self, part: slice, children: tf.Tensor) -> tf.Tensor:
        layer = self.model.sagb.rounds[0]
        if self._projected is not None:
            own, others = self._projected
            return layer.activate(own[part] + gather_mean(others, children))
        nodes = _nodes(part)
        every = tf.concat([nodes, tf.reshape(children, [-1])], 0)
        distinct_rows = self.model.tree_shape.distinct_rows
        rows, index = features_of(self.graph, every, distinct_rows=distinct_rows)
        own_index, child_index = slices(index, [tf.size(nodes), tf.size(children)])
        return layer(rows, (tf.reshape(child_index, tf.shape(children)),), own_index)

    def _with_bias(self, hidden: tf.Tensor, part: slice, rounds_done: int) -> tf.Tensor:
        if self.model.bias is None or rounds_done == self.model.sagb.depth:
            return hidden
        bias = self.model.bias(bias_rows_of(self.graph, _nodes(part)))
        return hidden + tf.expand_dims(tf.cast(bias, hidden.dtype), 1)

    def _project_features(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Features of all nodes times both parts of W: weights do not change any more."""
        kernels = self.model.sagb.rounds[0].split_kernel()

        def project(part: slice) -> list[tf.Tensor]:
            rows = self.graph.features.lookup(_nodes(part))
            return [parallel_matmul(tf.cast(rows, kernel.dtype), kernel) for kernel in kernels]

        own, others = zip(*self._by_chunk(project, CHUNK_NODES), strict=True)
        return tf.concat(own, axis=0), tf.concat(others, axis=0)


def _nodes(part: slice) -> tf.Tensor:
    return tf.range(part.start, part.stop, dtype=tf.int64)
