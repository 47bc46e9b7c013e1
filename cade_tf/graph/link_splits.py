"""Inductive link prediction: which edges are hidden, and which non-edges they are compared with."""

import dataclasses
from pathlib import Path

import numpy as np

from cade_tf.errors import InputError
from cade_tf.graph import arrays
from cade_tf.graph.graph import Graph
from cade_tf.graph.splits import VALIDATION_RATIO, split_nodes


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class LinkSplit:
    """Edges and non-edges for training, validation and test, each pair once, first < second.

    All six sets are disjoint; a non-edge is no edge of the whole graph. While a recipe is chosen
    (`validating`), the input graph holds only `train_edges` and the validation pairs are scored.
    In the end the input graph holds all edges but the test edges, as in the paper.

    Args:
        unseen: Positions of nodes that embedding learning does not see, ascending.
        train_edges: int64 [pairs, 2].
        train_non_edges: As many pairs as `train_edges`.
        validation_edges: int64 [pairs, 2].
        validation_non_edges: As many pairs as `validation_edges`.
        test_edges: The hidden edges, int64 [pairs, 2].
        test_non_edges: As many pairs as `test_edges`.

    Example:

    >>> ring = Graph.from_edges([[i, (i + step) % 20] for i in range(20) for step in (1, 2)])
    >>> split = hidden_edges(ring, 0.25, unseen_ratio=0.2, seed=0)
    >>> len(split.test_edges), split.input_graph(ring).num_edges, len(split.unseen)
    (10, 30, 4)
    """

    unseen: np.ndarray
    train_edges: np.ndarray
    train_non_edges: np.ndarray
    validation_edges: np.ndarray
    validation_non_edges: np.ndarray
    test_edges: np.ndarray
    test_non_edges: np.ndarray

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = np.ascontiguousarray(getattr(self, field.name), np.int64)
            value.flags.writeable = False
            object.__setattr__(self, field.name, value)

    def input_graph(self, graph: Graph, *, validating: bool = False) -> Graph:
        """The graph that embeddings are learned and made from.

        Args:
            graph: The whole graph.
            validating: Whether the validation edges are hidden too.
        """
        edges = [self.train_edges] if validating else [self.train_edges, self.validation_edges]
        return graph.with_edges(np.concatenate(edges))

    def save(self, path: str | Path) -> None:
        """Writes the split as an npz."""
        arrays.write_arrays(path, dataclasses.asdict(self))

    @classmethod
    def load(cls, path: str | Path) -> "LinkSplit":
        """Reads what `save` wrote.

        Raises:
            InputError: The file is no link split.
        """
        return cls(**arrays.read_exactly(path, [field.name for field in dataclasses.fields(cls)]))


def hidden_edges(
    graph: Graph,
    hidden_ratio: float,
    unseen_ratio: float,
    seed: int,
    *,
    train_non_edges: bool = True,
) -> LinkSplit:
    """Hides edges step by step as the paper does.

    (1) Some nodes are marked unseen. (2) A share of all edges and an equal number of non-edges
    become the test set; no node loses its last edge. (3) The other edges are the input graph and,
    with an equal number of other non-edges, the training set. A tenth of those is for validation.

    Args:
        graph: The graph.
        hidden_ratio: Share of all edges that is hidden.
        unseen_ratio: Share of nodes that embedding learning does not see.
        seed: Seed of all choices.
        train_non_edges: Whether there are non-edges in the training set, which are most of the
            work; all other sets are the same without them.

    Returns:
        The split.

    Raises:
        InputError: A ratio is out of range, so many edges cannot be hidden without a node losing
            its last, or the graph has too few non-edges.
    """
    if not 0 < hidden_ratio < 1:
        raise InputError(
            "hidden_ratio", "above 0 and below 1", hidden_ratio, "Hide a share of the edges."
        )
    unseen = split_nodes(graph, unseen_ratio, seed).test
    rng = np.random.default_rng([seed, 1])
    edges = rng.permutation(graph.edges().astype(np.int64))
    tests = round(hidden_ratio * len(edges))
    validations = round(VALIDATION_RATIO * (len(edges) - tests))
    removable = _removable(edges, graph.num_nodes, tests + validations)
    if len(removable) < tests:
        raise InputError(
            "hidden_ratio",
            f"at most {len(removable) / max(len(edges), 1):.3f} on this graph, so that every node "
            "keeps an edge",
            hidden_ratio,
            "Lower it.",
        )
    test = removable[:tests]
    validation = removable[tests : tests + validations]
    train = np.ones(len(edges), bool)
    train[removable[: tests + validations]] = False
    wanted = len(edges) if train_non_edges else len(test) + len(validation)
    others = _non_edges(graph, wanted, rng)
    return LinkSplit(
        unseen=unseen,
        test_edges=edges[test],
        validation_edges=edges[validation],
        train_edges=edges[train],
        test_non_edges=others[: len(test)],
        validation_non_edges=others[len(test) : len(test) + len(validation)],
        train_non_edges=others[len(test) + len(validation) :],
    )


def _removable(edges: np.ndarray, nodes: int, wanted: int) -> np.ndarray:
    """Positions of edges that can all go without any node losing its last edge.

    Each node first guards its last edge of the list; all other edges are removable. Where that is
    not enough, guarded edges both ends of which keep another one are freed, round by round.
    """
    position = np.arange(len(edges))
    guard = np.full(nodes, -1)
    np.maximum.at(guard, edges.ravel(), np.repeat(position, 2))
    kept = np.zeros(len(edges), bool)
    kept[guard[guard >= 0]] = True
    removable = [position[~kept]]
    degree = np.bincount(edges[kept].ravel(), minlength=nodes)
    while sum(map(len, removable)) < wanted:
        candidates = position[kept & (degree[edges] > 1).all(axis=1)]
        # Of several candidates at one node only the first may go in a round.
        first = np.full(nodes, len(edges))
        np.minimum.at(first, edges[candidates].ravel(), np.repeat(candidates, 2))
        freed = candidates[(first[edges[candidates]] == candidates[:, None]).all(axis=1)]
        if not len(freed):
            break
        kept[freed] = False
        degree -= np.bincount(edges[freed].ravel(), minlength=nodes)
        removable.append(freed)
    return np.concatenate(removable)


def _non_edges(graph: Graph, count: int, rng: np.random.Generator) -> np.ndarray:
    """Distinct pairs of distinct nodes without an edge, in random order.

    There must be as many as edges. The first of them do not depend on how many are wanted.
    """
    nodes = graph.num_nodes
    edge_keys = np.sort(graph.edges().astype(np.int64) @ np.array([nodes, 1]))
    pairs = nodes * (nodes - 1) // 2
    if pairs - len(edge_keys) < len(edge_keys):
        raise InputError(
            "graph",
            f"at least {len(edge_keys):,} pairs of nodes without an edge",
            f"{pairs - len(edge_keys):,}",
            "The graph is too dense for as many non-edges as edges.",
        )
    if pairs <= 4 * max(len(edge_keys), 1):
        # Dense: drawing at random would mostly hit edges.
        low, high = np.triu_indices(nodes, 1)
        keys = rng.permutation(np.setdiff1d(low * nodes + high, edge_keys, assume_unique=True))
    else:
        keys = np.zeros(0, np.int64)
        while len(keys) < count:
            drawn = rng.integers(0, nodes, size=(2 * (count - len(keys)) + 16, 2))
            low, high = drawn.min(axis=1), drawn.max(axis=1)
            drawn_keys = (low * nodes + high)[low < high]
            keys = np.concatenate([keys, drawn_keys[~np.isin(drawn_keys, edge_keys)]])
            _, first = np.unique(keys, return_index=True)
            keys = keys[np.sort(first)]
    return np.stack(np.divmod(keys[:count], nodes), axis=1)
