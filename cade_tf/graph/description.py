"""What is in a graph: its numbers as rows of a table, and what a user should know of it."""

import numpy as np

from cade_tf.graph.graph import Features, Graph
from cade_tf.graph.splits import NodeSplit

_SHOWN_CLASSES = 12

Row = tuple[str, str]


def describe(graph: Graph, split: NodeSplit) -> list[Row]:
    """The numbers of a graph.

    Args:
        graph: The graph.
        split: Its split, of which the sizes are told.

    Returns:
        Names and values, as text, in the order to be shown.

    Example:

    >>> graph = Graph.from_edges([[0, 1], [1, 2]], num_nodes=4)
    >>> split = NodeSplit(train=[0, 1], validation=[2], test=[3])
    >>> dict(describe(graph, split))["components"]
    '2 (largest 3 nodes, 75.0 %)'
    """
    rows = [("name", graph.name), *_structure(graph), *_features(graph), *_labels(graph)]
    parts = (("train", split.train), ("validation", split.validation), ("test", split.test))
    kind = "of the data" if graph.split is not None else "random, unseen nodes"
    sizes = " / ".join(f"{len(nodes):,} {name}" for name, nodes in parts)
    rows.append(("split", f"{sizes} ({kind})"))
    if graph.report.self_loops or graph.report.duplicates:
        rows.append(("dropped", str(graph.report).removesuffix(" dropped")))
    return rows


def _structure(graph: Graph) -> list[Row]:
    nodes, edges, degrees = graph.num_nodes, graph.num_edges, graph.degrees
    pairs = nodes * (nodes - 1) / 2
    rows = [
        ("nodes", f"{nodes:,}"),
        ("ids", "given" if graph.has_given_ids else "none; positions take their place"),
        ("edges", f"{edges:,}"),
        ("density", _share(edges, pairs)),
    ]
    if nodes:
        quartiles = np.percentile(degrees, (0, 25, 50, 75, 100), method="lower")
        shown = " / ".join(f"{value:,}" for value in quartiles)
        rows.append(("degree", f"mean {degrees.mean():.3f}, quartiles {shown}"))
        rows.append(("degree counts", _degree_counts(degrees)))
        sizes = np.bincount(graph.components())
        largest = int(sizes.max())
        rows.append(
            ("components", f"{len(sizes):,} (largest {largest:,} nodes, {_share(largest, nodes)})")
        )
    rows.append(("isolated nodes", f"{int((degrees == 0).sum()):,}"))
    if graph.graph_ids is not None:
        rows.append(("graphs", f"{len(np.unique(graph.graph_ids)):,}"))
    if graph.edge_weights is not None and edges:
        low, high = graph.edge_weights.min(), graph.edge_weights.max()
        rows.append(("edge weights", f"{low:g} to {high:g}"))
    return rows


def _degree_counts(degrees: np.ndarray) -> str:
    """How many nodes have a degree of 0, 1, 2-3, 4-7 and so on."""
    bins = np.bincount(np.frexp(degrees)[1])
    names = ["0", "1", *(f"{2**i}-{2 ** (i + 1) - 1}" for i in range(1, len(bins)))]
    return ", ".join(
        f"{name}: {count:,}" for name, count in zip(names, bins, strict=False) if count
    )


def _features(graph: Graph) -> list[Row]:
    if graph.features is None:
        return [("features", "none; degree and position take their place")]
    size = graph.num_nodes * graph.num_features
    if isinstance(graph.features, np.ndarray):
        kind, present = "dense", int(np.count_nonzero(graph.features))
    else:
        kind, present = "sparse", graph.features.nnz
    return [
        ("features", f"{graph.num_features:,} ({kind})"),
        ("non-zeros", f"{present:,} ({_share(present, size)})"),
    ]


def class_sizes(graph: Graph) -> np.ndarray:
    """Number of nodes of each class, of a graph with labels."""
    labels = np.asarray(graph.labels)
    if graph.is_multilabel:
        return labels.sum(axis=0)
    return np.bincount(labels[labels >= 0], minlength=graph.num_classes)


def _labels(graph: Graph) -> list[Row]:
    if graph.labels is None:
        return [("classes", "none")]
    counts = class_sizes(graph)
    if graph.is_multilabel:
        mean = graph.labels.sum() / max(graph.num_nodes, 1)
        rows = [("classes", f"{graph.num_classes:,}, {mean:.2f} per node (multi-label)")]
    else:
        rows = [("classes", f"{graph.num_classes:,}")]
        missing = int((graph.labels < 0).sum())
        if missing:
            rows.append(("without class", f"{missing:,}"))
    shown = [f"{count:,}" for count in counts[:_SHOWN_CLASSES]]
    more = [f"and {len(counts) - _SHOWN_CLASSES} more"] if len(counts) > _SHOWN_CLASSES else []
    rows.append(("class sizes", " / ".join(shown + more)))
    return rows


_ONE_WAY = "are given in one direction only; the graph is undirected here."


def warnings(graph: Graph) -> list[str]:
    """What may make training useless or a result wrong: each a sentence, also for training.

    Returns:
        What the reader of the files noted, whether directions were dropped, and whether features
        tell nodes apart.

    Example:

    >>> warnings(Graph.from_edges([[0, 1], [1, 0]], features=np.ones((2, 3))))
    ['All nodes have the same features; only edges can tell nodes apart.']
    """
    one_way, edges = graph.report.one_way, graph.num_edges
    directed = []
    # Where every edge is given once, that is how most undirected graphs are written down.
    if 0 < one_way < edges:
        directed = [f"{one_way:,} of {edges:,} edges {_ONE_WAY}"]
    return [*graph.notes, *directed, *same_features(graph.features)]


def same_features(features: Features | None) -> list[str]:
    """A sentence where features cannot tell any two nodes apart; nothing where they can.

    Args:
        features: Features of at least two nodes, dense or CSR; None is told elsewhere.
    """
    if features is None or features.shape[0] < 2 or not features.shape[1]:
        return []
    if isinstance(features, np.ndarray):
        same = bool((features == features[0]).all())
        zero = same and not features[0].any()
    else:
        first = features[[0]]
        zero = not features.data.any()
        # Rows of one pattern and one list of values; an explicit zero counts as a value.
        same = zero or (
            len(features.data) == features.shape[0] * first.nnz
            and bool((np.diff(features.indptr) == first.nnz).all())
            and bool((features.indices.reshape(-1, first.nnz) == first.indices).all())
            and bool((features.data.reshape(-1, first.nnz) == first.data).all())
        )
    if not same:
        return []
    what = "All features are zero" if zero else "All nodes have the same features"
    return [f"{what}; only edges can tell nodes apart."]


def notes(graph: Graph) -> list[str]:
    """What is legal but may surprise: each a sentence, the gravest first."""
    found = warnings(graph)
    if 0 < graph.report.one_way == graph.num_edges:
        found.append(f"All {graph.num_edges:,} edges {_ONE_WAY}")
    isolated = int((graph.degrees == 0).sum())
    if isolated:
        found.append(f"{isolated:,} nodes have no edge; they aggregate only themselves.")
    if graph.report.self_loops or graph.report.duplicates:
        found.append(f"{graph.report}.")
    if graph.features is None:
        found.append("There are no features; degree and position take their place.")
    else:
        found.extend(_feature_notes(graph.features))
    return found + _label_notes(graph)


def _label_notes(graph: Graph) -> list[str]:
    if graph.labels is None:
        return ["There are no labels; embeddings cannot be scored by classes."]
    if graph.is_multilabel:
        return []
    found = []
    rare = int((class_sizes(graph) < 2).sum())
    if rare:
        found.append(f"{rare:,} classes have fewer than 2 nodes.")
    missing = int((graph.labels < 0).sum())
    if missing:
        found.append(f"{missing:,} nodes have no class (-1, NaN or nothing).")
    return found


def _feature_notes(features: Features) -> list[str]:
    if isinstance(features, np.ndarray):
        empty = int((~features.any(axis=1)).sum())
        unused = int((~features.any(axis=0)).sum())
    else:
        empty = int((np.diff(features.indptr) == 0).sum())
        unused = features.shape[1] - len(np.unique(features.indices))
    found = []
    if empty:
        found.append(f"{empty:,} nodes have only zeros as features.")
    if unused:
        found.append(f"{unused:,} features are zero at all nodes.")
    return found


def _share(part: float, whole: float) -> str:
    share = 100 * part / whole if whole else 0.0
    return f"{share:.1f} %" if share >= 1 else f"{share:.2g} %"
