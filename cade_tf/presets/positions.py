"""How much of a node's position in the graph its embedding should start with.

Where features say little about edges, positions say what they leave out; where features say it,
positions only take their place. Some edges of the training graph are hidden, and told from pairs
without an edge by an untrained encoder: by features alone, and with positions of growing length.
"""

import numpy as np

from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.graph.features import FeatureTransform
from cade_tf.graph.graph import Graph
from cade_tf.graph.link_splits import LinkSplit, hidden_edges
from cade_tf.graph.smoothing_start import SmoothingStart

HIDDEN = 0.1
"""Share of the edges that is hidden."""

MOST_NODES = 20_000
"""Of a larger graph a part of this size is looked at, nodes that are near each other."""

WEIGHTS = (0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0, 1.5)
"""Lengths of positions that are tried, as shares of the smoothed part."""

# A gain in AUC below this is not worth dimensions of the features.
SMALLEST_GAIN = 0.01
# The shortest positions are taken with which this share of the largest gain is won: the rest
# would cost more of what features tell about labels.
SHARE_OF_GAIN = 1 / 3


def position_weight(graph: Graph, config: Config) -> float:
    """The length of positions that hidden edges ask for, 0 for none.

    Args:
        graph: The training graph, with features.
        config: Options of the start, decided but for `position_weight`.

    Example:

    >>> ring = [[i, (i + step) % 60] for i in range(60) for step in (1, 2)]
    >>> noise = np.random.default_rng(0).standard_normal((60, 4))
    >>> position_weight(Graph.from_edges(ring, features=noise), Config(dim=16)) > 0
    True
    """
    graph = graph.subgraph(near_each_other(graph, MOST_NODES, config.seed))
    try:
        links = hidden_edges(graph, HIDDEN, 0.0, config.seed, train_non_edges=False)
    except InputError:
        return 0.0  # Too small or too dense for edges to be hidden.
    gains = gains_by_weight(graph, links, config)
    largest = max(gains.values())
    if largest < SMALLEST_GAIN:
        return 0.0
    return next(w for w in WEIGHTS if gains[w] >= SHARE_OF_GAIN * largest)


def near_each_other(graph: Graph, count: int, seed: int) -> np.ndarray:
    """Nodes around a random one, the nearest first; around others where a component ends.

    Args:
        graph: The graph.
        count: How many, at most.
        seed: Seed of the choice.

    Returns:
        Positions, ascending.

    Example:

    >>> path = Graph.from_edges([[i, i + 1] for i in range(9)])
    >>> bool((np.diff(near_each_other(path, 4, seed=0)) == 1).all())
    True
    """
    if graph.num_nodes <= count:
        return np.arange(graph.num_nodes)
    generator = np.random.default_rng(seed)
    found = np.zeros(graph.num_nodes, bool)
    missing, starts, frontier = count, 1, np.zeros(0, np.int64)
    while missing:
        if not len(frontier):
            # More at a time: there may be many small components.
            frontier = generator.permutation(np.flatnonzero(~found))[:starts]
            starts *= 2
        frontier = generator.permutation(frontier)[:missing]
        found[frontier] = True
        missing -= len(frontier)
        neighbors = np.unique(graph.adjacency()[frontier].indices)
        frontier = neighbors[~found[neighbors]]
    return np.flatnonzero(found)


def gains_by_weight(graph: Graph, links: LinkSplit, config: Config) -> dict[float, float]:
    """What positions of each length add to the AUC of hidden edges.

    Args:
        graph: The training graph.
        links: Which of its edges are hidden.
        config: Options of the start.
    """
    from sklearn.metrics import roc_auc_score

    visible = links.input_graph(graph)
    transform = FeatureTransform.fit(graph.features, config, config.seed)
    start = SmoothingStart.of(
        visible,
        transform.apply(graph.features),
        config.dim,
        self_weights=np.array(config.self_weights),
        depth=len(config.fanouts),
        own_weight=config.own_weight,
        position_weight=1.0,
        remove_mean=config.remove_mean,
        seed=config.seed,
    )
    first, second = np.concatenate([links.test_edges, links.test_non_edges]).T
    linked = np.arange(len(first)) < len(links.test_edges)
    parts = (start.by_features(), start.by_positions())
    products = [np.einsum("ij,ij->i", part[first], part[second]) for part in parts]
    squares = [np.einsum("ij,ij->i", part, part) for part in parts]

    def auc(weight: float) -> float:
        lengths = np.sqrt(squares[0] + weight**2 * squares[1])
        scale = np.maximum(lengths[first] * lengths[second], np.finfo(np.float32).tiny)
        return float(roc_auc_score(linked, (products[0] + weight**2 * products[1]) / scale))

    without = auc(0.0)
    return {weight: auc(weight) - without for weight in WEIGHTS}
