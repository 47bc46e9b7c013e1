"""Several graphs as one, in which no edge leads from one to another."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from cade_tf.errors import InputError
from cade_tf.graph.graph import EdgeReport, Features, Graph


def join_graphs(
    graphs: Sequence[Graph], names: Sequence[str] | None = None, *, name: str = "graphs"
) -> Graph:
    """Joins graphs that share their features and classes.

    A node is called `NAME/ID`, and `graph_ids` tell which graph it came from, in the order given.
    Classes with names are matched by name. Where some graphs have a split, the nodes of the
    others are training nodes; where some have weights, the edges of the others weigh 1.

    Args:
        graphs: At least one graph.
        names: Names of the graphs, distinct; by default their own.
        name: Name of the result.

    Returns:
        The graph.

    Raises:
        InputError: Names are repeated, or features or classes are not of one kind.

    Example:

    >>> first = Graph.from_edges([[0, 1]], name="a")
    >>> second = Graph.from_edges([[0, 1], [1, 2]], name="b")
    >>> joined = join_graphs([first, second])
    >>> joined.ids.tolist(), joined.graph_ids.tolist()
    (['a/0', 'a/1', 'b/0', 'b/1', 'b/2'], [0, 0, 1, 1, 1])
    """
    if not graphs:
        raise InputError("graphs", "at least one graph", "none", "Name some.")
    names = [graph.name for graph in graphs] if names is None else list(names)
    repeated = {n for n in names if names.count(n) > 1}
    if repeated or len(names) != len(graphs):
        raise InputError(
            "names",
            f"{len(graphs)} distinct names",
            ", ".join(names),
            "Ids of nodes begin with them; rename the files or folders.",
        )
    sizes = [graph.num_nodes for graph in graphs]
    entries = np.cumsum([0, *(len(graph.indices) for graph in graphs)])
    starts = np.cumsum([0, *sizes])
    fields: dict[str, Any] = {
        "indptr": np.concatenate(
            [[0], *(g.indptr[1:] + e for g, e in zip(graphs, entries, strict=False))]
        ),
        "indices": np.concatenate(
            [g.indices.astype(np.int64) + s for g, s in zip(graphs, starts, strict=False)]
        ),
        "node_ids": np.array(
            [f"{n}/{id}" for n, g in zip(names, graphs, strict=True) for id in g.ids.tolist()], str
        ),
        "positional_ids": not all(graph.has_given_ids for graph in graphs),
        "graph_ids": np.repeat(np.arange(len(graphs)), sizes),
        "features": _features(graphs, names),
        "feature_names": _shared([graph.feature_names for graph in graphs]),
        "split": _or_default(graphs, "split", np.int8, 0),
        "edge_weights": _or_default(graphs, "edge_weights", np.float32, 1),
        **_labels(graphs, names),
    }
    reports = [graph.report for graph in graphs]
    return Graph(
        report=EdgeReport(
            sum(report.self_loops for report in reports),
            sum(report.duplicates for report in reports),
            sum(report.one_way for report in reports),
        ),
        notes=tuple(dict.fromkeys(note for graph in graphs for note in graph.notes)),
        name=name,
        **fields,
    )


def _features(graphs: Sequence[Graph], names: Sequence[str]) -> Features | None:
    widths = {n: graph.num_features for n, graph in zip(names, graphs, strict=True)}
    if len(set(widths.values())) > 1:
        raise InputError(
            "features",
            "one number of features in all graphs",
            ", ".join(f"{width} in {n}" for n, width in widths.items()),
            "Give all graphs the same features.",
        )
    given: list[Any] = [graph.features for graph in graphs]
    if any(features is None for features in given):
        return None
    if any(sp.issparse(features) for features in given):
        return sp.csr_array(sp.vstack([sp.csr_array(features) for features in given]))
    return np.concatenate(given)


def _labels(graphs: Sequence[Graph], names: Sequence[str]) -> dict[str, Any]:
    """Labels of all nodes; those of a graph without any are -1."""
    labelled = [graph for graph in graphs if graph.labels is not None]
    if not labelled:
        return {}
    if any(graph.is_multilabel for graph in labelled):
        widths = {graph.num_classes if graph.is_multilabel else None for graph in graphs}
        if len(widths) > 1:
            raise InputError(
                "labels",
                "a 0/1 matrix of one width in all graphs",
                ", ".join(f"{g.num_classes} in {n}" for n, g in zip(names, graphs, strict=True)),
                "Give all graphs the same classes.",
            )
        return {
            "labels": np.concatenate([np.asarray(graph.labels) for graph in graphs]),
            "class_names": _shared([graph.class_names for graph in graphs]),
        }
    if any(graph.class_names is None for graph in labelled):
        return {"labels": _or_default(graphs, "labels", np.int32, -1)}
    classes = sorted({name for graph in labelled for name in graph.class_names or ()})
    position = {name: i for i, name in enumerate(classes)}
    parts = []
    for graph in graphs:
        # The last entry stands for the label -1.
        number = np.array([*(position[name] for name in graph.class_names or ()), -1])
        parts.append(np.full(graph.num_nodes, -1) if graph.labels is None else number[graph.labels])
    return {"labels": np.concatenate(parts), "class_names": tuple(classes)}


def _or_default(
    graphs: Sequence[Graph], field: str, dtype: Any, default: float
) -> np.ndarray | None:
    """An array of all graphs, filled where one has none; None where none has it."""
    values = [getattr(graph, field) for graph in graphs]
    if all(value is None for value in values):
        return None
    lengths = [len(g.indices) if field == "edge_weights" else g.num_nodes for g in graphs]
    return np.concatenate(
        [
            np.full(length, default, dtype) if value is None else value
            for value, length in zip(values, lengths, strict=True)
        ]
    )


def _shared(names: Sequence[tuple[str, ...] | None]) -> tuple[str, ...] | None:
    """Names of columns that all graphs agree on."""
    return names[0] if len(set(names)) == 1 else None
