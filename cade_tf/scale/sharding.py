"""Writes a graph as shards, one shard in memory at a time."""

import dataclasses
import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from cade_tf.errors import InputError
from cade_tf.files import write_json
from cade_tf.graph import arrays
from cade_tf.graph.features import node_features
from cade_tf.graph.graph import Features, Graph
from cade_tf.graph.readers import shards
from cade_tf.sampling.graph_tables import NEGATIVE_POWER


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Block:
    """Rows of some nodes that follow each other.

    Args:
        degrees: Neighbours of each node.
        neighbors: Positions of the neighbours, node by node.
        features: Features, dense or CSR.
        weights: Weights of the edges, aligned with `neighbors`.
        extra: Other arrays with a row per node: labels, node_ids.
    """

    degrees: np.ndarray
    neighbors: np.ndarray
    features: Features
    weights: np.ndarray | None = None
    extra: dict[str, np.ndarray] = dataclasses.field(default_factory=dict)


def write_shards(graph: Graph, seen: np.ndarray, folder: str | Path, shards: int) -> None:
    """Writes a graph that is at hand, in memory or mapped.

    Args:
        graph: The graph.
        seen: Positions of the nodes that training may see.
        folder: Where the shards go.
        shards: How many; a table has at least one row in each.

    Raises:
        InputError: More shards than nodes.
    """
    features = node_features(graph)
    named = {"labels": graph.labels, "node_ids": graph.node_ids}
    extra = {name: array for name, array in named.items() if array is not None}

    def block(first: int, last: int) -> Block:
        entries = slice(int(graph.indptr[first]), int(graph.indptr[last]))
        return Block(
            degrees=np.diff(graph.indptr[first : last + 1]),
            neighbors=np.asarray(graph.indices[entries]),
            features=features[first:last],
            weights=None if graph.edge_weights is None else graph.edge_weights[entries],
            extra={name: array[first:last] for name, array in extra.items()},
        )

    mask = np.zeros(graph.num_nodes, bool)
    mask[seen] = True
    write_blocks(
        block,
        mask,
        folder,
        shards,
        name=graph.name,
        structural=not graph.num_features,
        feature_names=graph.feature_names if graph.num_features else None,
        class_names=graph.class_names,
        positional_ids=graph.positional_ids,
    )


def write_blocks(
    block: Callable[[int, int], Block],
    seen: np.ndarray,
    folder: str | Path,
    number_of_shards: int,
    **info: Any,
) -> None:
    """Writes a graph that is made or read block by block.

    Args:
        block: The rows of nodes first..last-1.
        seen: bool per node, whether training may see it.
        folder: Where the shards go.
        number_of_shards: How many.
        **info: `name`, `structural`, `feature_names`, `class_names` and `positional_ids` of
            `ShardedGraph`.

    Raises:
        InputError: More shards than nodes.
    """
    if not 1 <= number_of_shards <= len(seen):
        raise InputError("shards", f"from 1 to {len(seen)}", number_of_shards, "Change it.")
    folder = Path(folder)
    bounds = np.linspace(0, len(seen), number_of_shards + 1).astype(np.int64).tolist()
    entries = feature_entries = 0
    total, width, digests = 0.0, 0, []
    sparse = weighted = False
    for number, (first, last) in enumerate(itertools.pairwise(bounds)):
        rows = block(first, last)
        members = _shard(rows, first, entries, feature_entries, seen)
        arrays.write_arrays(shards.shard_path(folder, number, number_of_shards), members)
        digests.append(shards.digest_of(members))
        entries += len(members["neighbors"])
        feature_entries += len(members.get("feature_entries", ()))
        total += _negative_weights(members["training_spans"][:, 1], seen[first:last]).sum()
        width, sparse = rows.features.shape[1], sp.issparse(rows.features)
        weighted = rows.weights is not None
    _write_negatives(folder, seen, bounds, total)
    description = {
        "format": shards.FORMAT,
        "name": "graph",
        "ends": bounds[1:],
        "num_seen": int(seen.sum()),
        "width": int(width),
        "sparse": bool(sparse),
        "weighted": weighted,
        "structural": False,
        "positional_ids": False,
        "fingerprint": shards.fingerprint_of(digests),
        "feature_names": None,
        "class_names": None,
        **info,
    }
    # Last, so that a folder with this file is complete.
    write_json(folder / shards.INFO_FILE, description)


def _shard(
    rows: Block, first: int, entries: int, feature_entries: int, seen: np.ndarray
) -> dict[str, np.ndarray]:
    """Arrays of a shard whose lists begin at some global positions."""
    nodes = len(rows.degrees)
    owners = np.repeat(np.arange(nodes), rows.degrees)
    own_seen = seen[first : first + nodes]
    visible = seen[rows.neighbors] & own_seen[owners]
    order = np.lexsort((~visible, owners))
    starts = entries + np.concatenate([[0], np.cumsum(rows.degrees)[:-1]]).astype(np.int64)
    known = np.bincount(owners[visible], minlength=nodes).astype(np.int64)
    members = {
        "spans": np.stack([starts, rows.degrees.astype(np.int64)], axis=1),
        "training_spans": np.stack([starts, known], axis=1),
        "neighbors": rows.neighbors[order],
        "walkers": first + np.flatnonzero(known),
        "split": np.where(own_seen, shards.SEEN, shards.UNSEEN).astype(np.int8),
        **rows.extra,
    }
    if rows.weights is not None:
        weights = rows.weights[order].astype(np.float64)
        members["weights"] = rows.weights[order]
        members["chances"] = _chances(weights, rows.degrees, first)
        members["training_chances"] = _chances(weights * visible[order], rows.degrees, first)
    if sp.issparse(rows.features):
        matrix = sp.csr_array(rows.features, dtype=np.float32)
        indptr = matrix.indptr.astype(np.int64)
        members["feature_spans"] = np.stack([feature_entries + indptr[:-1], np.diff(indptr)], 1)
        members["feature_columns"] = matrix.indices.astype(np.int64)
        members["feature_entries"] = matrix.data
    else:
        members["features"] = np.asarray(rows.features, np.float32)
    return members


def _chances(weights: np.ndarray, degrees: np.ndarray, first: int) -> np.ndarray:
    """Node position plus the cumulative share of its neighbours; 1 where nothing is left."""
    running = np.concatenate([[0.0], np.cumsum(weights)])
    ends = np.cumsum(degrees)
    before, after = running[ends - degrees], running[ends]
    owners = np.repeat(np.arange(len(degrees)), degrees)
    total = (after - before)[owners]
    share = np.divide(
        running[1:] - before[owners], total, out=np.ones(len(owners)), where=total > 0
    )
    return first + owners + share


def _negative_weights(degrees: np.ndarray, seen: np.ndarray) -> np.ndarray:
    return np.where(seen, np.maximum(degrees, 1).astype(np.float64) ** NEGATIVE_POWER, 0.0)


def _write_negatives(folder: Path, seen: np.ndarray, bounds: list[int], total: float) -> None:
    """Cumulative chances of all nodes, in a second pass over degrees only."""
    count = len(bounds) - 1
    before = 0.0
    for number, (first, last) in enumerate(itertools.pairwise(bounds)):
        path = shards.shard_path(folder, number, count)
        degrees = arrays.read_arrays(path, only=("training_spans",))["training_spans"][:, 1]
        running = before + np.cumsum(_negative_weights(degrees, seen[first:last]))
        members = {"negatives": running / total}
        arrays.write_arrays(shards.negatives_path(folder, number, count), members)
        before = float(running[-1])
