"""What a preset reads of a graph: sizes, the kind of its features, how alike neighbours are."""

import dataclasses
from typing import Self

import numpy as np

from cade_tf.config import FeatureOptions
from cade_tf.graph.features import FeatureTransform
from cade_tf.graph.graph import Features, Graph

SAMPLED_NODES = 20_000
SAMPLED_EDGES = 20_000
# Integers that fill more of the table than this are measurements (pixels, ages), not counts.
DENSEST_COUNTS = 0.25
DENSEST_WEIGHTS = 0.5


@dataclasses.dataclass(frozen=True, kw_only=True)
class GraphStatistics:
    """Statistics of a graph that need no labels.

    Args:
        nodes: Number of nodes.
        mean_degree: Mean number of neighbours.
        kind: `none` (no features), `binary` (0 or 1), `counts` (sparse integers), `weights`
            (sparse numbers of at least 0, such as TF-IDF) or `dense` (anything else).
        width: Number of features.
        density: Share of features that are not zero.
        zero_rows: Share of nodes all of whose features are zero.
        autocorrelation: Mean cosine of two neighbours' features, each node's scaled to unit
            length, then centred; about 0 where neighbours have nothing in common.
        noisy: Whether only means of features over neighbours follow edges, see `is_noisy`; not
            measured here.

    Example:

    >>> graph = Graph.from_edges([[0, 1], [2, 3]], features=np.array([[1, 0]] * 2 + [[0, 1]] * 2))
    >>> found = GraphStatistics.measure(graph)
    >>> found.kind, found.mean_degree, round(found.autocorrelation, 3)
    ('binary', 1.0, 1.0)
    """

    nodes: int
    mean_degree: float
    kind: str
    width: int
    density: float
    zero_rows: float
    autocorrelation: float
    noisy: bool = False

    @classmethod
    def measure(cls, graph: Graph, *, seed: int = 0) -> Self:
        """Measures a graph; of large ones a sample of nodes and edges.

        Args:
            graph: The training graph.
            seed: Seed of the samples.
        """
        generator = np.random.default_rng(seed)
        width = graph.num_features
        kind, density, zero_rows, autocorrelation = "none", 0.0, 0.0, 0.0
        if graph.features is not None and width and graph.num_nodes:
            rows = _sample(graph.features, generator)
            kind, density, zero_rows = _describe(rows)
            autocorrelation = _autocorrelation(graph, graph.features, kind, rows, generator)
        return cls(
            nodes=graph.num_nodes,
            mean_degree=2 * graph.num_edges / max(graph.num_nodes, 1),
            kind=kind,
            width=width,
            density=density,
            zero_rows=zero_rows,
            autocorrelation=autocorrelation,
        )


def mean_share(graph: Graph, options: FeatureOptions, *, seed: int = 0) -> float:
    """How much of nodes' squared length lies in their mean, once features are scaled.

    Near 0 where features are rare or centred, large where most nodes have the same ones.

    Args:
        graph: The training graph.
        options: How features are scaled.
        seed: Seed of the sample of a large graph.

    Example:

    >>> graph = Graph.from_edges([[0, 1]], features=np.array([[3.0, 4.0], [4.0, 3.0]]))
    >>> round(mean_share(graph, FeatureOptions(feature_scaling="row")), 2)
    0.98
    """
    if graph.features is None or not graph.num_features or not graph.num_nodes:
        return 0.0
    rows = _sample(graph.features, np.random.default_rng(seed))
    scaled = FeatureTransform.fit(rows, options.replace(feature_svd=0)).apply(rows)
    mean = np.asarray(scaled.mean(axis=0)).ravel()
    whole = float(_row_dots(scaled, scaled).mean())
    return float(mean @ mean) / whole if whole > 0 else 0.0


def _sample(features: Features, generator: np.random.Generator) -> Features:
    nodes = features.shape[0]
    if nodes <= SAMPLED_NODES:
        return features
    return features[np.sort(generator.choice(nodes, SAMPLED_NODES, replace=False))]


def _describe(rows: Features) -> tuple[str, float, float]:
    """Kind, density and share of zero rows."""
    values = rows if isinstance(rows, np.ndarray) else rows.data
    present = rows != 0
    filled = np.asarray(present.sum(axis=1)).ravel()
    density = float(filled.sum() / max(rows.shape[0] * rows.shape[1], 1))
    zero_rows = float((filled == 0).mean())
    smallest, largest = float(values.min(initial=0)), float(values.max(initial=0))
    whole = bool((values == np.round(values)).all())
    if smallest >= 0 and whole and largest <= 1:
        return "binary", density, zero_rows
    if smallest >= 0 and whole and density <= DENSEST_COUNTS:
        return "counts", density, zero_rows
    if smallest >= 0 and not whole and density <= DENSEST_WEIGHTS:
        return "weights", density, zero_rows
    return "dense", density, zero_rows


def _autocorrelation(
    graph: Graph, features: Features, kind: str, rows: Features, generator: np.random.Generator
) -> float:
    edges = _sampled_edges(graph, generator)
    if not len(edges):
        return 0.0
    # Columns of dense features may have any unit; those of words all have the same.
    scaling = "standard_row" if kind == "dense" else "row"
    transform = FeatureTransform.fit(rows, FeatureOptions(feature_scaling=scaling))
    mean = np.asarray(transform.apply(rows).mean(axis=0)).ravel()
    ends = [transform.apply(features[edges[:, side]]) for side in (0, 1)]
    # Centred products without centring, which would make sparse features dense.
    along = [np.asarray(end @ mean).ravel() for end in ends]
    middle = float(mean @ mean)
    lengths = [
        np.sqrt(np.maximum(_row_dots(end, end) - 2 * shadow + middle, 0.0))
        for end, shadow in zip(ends, along, strict=True)
    ]
    products = _row_dots(ends[0], ends[1]) - along[0] - along[1] + middle
    scale = lengths[0] * lengths[1]
    told = (scale > 1e-6) & (_row_dots(ends[0], ends[0]) > 0) & (_row_dots(ends[1], ends[1]) > 0)
    return float((products[told] / scale[told]).mean()) if told.any() else 0.0


def _sampled_edges(graph: Graph, generator: np.random.Generator) -> np.ndarray:
    """Ends of all edges, or of many drawn at random, without listing the others."""
    directed = len(graph.indices)
    if directed <= 2 * SAMPLED_EDGES:
        return graph.edges()
    chosen = np.sort(generator.integers(0, directed, SAMPLED_EDGES))
    owners = np.searchsorted(graph.indptr, chosen, side="right") - 1
    return np.stack([owners, graph.indices[chosen]], axis=1)


def _row_dots(first: Features, second: Features) -> np.ndarray:
    """Dot product of each row with that of the other matrix."""
    if isinstance(first, np.ndarray):
        return np.einsum("ij,ij->i", first, second)
    return np.asarray(first.multiply(second).sum(axis=1)).ravel()
