"""Algorithm 1 by the workers of a cluster, its result as shards with their ids."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import tensorflow as tf

from cade_tf.errors import InputError
from cade_tf.graph import arrays
from cade_tf.graph.readers.shards import CHUNK_BYTES, ShardedGraph
from cade_tf.inference.algorithm1 import attend_batch, passes_per_draw
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.progress import Shown, make_bar
from cade_tf.retracing import traced_for_each_model
from cade_tf.sampling import random
from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.scale.distant_tables import parts_of

SHARDS_FOLDER = "embeddings"
CALLS_PER_ROUND = 64


def embed_by_calls(
    model: DualEncoder,
    graph: GraphTables,
    run_all: Callable[[Callable[..., Any], list[tuple[Any, ...]]], list[Any]],
    totals: Any,
    *,
    walks: int,
    walk_length: int,
    seed: int,
    batch_size: int,
    progress: Shown = True,
) -> None:
    """Adds up the dual representations of every node where they are kept.

    What a batch of walks contributes is added by the worker that has computed it. Should that
    worker be lost while it adds, the batch is done again and part of it counts twice, in the sum
    and in the number of contexts alike: the embedding stays a mean of dual representations.

    Args:
        model: A trained model.
        graph: Tables of the whole graph.
        run_all: Has calls of a function done, in any order.
        totals: Variable of zeros [nodes, dim + 1], divided or whole: sums, and the number of
            contexts.
        walks: Walks from each node.
        walk_length: Steps of a walk.
        seed: Seed.
        batch_size: Walks per call.
        progress: Whether to show progress.
    """
    attend = attend_batch(model, graph, walk_length, seed)
    shared = passes_per_draw(walks)
    parts = parts_of(totals)

    @traced_for_each_model
    @tf.function(reduce_retracing=True, autograph=False)
    def add(first: tf.Tensor, last: tf.Tensor, number: tf.Tensor) -> tf.Tensor:
        key = random.make_key(seed, random.Stream.EMBEDDING_NEIGHBOR, number // shared)
        nodes, sums, counts = attend(first, last, number, key)
        rows = tf.concat([sums, counts[:, None]], axis=1)
        begin = 0
        for part in parts:
            inside = (nodes >= begin) & (nodes < begin + part.shape[0])
            own = tf.boolean_mask(nodes, inside) - begin
            part.scatter_add(tf.IndexedSlices(tf.boolean_mask(rows, inside), own))
            begin += part.shape[0]
        return last - first

    calls = [
        tuple(tf.constant(n, tf.int64) for n in (first, last, number))
        for number in range(walks)
        for first in range(0, graph.num_nodes, batch_size)
        for last in (min(first + batch_size, graph.num_nodes),)
    ]
    with make_bar(progress, "embedding", walks * graph.num_nodes, "walks") as bar:
        for position in range(0, len(calls), CALLS_PER_ROUND):
            done = run_all(add, calls[position : position + CALLS_PER_ROUND])
            bar.advance(int(sum(done)))


def write_shards(
    folder: Path, graph: ShardedGraph, read_totals: Callable[[int, int], np.ndarray]
) -> list[Path]:
    """Writes embeddings with their node ids, a file for each shard of the graph.

    Args:
        folder: Where they go.
        graph: The graph.
        read_totals: Rows first..last-1 of the totals of `embed_by_calls`.

    Returns:
        The files.
    """
    paths = []
    first = 0
    named = "node_ids" in graph.stored
    for number, last in enumerate(graph.ends):
        path = folder / f"part-{number:05d}-of-{graph.num_shards:05d}.npz"
        rows = np.concatenate(list(_means(read_totals, first, last)))
        ids = graph.part("node_ids", number) if named else np.arange(first, last)
        arrays.write_arrays(path, {"node_ids": ids, "embeddings": rows})
        paths.append(path)
        first = last
    return paths


def _means(
    read_totals: Callable[[int, int], np.ndarray], first: int, last: int
) -> Iterator[np.ndarray]:
    step = max(1, CHUNK_BYTES // read_totals(first, first + 1).nbytes)
    for begin in range(first, last, step):
        rows = read_totals(begin, min(begin + step, last))
        yield rows[:, :-1] / rows[:, -1:]


def merge(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Joins what `write_shards` wrote.

    Returns:
        Embeddings and their node ids, in the order of the graph.

    Raises:
        InputError: There are no shards, or some are missing.
    """
    paths = sorted(folder.glob("part-*-of-*.npz"))
    expected = int(paths[0].stem.rsplit("-", 1)[1]) if paths else 0
    if not paths or len(paths) != expected:
        raise InputError(
            str(folder),
            f"{expected or 'some'} shards of embeddings",
            len(paths),
            "Finish the run of the cluster first.",
        )
    members = [arrays.read_exactly(path, ("node_ids", "embeddings")) for path in paths]
    return (
        np.concatenate([part["embeddings"] for part in members]),
        np.concatenate([part["node_ids"] for part in members]),
    )
