"""What an encoder must remember of its training graph to read another one."""

import dataclasses
import logging
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from cade_tf.config import FeatureOptions
from cade_tf.errors import InputError
from cade_tf.graph.features import FeatureTransform, node_features
from cade_tf.graph.graph import Features, Graph
from cade_tf.graph.naming import known_rows
from cade_tf.graph.recognition import NodeMarks

_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Preparation:
    """How graphs are prepared for an encoder: scaled features, rows of known nodes.

    Args:
        transform: What was done to the features, fit on training nodes.
        known_ids: Ids of the training nodes, in the order of the rows of the global bias.
        feature_names: Names of the features in training, where they had names.
        structural: Whether the training graph had no features, so that degrees and positions
            stand for them.
        marks: By what training nodes are recognised in graphs without ids; None goes by ids alone.

    Example:

    >>> graph = Graph.from_edges([[0, 1], [1, 2]], features=np.eye(3), node_ids=[0, 1, 2])
    >>> preparation = Preparation.fit(graph, FeatureOptions(), seed=0)
    >>> preparation.bias_rows(Graph.from_edges([[0, 1]], node_ids=[7, 1])).tolist()
    [-1, 1]
    """

    transform: FeatureTransform
    known_ids: np.ndarray
    feature_names: tuple[str, ...] | None = None
    structural: bool = False
    marks: NodeMarks | None = None

    @classmethod
    def fit(
        cls,
        graph: Graph,
        options: FeatureOptions,
        seed: int,
    ) -> Self:
        """Learns what to remember of a training graph.

        Args:
            graph: The training graph.
            options: How to scale its features.
            seed: Seed of a decomposition of the features.
        """
        return cls(
            transform=FeatureTransform.fit(node_features(graph), options, seed),
            known_ids=graph.ids,
            feature_names=graph.feature_names,
            structural=not graph.num_features,
            marks=NodeMarks.of(graph),
        )

    def features(self, graph: Graph) -> Features:
        """Features of a graph, scaled as in training.

        Raises:
            InputError: They are not the features of training; the message names the difference.
        """
        self._check_features(graph)
        features = node_features(graph)
        if not isinstance(features, np.ndarray) and self.transform.mean is not None:
            # Centring, which was learnt from dense features, leaves no zeros to save.
            features = features.toarray()
        return self.transform.apply(features, graph.ids)

    def bias_rows(self, graph: Graph) -> np.ndarray:
        """Row of each node in the global bias, -1 for a node that training did not know.

        Nodes are known by their ids. Ids that are mere positions, in training or here, count only
        if the nodes are recognised: if all that training knew under these positions have the same
        features here or, without any that tell nodes apart, the same edges. The training graph, a
        part of it and a graph that it grew into are recognised; of any other graph all nodes are
        new.
        """
        rows = known_rows(graph.ids, self.known_ids)
        marks = self.marks
        if marks is None or (marks.given_ids and graph.has_given_ids) or not (rows >= 0).any():
            return rows
        if marks.recognise(graph, rows):
            return rows
        what = "edges" if self.structural else "features"
        _log.warning(
            "%s: all nodes are taken for new. They have no ids but their positions, and under "
            "these positions training knew nodes with other %s. Give node_ids to the training "
            "graph and to this one to say which nodes are the same.",
            graph.name,
            what,
        )
        return np.full(graph.num_nodes, -1, np.int64)

    def _check_features(self, graph: Graph) -> None:
        if self.structural and graph.num_features:
            raise InputError(
                "features",
                "none: the model was trained on a graph without features",
                f"{graph.num_features} of them",
                "Leave the features out, or train on them.",
            )
        if not self.structural and graph.num_features != self.transform.input_width:
            raise InputError(
                "features",
                f"{self.transform.input_width} of them, as in training",
                graph.num_features,
                _name_difference(self.feature_names, graph.feature_names)
                or "Give the features the model was trained on.",
            )
        difference = _name_difference(self.feature_names, graph.feature_names)
        if difference:
            raise InputError(
                "feature_names", "those of training", "others", f"{difference} Reorder or rename."
            )

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Everything as named arrays."""
        members = {f"transform.{k}": v for k, v in self.transform.to_arrays().items()}
        members["known_ids"] = self.known_ids
        members["structural"] = np.asarray(self.structural)
        if self.feature_names is not None:
            members["feature_names"] = np.asarray(self.feature_names, str)
        if self.marks is not None:
            members |= {f"marks.{k}": v for k, v in self.marks.to_arrays().items()}
        return members

    @classmethod
    def from_arrays(cls, members: dict[str, Any]) -> Self:
        """What `to_arrays` described.

        Raises:
            InputError: An array is missing, or does not fit the others.
        """
        scaling, marks = (
            {
                name.removeprefix(prefix): value
                for name, value in members.items()
                if name.startswith(prefix)
            }
            for prefix in ("transform.", "marks.")
        )
        try:
            names = members.get("feature_names")
            known_ids = np.asarray(members["known_ids"])
            found = cls(
                transform=FeatureTransform.from_arrays(scaling),
                known_ids=known_ids,
                feature_names=None if names is None else tuple(names.tolist()),
                structural=bool(members["structural"]),
                marks=NodeMarks.from_arrays(marks, len(known_ids)) if marks else None,
            )
        except (KeyError, ValueError, TypeError) as error:
            raise InputError(
                "preparation", "arrays of a saved encoder", error, "Restore the file."
            ) from error
        found._check_parts()
        return found

    def _check_parts(self) -> None:
        ids, width = self.known_ids, self.transform.input_width
        if ids.ndim != 1 or ids.dtype.kind not in "iuU" or len(np.unique(ids)) != len(ids):
            raise InputError(
                "known_ids",
                "distinct whole numbers or texts [n]",
                f"{ids.dtype} of shape {ids.shape}",
                "Restore the file.",
            )
        if self.feature_names is not None and len(self.feature_names) != width:
            raise InputError(
                "feature_names", f"{width} names", len(self.feature_names), "Restore the file."
            )


def positions_of(graph: Graph, ids: Sequence[object] | np.ndarray) -> np.ndarray:
    """Positions of nodes by their ids, int64; numbers may also be given as text.

    Raises:
        InputError: The graph has no such node.
    """
    if not len(ids):
        return np.zeros(0, np.int64)
    positions = known_rows(np.asarray(ids), graph.ids)
    for node, position in zip(ids, positions, strict=True):
        if position < 0:
            raise InputError(
                "node",
                f"an id of {graph.name}, such as {graph.ids[0]}",
                node,
                "Use an id as in node_ids.txt.",
            )
    return positions


def _name_difference(trained: tuple[str, ...] | None, given: tuple[str, ...] | None) -> str:
    """What distinguishes two lists of names, as a sentence; empty where nothing does."""
    if trained is None or given is None or trained == given:
        return ""
    parts = []
    for title, names, others in (
        ("Missing", trained, set(given)),
        ("Unknown", given, set(trained)),
    ):
        listed = [name for name in names if name not in others]
        if listed:
            more = f" and {len(listed) - 5:,} more" if len(listed) > 5 else ""
            parts.append(f"{title}: {', '.join(listed[:5])}{more}.")
    if not parts:
        column = next(
            i for i, pair in enumerate(zip(trained, given, strict=True)) if len({*pair}) > 1
        )
        parts.append(
            f"Same names in another order: column {column} was {trained[column]}, "
            f"is {given[column]}."
        )
    return " ".join(parts)
