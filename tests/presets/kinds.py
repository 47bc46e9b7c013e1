"""Small generated graphs with features of each kind."""

import numpy as np
import scipy.sparse as sp

from cade_tf.graph.graph import Graph

GENERATED = ("none", "binary", "counts", "weights", "dense")
NODES, GROUPS, WORDS = 500, 5, 60


def generated(
    kind: str,
    *,
    alike: bool = True,
    degree: int = 8,
    weighted: bool = False,
    hubs: bool = False,
    width: int = WORDS,
    seed: int = 0,
) -> Graph:
    """A graph of groups: members share words, and are neighbours where `alike`.

    With `hubs`, most edges lead to few nodes, and many are listed more than once.
    """
    rng = np.random.default_rng(seed)
    group = rng.integers(0, GROUPS, NODES)
    edges = []
    for node in range(NODES):
        others = np.flatnonzero(group == group[node]) if alike else np.arange(NODES)
        chances = 1 / np.arange(1, len(others) + 1) if hubs else np.ones(len(others))
        drawn = rng.choice(others, degree // 2, p=chances / chances.sum())
        edges += [(node, other) for other in drawn]
    own_words = np.arange(width) % GROUPS == group[:, None]
    words = rng.random((NODES, width)) < np.where(own_words, 0.4, 0.05)
    # Every node has a word.
    words[np.arange(NODES), group] = True
    values = {
        "binary": words.astype(np.float32),
        "counts": words * rng.integers(1, 9, words.shape).astype(np.float32),
        "weights": words * rng.uniform(0.1, 2.0, words.shape).astype(np.float32),
        "dense": own_words + rng.normal(size=words.shape).astype(np.float32),
    }
    features = None
    if kind != "none":
        features = values[kind] if kind == "dense" else sp.csr_array(values[kind])
    return Graph.from_edges(
        np.array(edges),
        num_nodes=NODES,
        features=features,
        labels=group,
        edge_weights=rng.uniform(0.5, 2.0, len(edges)) if weighted else None,
        name=kind,
    )
