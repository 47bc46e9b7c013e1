"""Models, graphs and requests for the tests of serving."""

from typing import Any

import numpy as np
import scipy.sparse as sp
import tensorflow as tf

from cade_tf.graph.graph import Graph
from cade_tf.models.dual_encoder import DualEncoder
from tests import engine

WALK_LENGTH = 3


def pairs_graph(*, sparse: bool = False, weighted: bool = False, strings: bool = False) -> Graph:
    """Five edges that share no node, and a node alone: every draw has one possible outcome."""
    rng = np.random.default_rng(5)
    features = rng.normal(size=(11, engine.WIDTH)).astype(np.float32)
    numbers = 100 - 7 * np.arange(11)
    return Graph.from_edges(
        [[2 * i, 2 * i + 1] for i in range(5)],
        num_nodes=11,
        features=sp.csr_array(features) if sparse else features,
        edge_weights=rng.uniform(0.5, 2.0, 5) if weighted else None,
        node_ids=np.array([f"node {n}" for n in numbers]) if strings else numbers,
        name="pairs",
    )


def make_model(name: str, graph: Graph, scaling: str = "standard", **options: Any) -> DualEncoder:
    """A model with random weights that knows the first six nodes of a graph."""
    return engine.prepared_model(
        name, graph, known=graph.ids[:6], scaling=scaling, walk_length=WALK_LENGTH, **options
    )


def raw(graph: Graph, nodes: Any) -> np.ndarray:
    """Features of nodes as a request brings them: dense and unscaled."""
    rows = graph.features[np.asarray(nodes).ravel()]
    rows = rows.toarray() if sp.issparse(rows) else rows
    return rows.reshape(*np.shape(nodes), -1)


def ids(graph: Graph, *positions: int) -> tf.Tensor:
    """Ids of nodes as a request brings them."""
    return tf.constant(
        graph.ids[list(positions)].tolist(), tf.string if strings(graph) else tf.int64
    )


def strings(graph: Graph) -> bool:
    """Whether the ids are strings."""
    return graph.ids.dtype.kind == "U"


def requests(graph: Graph, model: DualEncoder) -> dict[str, dict[str, tf.Tensor]]:
    """A good request to every signature."""
    rng = np.random.default_rng(8)
    seed = tf.constant(3, tf.int64)
    new = {
        "features": tf.constant(rng.normal(size=(3, engine.WIDTH)), tf.float32),
        "neighbor_row_splits": tf.constant([0, 2, 2, 3], tf.int64),
        "neighbor_ids": ids(graph, 4, 10, 1),
        "seed": seed,
    }
    if graph.edge_weights is not None:
        new["neighbor_weights"] = tf.constant([0.3, 2.0, 1.0])
    trees = (2, model.k) if model.samplings_by_k else (2,)
    shapes = [(2,), (*trees, 3), (*trees, 3, 2)]
    hops = {f"hop_{n}": _normal(rng, (*shape, engine.WIDTH)) for n, shape in enumerate(shapes)}
    biases = {f"bias_{n}": _normal(rng, (*s, model.dim)) for n, s in enumerate(shapes[:-1])}
    candidates = (2, model.k if model.attention is not None else 1, model.dim)
    return {
        "serving_default": {"node_ids": ids(graph, 10, 0, 7, 7), "seed": seed},
        "embed_new": new,
        "embed_pair": {
            "node_ids": ids(graph, 0, 9),
            "partner_ids": ids(graph, 1, 10),
            "seed": seed,
        },
        "encode_tree": hops,
        "encode_tree_with_bias": {**hops, **biases},
        "attend_pair": {"nodes": _normal(rng, candidates), "partners": _normal(rng, candidates)},
    }


def _normal(rng: np.random.Generator, shape: tuple[int, ...]) -> tf.Tensor:
    return tf.constant(rng.normal(size=shape), tf.float32)
