"""CADE as a transformer of scikit-learn."""

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from cade_tf.config import Config
from cade_tf.display import short
from cade_tf.errors import InputError
from cade_tf.graph.graph import Graph
from cade_tf.graph.preparation import positions_of
from cade_tf.training.arguments import one_config
from cade_tf.training.trainer import train

__all__ = ["NodeEmbedder"]


class NodeEmbedder(TransformerMixin, BaseEstimator):
    """Embeds the nodes of a graph, as a step of a scikit-learn pipeline.

    Without the parameter `graph`, X is a `Graph`: `fit` trains on it without labels, `transform`
    embeds its nodes or those of another graph with the same features. Steps after it get one row
    per node, and y one entry per node.

    With the parameter `graph`, X holds ids of its nodes, so that what divides samples works:
    `cross_val_score`, `GridSearchCV`. `fit` then trains on these nodes and the edges between them
    alone; `transform` embeds nodes in the whole graph, those that training did not see included.

    Args:
        graph: The graph whose ids X holds; None where X is a graph.
        model: cade_ms, cade_ma, cade_gb or graphsage.
        dim: Width of the embeddings.
        k: Candidates per node, the paper's K.
        steps: Training steps.
        batch_size: Positive pairs per step.
        learning_rate: Learning rate.
        embed_walks: Random walks from each node when a graph is embedded.
        random_state: Seed of training and embedding.
        options: Any other option of `cade_tf.Config`, by name.
        progress: Whether to show progress.

    Attributes:
        trained_: The training; see `cade_tf.Trained`.
        n_features_in_: Features of a node.

    Example:

    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.pipeline import make_pipeline
    >>> graph = Graph.from_edges([[0, 1], [1, 2], [2, 3]], features=np.eye(4), labels=[0, 0, 1, 1])
    >>> embedder = NodeEmbedder(dim=8, steps=2, batch_size=4, options={"fanouts": (2, 2)})
    >>> pipeline = make_pipeline(embedder, LogisticRegression()).fit(graph, graph.labels)
    >>> pipeline.predict(graph).shape
    (4,)
    """

    def __init__(
        self,
        graph: Graph | None = None,
        *,
        model: str = Config.model,
        dim: int = Config.dim,
        k: int = Config.k,
        steps: int = Config.steps,
        batch_size: int = Config.batch_size,
        learning_rate: float = Config.learning_rate,
        embed_walks: int = Config.embed_walks,
        random_state: int = 0,
        options: Mapping[str, Any] | None = None,
        progress: bool = False,
    ) -> None:
        self.graph = graph
        self.model = model
        self.dim = dim
        self.k = k
        self.steps = steps
        self.batch_size = batch_size
        self.learning_rate = learning_rate
        self.embed_walks = embed_walks
        self.random_state = random_state
        self.options = options
        self.progress = progress

    def fit(self, X: Any, y: Any = None) -> Self:
        """Trains, without labels.

        Args:
            X: A graph, or ids of the nodes to train on.
            y: Not used.

        Raises:
            InputError: X or an option does not fit.
        """
        graph = self._graph_of(X)
        if self.graph is not None:
            graph = graph.subgraph(self._positions(X))
        self.trained_ = train(graph, self._config(), progress=self.progress)
        self.n_features_in_ = graph.num_features
        return self

    def transform(self, X: Any) -> np.ndarray:
        """Embeds nodes.

        Args:
            X: A graph, or ids of nodes.

        Returns:
            float32 [nodes, dim], rows in the order of X.

        Raises:
            InputError: X does not fit.
            sklearn.exceptions.NotFittedError: There was no training yet.
        """
        check_is_fitted(self, "trained_")
        embeddings = self.trained_.embed(self._graph_of(X), progress=self.progress)
        return embeddings if self.graph is None else embeddings[self._positions(X)]

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the dimensions of the embeddings."""
        check_is_fitted(self, "trained_")
        width = self.trained_.config.dim
        return np.array([f"{type(self).__name__.lower()}{i}" for i in range(width)], object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.no_validation = True
        tags.input_tags.two_d_array = False
        tags.input_tags.one_d_array = True
        tags.input_tags.string = True
        return tags

    def _config(self) -> Config:
        own = ("model", "dim", "k", "steps", "batch_size", "learning_rate", "embed_walks")
        # Grids of parameters are often arrays, whose numbers are NumPy's.
        given = {name: _plain(getattr(self, name)) for name in own}
        if not isinstance(self.options or {}, Mapping):
            raise InputError("options", "names with values", short(self.options), "Give a dict.")
        options = dict(self.options or {})
        repeated = sorted({*options} & {*given, "seed"})
        if repeated:
            raise InputError(
                "options", "what has no parameter of its own", ", ".join(repeated), "Move it there."
            )
        return one_config(None, {**given, **options, "seed": _plain(self.random_state)})

    def _graph_of(self, X: Any) -> Graph:
        if self.graph is not None:
            return self.graph
        if not isinstance(X, Graph):
            raise InputError(
                "X",
                "a cade_tf.Graph",
                type(X).__name__,
                "Make one with Graph.from_edges, or give a graph to NodeEmbedder and ids as X.",
            )
        return X

    def _positions(self, X: Any) -> np.ndarray:
        if isinstance(X, Graph) or self.graph is None:
            raise InputError(
                "X", "ids of nodes of the parameter graph", "a graph", "Leave one of them out."
            )
        return positions_of(self.graph, np.asarray(X).ravel())


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value
