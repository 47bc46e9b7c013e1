"""A graph as a folder of shards, so that nobody ever has to hold all of it.

A shard is an npz with the rows of some nodes that follow each other, laid out as training reads
them: large arrays are mapped, and a table is nothing but one array of all shards, one behind the
other. The split is part of the layout: of each node's neighbours those that training may see come
first, so that the training graph and the whole graph share one list.
"""

import dataclasses
import functools
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from cade_tf.errors import InputError
from cade_tf.graph import arrays
from cade_tf.graph.graph import Features, Graph

FORMAT = "cade_tf.shards.1"
INFO_FILE = "graph.json"
CHUNK_BYTES = 8 << 20
"""What is read, scaled or sent at a time."""

SEEN, UNSEEN = 0, 2
"""Values of the split, as `Graph.split` has them."""


def shard_path(folder: Path, number: int, shards: int) -> Path:
    """File of a shard."""
    return folder / f"shard-{number:05d}-of-{shards:05d}.npz"


def negatives_path(folder: Path, number: int, shards: int) -> Path:
    """File of a shard's part of the negatives, which need the degrees of all shards."""
    return folder / f"negatives-{number:05d}-of-{shards:05d}.npz"


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class ShardedGraph:
    """What is known of a sharded graph without reading it; made by `ShardedGraph.open`.

    Args:
        folder: Its folder.
        name: What to call the graph.
        ends: Node behind the last one of each shard.
        num_seen: Nodes that training may see.
        width: Number of features.
        sparse: Whether features are sparse.
        weighted: Whether edges have weights.
        structural: Whether features were made of degrees.
        fingerprint: Hash of all arrays.
        feature_names: Names of the features.
        class_names: Names of the classes.

    Example:

    >>> import tempfile
    >>> from cade_tf.graph.sharding import write_shards
    >>> graph = Graph.from_edges([[0, 1], [1, 2]], features=np.eye(3))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_shards(graph, np.arange(3), folder, shards=2)
    ...     sharded = ShardedGraph.open(folder)
    ...     [part.tolist() for part in sharded.parts("neighbors")]
    [[1], [0, 2, 1]]
    """

    folder: Path
    name: str
    ends: tuple[int, ...]
    num_seen: int
    width: int
    sparse: bool
    weighted: bool
    structural: bool
    fingerprint: str
    feature_names: tuple[str, ...] | None = None
    class_names: tuple[str, ...] | None = None

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Reads the description of a sharded graph.

        Raises:
            InputError: The folder holds none, one of another version, or shards are missing.
        """
        folder = Path(folder)
        remedy = "Write it with cade data convert --shards=N."
        try:
            fields = json.loads((folder / INFO_FILE).read_text())
            written = fields.pop("format")
        except (OSError, ValueError, KeyError, AttributeError) as error:
            raise InputError(str(folder), "a folder of shards", error, remedy) from error
        if written != FORMAT:
            raise InputError(str(folder), f"shards of format {FORMAT}", written, remedy)
        for name in ("ends", "feature_names", "class_names"):
            fields[name] = None if fields[name] is None else tuple(fields[name])
        graph = cls(folder=folder, **fields)
        for number in range(graph.num_shards):
            for path in (shard_path, negatives_path):
                if not path(folder, number, graph.num_shards).is_file():
                    missing = path(folder, number, graph.num_shards)
                    raise InputError(str(missing), "a file of the graph", "none", remedy)
        return graph

    @property
    def num_shards(self) -> int:
        """Number of shards."""
        return len(self.ends)

    @property
    def num_nodes(self) -> int:
        """Number of nodes."""
        return self.ends[-1]

    @functools.cached_property
    def stored(self) -> frozenset[str]:
        """Names of the arrays that a shard has."""
        return frozenset(arrays.member_names(shard_path(self.folder, 0, self.num_shards)))

    def part(self, name: str, number: int) -> np.ndarray:
        """One array of one shard, mapped where it is large.

        Raises:
            InputError: The shard is damaged or has no such array.
        """
        make_path = negatives_path if name == "negatives" else shard_path
        path = make_path(self.folder, number, self.num_shards)
        members = arrays.read_arrays(path, only=(name,))
        if name not in members:
            raise InputError(str(path), f"an array {name!r}", "none", "Write it again.")
        return members[name]

    def parts(self, name: str) -> list[np.ndarray]:
        """One array of all shards; see `part`."""
        return [self.part(name, number) for number in range(self.num_shards)]

    def optional(self, name: str) -> np.ndarray | None:
        """An array of all nodes that the graph may lack, in memory: labels, node ids."""
        return np.concatenate(self.parts(name)) if name in self.stored else None

    @property
    def ids(self) -> np.ndarray:
        """Names of all nodes, in memory."""
        named = self.optional("node_ids")
        return np.arange(self.num_nodes) if named is None else named

    def features(self, *, seen_only: bool = False) -> Iterator[Features]:
        """Features of all nodes, or of those that training sees, chunk by chunk."""
        for number in range(self.num_shards):
            members = arrays.read_arrays(shard_path(self.folder, number, self.num_shards))
            seen = members["split"] == SEEN
            step = max(1, CHUNK_BYTES // (4 * max(self.width, 1)))
            for first in range(0, len(seen), step):
                rows = self._rows(members, first, min(first + step, len(seen)))
                yield rows[seen[first : first + step]] if seen_only else rows

    def _rows(self, members: dict[str, np.ndarray], first: int, last: int) -> Features:
        if not self.sparse:
            return np.asarray(members["features"][first:last])
        starts, lengths = members["feature_spans"][first:last].T
        begin = int(members["feature_spans"][0, 0])
        entries = slice(int(starts[0]) - begin, int(starts[-1] + lengths[-1]) - begin)
        indptr = np.concatenate([[0], np.cumsum(lengths)])
        return sp.csr_array(
            (members["feature_entries"][entries], members["feature_columns"][entries], indptr),
            shape=(last - first, self.width),
        )

    def to_graph(self) -> Graph:
        """The whole graph in memory, for those whom it fits."""
        degrees = np.concatenate(self.parts("spans"))[:, 1]
        indptr = np.concatenate([[0], np.cumsum(degrees)])
        matrix = sp.csr_array(
            (
                np.concatenate(self.parts("weights"))
                if self.weighted
                else np.ones(indptr[-1], np.float32),
                np.concatenate(self.parts("neighbors")),
                indptr,
            ),
            shape=(self.num_nodes, self.num_nodes),
        )
        matrix.sort_indices()
        fields: dict[str, Any] = {}
        if not self.structural:
            chunks = list(self.features())
            fields["features"] = (
                sp.csr_array(sp.vstack(chunks)) if self.sparse else np.concatenate(chunks)
            )
            fields["feature_names"] = self.feature_names
        return Graph(
            indptr=matrix.indptr,
            indices=matrix.indices,
            edge_weights=matrix.data if self.weighted else None,
            labels=self.optional("labels"),
            node_ids=self.optional("node_ids"),
            split=self.optional("split"),
            class_names=self.class_names,
            name=self.name,
            **fields,
        )


def digest_of(arrays_of_shard: dict[str, np.ndarray]) -> bytes:
    """A hash of a shard."""
    digest = hashlib.blake2b(digest_size=16)
    for name, array in arrays_of_shard.items():
        digest.update(f"{name}{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return digest.digest()
