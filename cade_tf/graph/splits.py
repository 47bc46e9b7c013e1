"""Inductive splits of nodes: pure functions of graph, ratio and seed."""

import dataclasses
from pathlib import Path

import numpy as np

from cade_tf import problems
from cade_tf.config import SplitOptions
from cade_tf.errors import InputError
from cade_tf.graph import arrays
from cade_tf.graph.graph import Graph
from cade_tf.graph.validation import integers

VALIDATION_RATIO = 0.1
"""Share of what is not test that is set aside while a recipe is chosen."""

_TRAIN, _VALIDATION, _TEST = 0, 1, 2


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class NodeSplit:
    """Which nodes training may see.

    While a recipe is chosen, only `train` is seen and `validation` is scored, unseen just as the
    test nodes are later. The final training sees `seen` and is scored on `test`.

    Args:
        train: Positions of training nodes, ascending.
        validation: Positions of validation nodes, ascending.
        test: Positions of test nodes, ascending.
        trains_validation: Whether the final training sees the validation nodes too. Not where the
            data fix the three sets (PPI, Reddit).

    Example:

    >>> graph = Graph.from_edges([[0, 1], [1, 2]], num_nodes=20)
    >>> split = split_nodes(graph, 0.5, seed=0)
    >>> len(split.train), len(split.validation), len(split.test), len(split.seen)
    (9, 1, 10, 10)
    """

    train: np.ndarray
    validation: np.ndarray
    test: np.ndarray
    trains_validation: bool = True

    def __post_init__(self) -> None:
        for name in ("train", "validation", "test"):
            positions = np.sort(integers(name, getattr(self, name), np.int64))
            positions.flags.writeable = False
            object.__setattr__(self, name, positions)
        joined = self._joined()
        if (joined[:1] < 0).any():
            raise InputError("split", "positions from 0", joined[0], "Correct it.")
        if (joined[1:] == joined[:-1]).any():
            raise InputError(
                "split", "each node in one part", "a node in several", "Make the parts disjoint."
            )

    def _joined(self) -> np.ndarray:
        """All positions, ascending."""
        return np.sort(np.concatenate([self.train, self.validation, self.test]))

    @property
    def seen(self) -> np.ndarray:
        """Positions that the final training sees, ascending."""
        if not self.trains_validation:
            return self.train
        return np.sort(np.concatenate([self.train, self.validation]))

    def save(self, path: str | Path) -> None:
        """Writes the split as an npz."""
        arrays.write_arrays(path, {k: np.asarray(v) for k, v in dataclasses.asdict(self).items()})

    @classmethod
    def load(cls, path: str | Path) -> "NodeSplit":
        """Reads what `save` wrote.

        Raises:
            InputError: The file is no split.
        """
        members = arrays.read_exactly(path, [field.name for field in dataclasses.fields(cls)])
        trains_validation = bool(members.pop("trains_validation").all())
        with problems.within(path):
            return cls(**members, trains_validation=trains_validation)

    def check_fits(self, graph: Graph) -> None:
        """Refuses a graph that lacks some of the nodes.

        Raises:
            InputError: A position is beyond its last node.
        """
        largest = int(self._joined().max(initial=-1))
        if largest >= graph.num_nodes:
            expected = f"positions of {graph.num_nodes} nodes"
            raise InputError("split", expected, largest, "Give the graph that was split.")


def split_nodes(graph: Graph, ratio: float, seed: int) -> NodeSplit:
    """Hides a random share of the nodes, with all their edges, from training.

    With one seed the nodes hidden at a smaller ratio are among those hidden at a larger one.

    Args:
        graph: The graph.
        ratio: Share of nodes that become test nodes.
        seed: Seed of the choice.

    Returns:
        The split; a tenth of the other nodes are for validation.

    Raises:
        InputError: The ratio is not in [0, 1) or leaves no node to train on.
    """
    if not 0 <= ratio < 1:
        raise InputError("unseen_ratio", "from 0 to below 1", ratio, "Hide a share of the nodes.")
    order = np.random.default_rng(seed).permutation(graph.num_nodes)
    tests = round(ratio * graph.num_nodes)
    validations = round(VALIDATION_RATIO * (graph.num_nodes - tests))
    if tests + validations >= graph.num_nodes:
        raise InputError(
            "unseen_ratio",
            "a ratio that leaves nodes to train on",
            f"{ratio} of {graph.num_nodes} nodes",
            "Lower it.",
        )
    return NodeSplit(
        test=order[:tests],
        validation=order[tests : tests + validations],
        train=order[tests + validations :],
    )


def fixed(graph: Graph) -> NodeSplit:
    """The split that the data bring (the flags of PPI and Reddit).

    Raises:
        InputError: The graph has none, or one without training nodes.
    """
    if graph.split is None:
        raise InputError("split", "a graph with a split of its own", "none", "Use split_nodes.")
    parts = [np.flatnonzero(graph.split == part) for part in (_TRAIN, _VALIDATION, _TEST)]
    if not len(parts[0]):
        raise InputError("split", "training nodes", "none", "Mark some nodes 0 (train).")
    return NodeSplit(train=parts[0], validation=parts[1], test=parts[2], trains_validation=False)


def node_split(graph: Graph, options: SplitOptions) -> NodeSplit:
    """The split of a run: the data's own where there is one, else random unseen nodes."""
    if graph.split is not None:
        return fixed(graph)
    return split_nodes(graph, options.unseen_ratio, options.split_seed)


def sub_ppi(graph: Graph) -> Graph:
    """The paper's subPPI: three training graphs, one validation graph, one test graph.

    The paper does not say which; these are the first of each kind.

    Args:
        graph: PPI, with graph ids and a split.

    Returns:
        The five graphs as one, with their split.

    Raises:
        InputError: The graph has no graph ids, no split, or too few graphs.
    """
    if graph.graph_ids is None or graph.split is None:
        raise InputError("graph", "graph ids and a split", graph, "Use PPI.")
    chosen: list[int] = []
    for part, wanted in ((_TRAIN, 3), (_VALIDATION, 1), (_TEST, 1)):
        ids = np.unique(graph.graph_ids[graph.split == part])
        if len(ids) < wanted:
            raise InputError(
                "graph", f"{wanted} graphs of part {part}", len(ids), "Use PPI with all its graphs."
            )
        chosen.extend(ids[:wanted])
    part_graph = graph.subgraph(np.flatnonzero(np.isin(graph.graph_ids, chosen)))
    return dataclasses.replace(part_graph, name=f"sub{graph.name}")
