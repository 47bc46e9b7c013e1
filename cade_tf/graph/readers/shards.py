"""A graph as a folder of shards, so that nobody ever has to hold all of it.

A shard is an npz with the rows of some nodes that follow each other, laid out as training reads
them: large arrays are mapped, and a table is nothing but one array of all shards, one after the
other. The split is part of the layout: of each node's neighbours those that training may see come
first, so that the training graph and the whole graph share one list.
"""

import dataclasses
import functools
import hashlib
import itertools
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Self

import numpy as np
import scipy.sparse as sp

from cade_tf import problems
from cade_tf.errors import InputError
from cade_tf.files import read_json
from cade_tf.graph import arrays
from cade_tf.graph.graph import Features, Graph
from cade_tf.graph.validation import sparse_matrix

FORMAT = "cade_tf.shards.1"
INFO_FILE = "graph.json"
CHUNK_BYTES = 8 << 20
"""What is read, scaled or sent at a time."""

_SPARSE_FEATURES = ("feature_spans", "feature_columns", "feature_entries")

SEEN, UNSEEN = 0, 2
"""Values of the split, as `Graph.split` has them."""


_REMEDY = "Write it with cade data convert --shards=N."
_FIELDS: dict[str, Callable[[Any], bool]] = {
    "name": lambda value: isinstance(value, str),
    "ends": lambda value: _ascend(value),
    "num_seen": lambda value: _is_count(value),
    "width": lambda value: _is_count(value),
    "sparse": lambda value: isinstance(value, bool),
    "weighted": lambda value: isinstance(value, bool),
    "structural": lambda value: isinstance(value, bool),
    "positional_ids": lambda value: isinstance(value, bool),
    "fingerprint": lambda value: isinstance(value, str),
    "feature_names": lambda value: value is None or _are_names(value),
    "class_names": lambda value: value is None or _are_names(value),
}
"""What the fields of the description must be."""


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**62


def _ascend(value: Any) -> bool:
    if not (isinstance(value, list) and value and all(map(_is_count, value))):
        return False
    return value[0] > 0 and all(a < b for a, b in itertools.pairwise(value))


def _are_names(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(name, str) for name in value)


def _described(path: Path) -> dict[str, Any]:
    """The fields of a `ShardedGraph`, each checked."""
    if not path.is_file():
        raise InputError(str(path), "the description of a folder of shards", "none", _REMEDY)
    fields = read_json(path, _REMEDY)
    written = fields.pop("format", None)
    if written != FORMAT:
        raise InputError(str(path), f"shards of format {FORMAT}", written, _REMEDY)
    fields.setdefault("positional_ids", False)
    if set(fields) != set(_FIELDS):
        others = ", ".join(sorted(set(fields) ^ set(_FIELDS)))
        raise InputError(str(path), "the fields of a sharded graph", f"not {others}", _REMEDY)
    for name, is_right in _FIELDS.items():
        if not is_right(fields[name]):
            raise InputError(f"{path}, {name}", "what was written", fields[name], _REMEDY)
        if isinstance(fields[name], list):
            fields[name] = tuple(fields[name])
    return fields


def recognises(path: Path) -> bool:
    """Whether a folder is of this format."""
    return (path / INFO_FILE).is_file()


def read(path: Path) -> Graph:
    """The whole graph in memory, where it fits; see `ShardedGraph.to_graph`."""
    return ShardedGraph.open(path).to_graph()


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
        ends: Node after the last one of each shard.
        num_seen: Nodes that training may see.
        width: Number of features.
        sparse: Whether features are sparse.
        weighted: Whether edges have weights.
        structural: Whether features were made of degrees and positions.
        fingerprint: Hash of all arrays.
        feature_names: Names of the features.
        class_names: Names of the classes.
        positional_ids: As in `Graph`.

    Example:

    >>> import tempfile
    >>> from cade_tf.scale.sharding import write_shards
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
    positional_ids: bool = False

    @classmethod
    def open(cls, folder: str | Path) -> Self:
        """Reads the description of a sharded graph.

        Raises:
            InputError: The folder holds none, one of another version, or shards are missing.
        """
        folder = Path(folder)
        graph = cls(folder=folder, **_described(folder / INFO_FILE))
        for number in range(graph.num_shards):
            for path in (shard_path, negatives_path):
                if not path(folder, number, graph.num_shards).is_file():
                    missing = path(folder, number, graph.num_shards)
                    raise InputError(str(missing), "a file of the graph", "none", _REMEDY)
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
        return arrays.read_some(path, (name,))[name]

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

    @property
    def has_given_ids(self) -> bool:
        """Whether ids were given; see `Graph.has_given_ids`."""
        return "node_ids" in self.stored and not self.positional_ids

    def features(self, *, seen_only: bool = False) -> Iterator[Features]:
        """Features of all nodes, or of those that training sees, chunk by chunk."""
        stored = _SPARSE_FEATURES if self.sparse else ("features",)
        for number in range(self.num_shards):
            path = shard_path(self.folder, number, self.num_shards)
            members = arrays.read_some(path, ("split", *stored))
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
        parts = (members["feature_entries"][entries], members["feature_columns"][entries], indptr)
        return sparse_matrix("features", parts, (last - first, self.width))

    def to_graph(self) -> Graph:
        """The whole graph in memory, where it fits.

        Raises:
            InputError: Arrays are not those that were written, or do not fit the description.
        """
        self._prove()
        try:
            with problems.within(self.folder / INFO_FILE):
                return self._joined()
        except InputError:
            raise
        except (ValueError, IndexError, TypeError) as error:
            raise InputError(
                str(self.folder / INFO_FILE), "what fits the shards", str(error), _REMEDY
            ) from error

    def _prove(self) -> None:
        """Compares the arrays of all shards with the fingerprint taken when they were written."""
        digests = []
        for number in range(self.num_shards):
            members = arrays.read_arrays(shard_path(self.folder, number, self.num_shards))
            digests.append(digest_of(members))
        if fingerprint_of(digests) != self.fingerprint:
            raise InputError(
                str(self.folder), "the shards that were written", "damaged or other ones", _REMEDY
            )

    def _joined(self) -> Graph:
        degrees = np.concatenate(self.parts("spans"))[:, 1]
        if len(degrees) != self.num_nodes:
            raise InputError("ends", f"{len(degrees)} nodes", self.num_nodes, _REMEDY)
        indptr = np.concatenate([[0], np.cumsum(degrees)])
        neighbors = np.concatenate(self.parts("neighbors"))
        weights = (
            np.concatenate(self.parts("weights"))
            if self.weighted
            else np.ones(len(neighbors), np.float32)
        )
        shape = (self.num_nodes, self.num_nodes)
        matrix = sparse_matrix("neighbors", (weights, neighbors, indptr), shape)
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
            positional_ids=self.positional_ids,
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


def fingerprint_of(digests: Sequence[bytes]) -> str:
    """A hash of all shards, of the hashes of each."""
    return hashlib.blake2b(b"".join(digests), digest_size=16).hexdigest()
