"""Candidates of all nodes from one set of draws, each hidden vector computed once.

In Algorithm 1 a node's children are a function of the draw, the sampling and the level. So
instead of growing a tree from every root, each level is computed for all nodes at once, layer by
layer: the same numbers, without encoding a node again for each batch that meets it.
"""

import weakref
from collections.abc import Callable, Iterator
from typing import TypeAlias, TypeVar

import numpy as np
import tensorflow as tf

from cade_tf.layers.aggregators import MeanAggregator
from cade_tf.layers.parallel_dense import parallel_matmul
from cade_tf.layers.sparse_ops import Children, Segments
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.retracing import traced_for_each_model
from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.sampling.neighborhood import draw_children, draw_keys
from cade_tf.sampling.neighbors import draw_places
from cade_tf.sampling.tables import slices
from cade_tf.sampling.trees import bias_rows_of, features_of

CHUNK_NODES = 16384
# Pool and LSTM read children one after the other: what they read of a chunk stays in the cache.
CHUNK_READERS, FEWEST_READERS = 4096, 512
SMALL_NODES = 4 * CHUNK_NODES
CHUNK_DRAWS = 65536

# Features at most this share of hidden vectors' width are averaged before they are multiplied.
NARROW = 1 / 4

# Up to so many bytes candidates are one tensor, from which gathers take less time. Larger ones are
# a tensor for each sampling: so they fit into the room that the moments of a global bias leave.
JOINED_BYTES = 3 * 2**28

Candidates: TypeAlias = tuple[tf.Tensor, ...]
"""Candidates of all nodes: `[nodes, K, dim]`, or `[nodes, 1, dim]` for each sampling."""

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
        self._narrow: tf.Tensor | None = None
        self._projected: tuple[tf.Tensor, tf.Tensor] | None = None
        self._inputs: tuple[tf.Tensor, tf.Tensor] | None = None
        self._neighbors: Segments | None = None
        self._readers: dict[tuple[int, int], Callable[..., tf.Tensor]] = {}
        averages = _averages(model)
        if not averages:
            self._inputs = self._prepare_features()
        elif model.parameter_sets == 1:
            if _is_narrow(model):
                rows, _ = graph.features.compact(_nodes(slice(0, graph.num_nodes)))
                self._narrow = (
                    tf.sparse.to_dense(rows) if isinstance(rows, tf.SparseTensor) else rows
                )
            else:
                self._projected = self._project_features()
            if graph.neighbors.num_rows <= graph.num_nodes * max(model.fanouts):
                self._neighbors = self._all_neighbors()
        means = self._narrow is not None or self._projected is not None
        # On a small graph time counts for more than memory.
        small = graph.num_nodes <= SMALL_NODES
        # A mean needs little memory besides its outputs.
        self._chunk_nodes = 2 * CHUNK_NODES if means and small else CHUNK_NODES
        if not averages:
            self._chunk_nodes = max(CHUNK_READERS // model.parameter_sets, FEWEST_READERS)
        self._bias: tf.Tensor | None = None
        if model.bias is not None and small:
            self._bias = model.bias(bias_rows_of(graph, _nodes(slice(0, graph.num_nodes))))
        # A reference to itself would keep all tensors until Python looks for cycles.
        this = weakref.proxy(self)

        def encode(key: tf.Tensor, sampling: tf.Tensor) -> tf.Tensor:
            chunks = ([part] for part in this._one_sampling(key, sampling))
            return this._all_nodes(chunks, this._chunk_nodes)[0]

        self._encode: Callable[[tf.Tensor, tf.Tensor], tf.Tensor] = encode
        if means and model.samplings > 1 and small:
            # Done K times per pass.
            self._encode = traced_for_each_model(tf.function(encode, autograph=False))

    @staticmethod
    def memory(model: DualEncoder, num_nodes: int, *, together: bool = True) -> int:
        """Bytes that all nodes' vectors and draws take at most.

        Args:
            model: A model.
            num_nodes: Size of the graph.
            together: Whether candidates are wanted all at once, and not chunk by chunk.
        """
        # Hidden vectors of a level and of the one below it; candidates.
        hidden = max(2 * model.sagb.depth - 3, 1) + model.samplings * together
        vectors = model.dim * model.parameter_sets * hidden
        if not _averages(model):
            # Products of nodes with their own part of W; what children bring in each round.
            inputs = model.sagb.rounds[0].aggregate.dense.units
            vectors += model.parameter_sets * (model.dim + model.sagb.depth * inputs)
        elif not _is_narrow(model):
            vectors += 2 * model.dim * model.parameter_sets  # projected features
        draws = sum(model.fanouts) + 2 * max(model.fanouts)
        return num_nodes * (4 * vectors + 8 * draws)

    @staticmethod
    def parts(model: DualEncoder, num_nodes: int) -> int:
        """How many tensors hold the candidates."""
        return 1 if 4 * num_nodes * model.k * model.dim <= JOINED_BYTES else model.samplings

    def candidates(self, key: tf.Tensor) -> Candidates:
        """Candidates of all nodes for the draws of a key, in as many tensors as `parts` says."""
        found = (self._encode(key, number) for number in self._samplings())
        count, nodes, dim = self.model.samplings, self.graph.num_nodes, self.model.dim
        if count == 1 or self.parts(self.model, nodes) > 1:
            return tuple(found)
        rows = tf.raw_ops.Empty(shape=[nodes * count, dim], dtype=self.model.compute_dtype)
        for number, candidates in enumerate(found):
            places = tf.range(number, nodes * count, count)
            rows = _write(rows, places, tf.reshape(candidates, [nodes, dim]))
        return (tf.reshape(rows, [nodes, count, dim]),)

    def chunks(self, key: tf.Tensor) -> Iterator[tf.Tensor]:
        """The same, some nodes after the others, for uses that need not see all at once."""
        samplings = [self._one_sampling(key, number) for number in self._samplings()]
        for candidates in zip(*samplings, strict=True):
            yield candidates[0] if len(candidates) == 1 else tf.concat(candidates, axis=1)

    def _samplings(self) -> list[tf.Tensor]:
        return [tf.constant(k, tf.int64) for k in range(self.model.samplings)]

    def _one_sampling(self, key: tf.Tensor, sampling: tf.Tensor) -> Iterator[tf.Tensor]:
        """Candidates by one sampling, chunk by chunk."""
        below: list[tf.Tensor] = []
        for level in reversed(range(1, self.model.sagb.depth)):
            chunks = self._level(level, key, sampling, below)
            below = self._all_nodes(chunks, self._chunk_nodes)
        for rounds in self._level(0, key, sampling, below):
            yield self.model.normalized(rounds[-1])

    def _level(
        self, level: int, key: tf.Tensor, sampling: tf.Tensor, below: list[tf.Tensor]
    ) -> Iterator[list[tf.Tensor]]:
        """Outputs of all rounds that a level takes part in, chunk by chunk.

        Args:
            level: Of the trees, 0 for the roots.
            key: Key of the pass.
            sampling: Which of the K.
            below: Outputs of the level below for all nodes, one less.
        """
        children = self._draw(level, key, sampling)
        layers = self.model.sagb.rounds
        inputs = [layers[number].transform(rows) for number, rows in enumerate(below, start=1)]

        def rounds(part: slice) -> list[tf.Tensor]:
            drawn = _part(children, part)
            outputs = [self._with_bias(self._first_round(part, drawn), part, 1)]
            for number, rows in enumerate(inputs, start=1):
                aggregated = self._reduce(number, rows, drawn)
                hidden = layers[number].finish(outputs[-1], aggregated)
                outputs.append(self._with_bias(hidden, part, number + 1))
            return outputs

        yield from self._by_chunk(rounds, self._chunk_nodes)

    def _draw(self, level: int, key: tf.Tensor, sampling: tf.Tensor) -> Children:
        """Children of all nodes on a level.

        Where nodes have few neighbours they draw the same ones again: then a mean over all
        neighbours, weighted by how often each was drawn, takes less than one over all draws.
        """
        fanout = self.model.fanouts[level]
        every = self._neighbors
        if every is None or every.columns.shape[0] > self.graph.num_nodes * fanout:
            return tf.concat(
                [
                    draw_children(self.graph, nodes, sampling, key, level, fanout)
                    for nodes in self._by_chunk(_nodes, CHUNK_DRAWS)
                ],
                axis=0,
            )

        def times_drawn(part: slice) -> tf.Tensor:
            nodes = _nodes(part)
            places = draw_places(
                self.graph,
                nodes,
                self.graph.spans.lookup(nodes),
                draw_keys(nodes, sampling, key, level),
                fanout,
            )
            splits = every.row_splits[part.start : part.stop + 1]
            entries = tf.expand_dims(splits[:-1] - splits[0], 1)
            entries += tf.cast(tf.maximum(places, 0), tf.int32)
            size = splits[-1] - splits[0]
            return tf.math.bincount(entries, minlength=size, maxlength=size, dtype=tf.float32)

        times = tf.concat(list(self._by_chunk(times_drawn, CHUNK_DRAWS)), axis=0)
        return every._replace(shares=times / fanout)

    def _all_neighbors(self) -> Segments:
        """All neighbours of all nodes; an isolated node is its own, as it draws itself."""
        nodes = _nodes(slice(0, self.graph.num_nodes))
        degrees = self.graph.spans.lookup(nodes)[:, 1].numpy()
        lengths = np.maximum(degrees, 1)
        owners = np.repeat(nodes.numpy(), lengths)
        columns = owners.copy()
        columns[np.repeat(degrees > 0, lengths)] = self.graph.neighbors.lookup(
            tf.range(degrees.sum(), dtype=tf.int64)
        )
        row_splits = np.concatenate([[0], np.cumsum(lengths)])
        return Segments(
            tf.constant(columns, tf.int32),
            tf.constant(row_splits, tf.int32),
            tf.zeros([0]),
            tf.constant(owners),
        )

    def _by_chunk(self, function: Callable[[slice], Result], size: int) -> Iterator[Result]:
        """Calls a function of a part of the nodes for all parts."""
        yield from map(function, self._parts_of_nodes(size))

    def _parts_of_nodes(self, size: int) -> Iterator[slice]:
        nodes = self.graph.num_nodes
        for first in range(0, nodes, size):
            yield slice(first, min(first + size, nodes))

    def _all_nodes(self, chunks: Iterator[list[tf.Tensor]], size: int) -> list[tf.Tensor]:
        """Rows of all nodes, of chunks of `size` nodes.

        Each chunk is written to its place at once: joined afterwards, all would be there twice.
        """
        nodes = self.graph.num_nodes
        whole: list[tf.Tensor] = []
        for part, found in zip(self._parts_of_nodes(size), chunks, strict=True):
            if size >= nodes:
                return found
            whole = whole or [
                tf.raw_ops.Empty(shape=[nodes, *rows.shape[1:]], dtype=rows.dtype) for rows in found
            ]
            places = tf.range(part.start, part.stop)
            whole = [_write(all_, places, rows) for all_, rows in zip(whole, found, strict=True)]
        return whole

    def _first_round(self, part: slice, children: Children) -> tf.Tensor:
        layer = self.model.sagb.rounds[0]
        if self._narrow is not None:
            return layer.combine(_part(self._narrow, part), self._narrow, (children,))
        if self._projected is not None:
            own, others = self._projected
            return layer.activate(_part(own, part) + layer.aggregate.reduce(others, children))
        if self._inputs is not None:
            own, inputs = self._inputs
            _, kernel = layer.split_kernel()
            others = parallel_matmul(self._reduce(0, inputs, children), kernel)
            return layer.activate(_part(own, part) + others)
        nodes = _nodes(part)
        every = tf.concat([nodes, tf.reshape(children, [-1])], 0)
        distinct_rows = self.model.tree_shape.distinct_rows
        rows, index = features_of(self.graph, every, distinct_rows=distinct_rows)
        own_index, child_index = slices(index, [tf.size(nodes), tf.size(children)])
        return layer(rows, (tf.reshape(child_index, tf.shape(children)),), own_index)

    def _reduce(self, number: int, inputs: tf.Tensor, children: Children) -> tf.Tensor:
        """Equation 5 in a round, where what is done to each child was done."""
        aggregate = self.model.sagb.rounds[number].aggregate
        if isinstance(children, Segments) or isinstance(aggregate, MeanAggregator):
            return aggregate.reduce(inputs, children)
        fanout = children.shape[1]
        if (number, fanout) not in self._readers:
            # Compiled, it keeps no more than one child of each node at a time.
            signature = [
                tf.TensorSpec([None, *inputs.shape[1:]], inputs.dtype),
                tf.TensorSpec([None, fanout], children.dtype),
            ]
            self._readers[number, fanout] = traced_for_each_model(
                tf.function(aggregate.reduce_drawn, input_signature=signature, autograph=False)
            )
        return self._readers[number, fanout](inputs, children)

    def _with_bias(self, hidden: tf.Tensor, part: slice, rounds_done: int) -> tf.Tensor:
        if self.model.bias is None or rounds_done == self.model.sagb.depth:
            return hidden
        if self._bias is None:
            bias = self.model.bias(bias_rows_of(self.graph, _nodes(part)))
        else:
            bias = _part(self._bias, part)
        return hidden + tf.expand_dims(tf.cast(bias, hidden.dtype), 1)

    def _project_features(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Features of all nodes times both parts of W: weights do not change any more."""
        kernels = self.model.sagb.rounds[0].split_kernel()

        def project(part: slice) -> list[tf.Tensor]:
            rows = self.graph.features.lookup(_nodes(part))
            return [parallel_matmul(tf.cast(rows, kernel.dtype), kernel) for kernel in kernels]

        own, others = self._all_nodes(self._by_chunk(project, CHUNK_NODES), CHUNK_NODES)
        return own, others

    def _prepare_features(self) -> tuple[tf.Tensor, tf.Tensor]:
        """Features of all nodes times their own part of W, and as children bring them."""
        layer = self.model.sagb.rounds[0]
        kernel, _ = layer.split_kernel()

        def prepare(part: slice) -> list[tf.Tensor]:
            rows = self.graph.features.lookup(_nodes(part))
            return [parallel_matmul(tf.cast(rows, kernel.dtype), kernel), layer.transform(rows)]

        own, inputs = self._all_nodes(self._by_chunk(prepare, CHUNK_NODES), CHUNK_NODES)
        return own, inputs


def gather_candidates(candidates: Candidates, nodes: tf.Tensor) -> tf.Tensor:
    """Candidates of some nodes: the shape of `nodes`, then `[K or 1, dim]`."""
    found = [tf.gather(sampling, nodes) for sampling in candidates]
    return found[0] if len(found) == 1 else tf.concat(found, axis=-2)


def _averages(model: DualEncoder) -> bool:
    return isinstance(model.sagb.rounds[0].aggregate, MeanAggregator)


def _is_narrow(model: DualEncoder) -> bool:
    return model.feature_width <= NARROW * model.dim


def _nodes(part: slice) -> tf.Tensor:
    return tf.range(part.start, part.stop, dtype=tf.int64)


def _write(rows: tf.Tensor, places: tf.Tensor, values: tf.Tensor) -> tf.Tensor:
    """Changes rows of a tensor that nobody else has; a copy of it would take too much memory."""
    return tf.raw_ops.InplaceUpdate(x=rows, i=places, v=values)


def _part(rows: Children, part: slice) -> Children:
    """Rows, or children, of some nodes."""
    if not isinstance(rows, Segments):
        return rows if part.stop - part.start == rows.shape[0] else rows[part]
    if part.stop - part.start == rows.row_splits.shape[0] - 1:
        return rows
    row_splits = rows.row_splits[part.start : part.stop + 1]
    entries = slice(row_splits[0], row_splits[-1])
    return Segments(
        rows.columns[entries],
        row_splits - row_splits[0],
        rows.shares[entries],
        rows.owners[entries] - part.start,
    )
