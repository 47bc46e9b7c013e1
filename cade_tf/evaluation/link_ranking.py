"""Link prediction on any graph: hide edges, train, score; rank the links that a node lacks."""

import dataclasses
from pathlib import Path
from typing import Any

import numpy as np

from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.evaluation import links
from cade_tf.graph.graph import Graph
from cade_tf.graph.link_splits import LinkSplit, hidden_edges
from cade_tf.inference.finite import require_rows
from cade_tf.inference.pair_scores import dual_affinities, dual_scores
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.training.arguments import one_config
from cade_tf.training.trained import Trained
from cade_tf.training.trainer import train_graph

DOT, DUAL = "dot", "dual"
SCORES = (DUAL, DOT)

# Options that make no sense here, and the value that leaves them out.
_UNUSED = {"validate_every": 0, "compare": (), "cluster": False, "memory_map": False}


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class LinkPrediction:
    """A training that did not see some edges, and how well it finds them.

    Args:
        trained: The training.
        split: The hidden edges, and as many pairs of nodes without an edge.
        embeddings: float32 [nodes, dim], made without the hidden edges.
        scores: For `dot` (dot product of two embeddings) and `dual` (each node in the context of
            the other): `auc` and `ap` of the hidden edges against the other pairs.
    """

    trained: Trained
    split: LinkSplit
    embeddings: np.ndarray
    scores: dict[str, dict[str, float]]


def predict_links(
    graph: Graph,
    config: Config | None = None,
    *,
    hidden_ratio: float = 0.1,
    unseen_ratio: float = 0.0,
    run_dir: str | Path | None = None,
    progress: bool = True,
    **options: Any,
) -> LinkPrediction:
    """Hides edges, trains on the others, and scores how well the hidden ones are found.

    Args:
        graph: The whole graph.
        config: All options of the training, exactly as they are; `split_seed` chooses what is
            hidden.
        hidden_ratio: Share of the edges that is hidden.
        unseen_ratio: Share of the nodes that training does not see at all.
        run_dir: Where checkpoints and TensorBoard events go; a run found there is continued.
            None keeps nothing.
        progress: Whether to show progress.
        **options: Instead of `config`, some options by name; see `train`.

    Returns:
        The training and its scores.

    Raises:
        InputError: A ratio or an option does not fit.

    Example:

    >>> ring = [[i, (i + step) % 20] for i in range(20) for step in (1, 2)]
    >>> graph = Graph.from_edges(ring, features=np.eye(20))
    >>> config = Config(k=2, dim=8, fanouts=(2, 2), steps=2, batch_size=8)
    >>> found = predict_links(graph, config, hidden_ratio=0.2, progress=False)
    >>> len(found.split.test_edges), sorted(found.scores["dual"])
    (8, ['ap', 'auc'])
    """
    config = one_config(config, options)
    for name, unused in _UNUSED.items():
        if getattr(config, name) != unused:
            raise InputError(
                name, f"{unused or 'none'} for links", getattr(config, name), "Leave it out."
            )
    split = hidden_edges(graph, hidden_ratio, unseen_ratio, config.split_seed)
    visible = split.input_graph(graph)
    seen = np.setdiff1d(np.arange(graph.num_nodes), split.unseen)
    trained = train_graph(visible.subgraph(seen), config, run_dir=run_dir, progress=progress)
    embeddings = trained.embed(visible, progress=progress)

    dual = dual_scores(trained.model, trained.config, visible, progress=progress)
    functions: dict[str, links.PairScore] = {DOT: links.dot_products(embeddings), DUAL: dual}
    areas = {name: links.score_function(score, split) for name, score in functions.items()}
    return LinkPrediction(
        trained=trained,
        split=split,
        embeddings=embeddings,
        scores={name: {"auc": auc, "ap": ap} for name, (auc, ap) in areas.items()},
    )


def rank_links(
    model: DualEncoder,
    graph: Graph,
    node: int,
    embeddings: np.ndarray,
    *,
    top: int = 10,
    by: str = DUAL,
    shortlist: int = 1000,
    draws: int = 5,
    seed: int = 0,
) -> tuple[np.ndarray, np.ndarray]:
    """The nodes that a node is most likely to be linked with, and is not.

    Args:
        model: A trained model.
        graph: The graph.
        node: Position of the node.
        embeddings: [nodes, dim], of the graph's nodes.
        top: Nodes returned; fewer where the node has no more without a link.
        by: `dot` (dot product of two embeddings), or `dual` (each node in the context of the
            other).
        shortlist: How many nodes, the best by dot product, are scored by `dual`.
        draws: Neighbourhoods are drawn this often for `dual`; scores are means over them.
        seed: The same seed gives the same scores.

    Returns:
        Positions int64 [top] and scores float32 [top], the most likely first.

    Raises:
        InputError: An unknown score, or a position out of range.

    Example:

    >>> graph = Graph.from_edges([[0, 1], [1, 2], [2, 3]], features=np.eye(4))
    >>> config = Config(k=2, dim=8, fanouts=(2, 2), steps=2, batch_size=8)
    >>> trained = train_graph(graph, config, progress=False)
    >>> embeddings = trained.embed(graph, progress=False)
    >>> sorted(rank_links(trained.model, graph, 0, embeddings)[0].tolist())
    [2, 3]
    """
    if by not in SCORES:
        raise InputError("by", "one of " + ", ".join(SCORES), by, "Choose one.")
    if not 0 <= node < graph.num_nodes:
        raise InputError(
            "node", f"a position from 0 to {graph.num_nodes - 1}", node, "Use positions, not ids."
        )
    embeddings = require_rows(embeddings, graph)
    linked = graph.indices[graph.indptr[node] : graph.indptr[node + 1]]
    others = np.setdiff1d(np.arange(graph.num_nodes), [node, *linked])
    scores = np.asarray(embeddings[others] @ embeddings[node], np.float32)
    best = np.argsort(-scores, kind="stable")[: top if by == DOT else max(shortlist, top)]
    others, scores = others[best], scores[best]
    if by == DUAL and len(others):
        pairs = np.stack([np.full_like(others, node), others], axis=1)
        scores = dual_affinities(model, graph, pairs, draws=draws, seed=seed, progress=False)
        best = np.argsort(-scores, kind="stable")[:top]
        others, scores = others[best], scores[best]
    return others, scores
