"""What a user does with a model and a graph: adapt, compile, fit, embed, save, export.

The one place where an earlier stage knows later ones: each method hands over to the stage that
does the work, as Keras' own models do.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras
import numpy as np
import tensorflow as tf

from cade_tf.config import EmbeddingOptions, FeatureOptions, TrainingOptions, check_seed
from cade_tf.errors import InputError
from cade_tf.graph import arrays
from cade_tf.graph.graph import Graph
from cade_tf.graph.preparation import Preparation, positions_of
from cade_tf.losses import PairLoss
from cade_tf.optimizers import Adam
from cade_tf.progress import Shown
from cade_tf.sampling.graph_tables import GraphTables, make_graph_tables
from cade_tf.sampling.tables import Table, TensorTable

if TYPE_CHECKING:
    from cade_tf.models.dual_encoder import DualEncoder

PREPARATION_FILE = "preparation.npz"


class GraphModel(keras.Model):
    """A Keras model that is trained on a graph and embeds graphs.

    Attributes:
        preparation: What `adapt` learnt of the training graph; None before.
        trained_on: The graph of the last `fit`, for `export`; not saved.
    """

    feature_options: FeatureOptions
    seed: int

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.preparation: Preparation | None = None
        self.trained_on: Graph | None = None

    # --- graphs ------------------------------------------------------------------------------

    def adapt(self, graph: Graph) -> None:
        """Learns how to scale features and which nodes are known; creates all weights.

        `fit` does it where nobody has before. As with Keras' preprocessing layers, it looks at
        the data and does not train.

        Args:
            graph: The training graph.
        """
        found = Preparation.fit(graph, self.feature_options, self.seed)
        self.build_for(found.transform.output_width, graph.num_nodes)
        self.preparation = found

    def build_for(self, feature_width: int, num_known: int) -> None:
        """Creates all weights; a subclass says which."""
        raise TypeError(f"{type(self).__name__} does not say what it consists of.")

    def prepared(self) -> Preparation:
        """What `adapt` learnt.

        Raises:
            InputError: The model has seen no graph yet.
        """
        if self.preparation is None:
            raise InputError(
                "model", "a model that knows its graph", "one that does not", "Call adapt or fit."
            )
        return self.preparation

    def tables(
        self: "DualEncoder", graph: Graph, make_table: Callable[[np.ndarray], Table] = TensorTable
    ) -> GraphTables:
        """Lays a graph out for this model: scaled features, bias rows of known nodes.

        Args:
            graph: The graph.
            make_table: Keeps an array as a table; in this process by default.

        Raises:
            InputError: The features are not those of training.
        """
        preparation = self.prepared()
        return make_graph_tables(
            graph,
            preparation.features(graph),
            known=preparation.bias_rows(graph) if self.global_bias else None,
            make_table=make_table,
        )

    # --- training ------------------------------------------------------------------------------

    def compile(
        self,
        optimizer: str | keras.optimizers.Optimizer | None = None,
        loss: keras.losses.Loss | None = None,
        **kwargs: Any,
    ) -> None:
        """Chooses what trains the model.

        Args:
            optimizer: Any Keras optimiser; `cade_tf.optimizers.Adam(1e-4)`, the paper's, by
                default. With others a step updates the whole global bias, not only its rows.
            loss: A loss of affinities: `cade_tf.losses.PairLoss()`, the paper's, by default.
            **kwargs: Other arguments of `keras.Model.compile`.
        """
        kwargs.setdefault("jit_compile", False)
        super().compile(
            optimizer=Adam(1e-4) if optimizer is None else optimizer,
            loss=PairLoss() if loss is None else loss,
            **kwargs,
        )

    def get_compile_config(self) -> dict[str, Any]:
        """What `compile_from_config` needs."""
        if not self.compiled:
            return {}
        serialize = keras.saving.serialize_keras_object
        return {"optimizer": serialize(self.optimizer), "loss": serialize(self.loss)}

    def compile_from_config(self, config: dict[str, Any]) -> None:
        """Compiles a model that was saved compiled, so that its training can go on."""
        if not config:
            return
        found = {name: keras.saving.deserialize_keras_object(config[name]) for name in config}
        self.compile(**found)
        if self.built and self.optimizer is not None:
            self.optimizer.build(self.trainable_variables)

    def fit(
        self,
        graph: Graph,
        *,
        steps: int = TrainingOptions.steps,
        steps_per_epoch: int | None = None,
        batch_size: int = TrainingOptions.batch_size,
        walks_per_node: int = TrainingOptions.walks_per_node,
        negatives: int = TrainingOptions.negatives,
        feature_dropout: float = 0.0,
        bias_dropout: float = 0.0,
        callbacks: Sequence[keras.callbacks.Callback] = (),
        verbose: int | str = "auto",
    ) -> keras.callbacks.History:
        """Trains on the positive pairs of random walks, without labels.

        Args:
            graph: The training graph.
            steps: Steps of the whole training. A model whose optimiser has done some of them (a
                backup was restored) continues with the next.
            steps_per_epoch: What callbacks take for an epoch: they see means over so many steps.
                A twentieth of `steps` by default.
            batch_size: Positive pairs per step.
            walks_per_node: Random walks from each node in one pass over all walks.
            negatives: Q, negatives per step.
            feature_dropout: Share of a node's features that a step does not see.
            bias_dropout: Share of nodes whose global bias a step does not see.
            callbacks: Keras callbacks. Logs hold loss, mrr and the other metrics of a step.
            verbose: 0 shows no progress.

        Returns:
            The history of all metrics, one value per epoch.

        Raises:
            InputError: The graph has no edge to learn from.
            FloatingPointError: A number was not finite.
        """
        from cade_tf.training.fitting import fit

        return fit(
            self,
            graph,
            steps=steps,
            steps_per_epoch=steps_per_epoch,
            batch_size=batch_size,
            walks_per_node=walks_per_node,
            negatives=negatives,
            feature_dropout=feature_dropout,
            bias_dropout=bias_dropout,
            callbacks=callbacks,
            progress=bool(verbose),
        )

    # --- embeddings ----------------------------------------------------------------------------

    def embed(
        self: "DualEncoder",
        graph: Graph,
        *,
        nodes: Sequence[object] | np.ndarray | None = None,
        walks: int = EmbeddingOptions.embed_walks,
        seed: int = 0,
        batch_size: int = EmbeddingOptions.embed_batch_size,
        progress: Shown = True,
    ) -> np.ndarray:
        """Algorithm 1 on any graph in the same feature space.

        Args:
            graph: The graph; nodes whose ids training knew use their global bias.
            nodes: Ids of the nodes to embed; all by default. Each then has the contexts of its
                own walks alone, so that the work does not grow with the graph and the numbers
                are not those of the whole graph, though near them.
            walks: Walks from each node.
            seed: The same seed gives the same embeddings.
            batch_size: Walks encoded together.
            progress: Whether to show progress.

        Returns:
            float32 [nodes, dim], rows in the order of the graph, or of `nodes`.

        Raises:
            InputError: The features are not those of training, an id is unknown, or features are so
                large that the embedding of some node, which the message names, is not finite.
        """
        check_seed(seed)
        EmbeddingOptions(embed_walks=walks, embed_batch_size=batch_size)
        if nodes is not None:
            return self._embed_some(graph, nodes, walks, seed)
        from cade_tf.inference.algorithm1 import embed_all_nodes

        return embed_all_nodes(
            self,
            self.tables(graph),
            walks=walks,
            walk_length=self.walk_length,
            seed=seed,
            batch_size=batch_size,
            ids=graph.ids,
            progress=progress,
        )

    def _embed_some(
        self: "DualEncoder",
        graph: Graph,
        nodes: Sequence[object] | np.ndarray,
        walks: int,
        seed: int,
    ) -> np.ndarray:
        from cade_tf.inference.on_demand import embed_nodes

        positions = positions_of(graph, list(nodes))
        vectors = embed_nodes(
            self,
            self.tables(graph),
            tf.constant(positions),
            seed,
            walks=walks,
            walk_length=self.walk_length,
        )
        found: np.ndarray = vectors.numpy()
        return found

    def score_links(
        self: "DualEncoder",
        graph: Graph,
        pairs: Sequence[Sequence[object]] | np.ndarray,
        *,
        draws: int = EmbeddingOptions.embed_walks,
        seed: int = 0,
    ) -> np.ndarray:
        """How well two nodes match in the context of each other; see `dual_affinities`.

        Args:
            graph: The graph.
            pairs: [pairs, 2], ids of nodes.
            draws: Neighbourhoods are drawn this often; scores are means over them.
            seed: The same seed gives the same scores.

        Returns:
            float32 [pairs], higher where a link is more likely.

        Raises:
            InputError: Something else than pairs of ids of the graph.
        """
        from cade_tf.inference.pair_scores import dual_affinities

        check_seed(seed)
        ids = np.asarray(pairs)
        if ids.ndim != 2 or ids.shape[1] != 2:
            raise InputError("pairs", "ids of shape [pairs, 2]", ids.shape, "Give two per row.")
        positions = positions_of(graph, ids.ravel().tolist()).reshape(-1, 2)
        return dual_affinities(self, graph, positions, draws=draws, seed=seed, progress=False)

    def rank_links(
        self: "DualEncoder",
        graph: Graph,
        node: object,
        embeddings: np.ndarray,
        *,
        top: int = 10,
        by: str = "dual",
        seed: int = 0,
    ) -> tuple[np.ndarray, np.ndarray]:
        """The nodes that a node is most likely to be linked with, and is not.

        Args:
            graph: The graph.
            node: Id of the node.
            embeddings: [nodes, dim], of the graph's nodes.
            top: Nodes returned; fewer where the node has no more without a link.
            by: `dual` (each node in the context of the other) or `dot` (dot product of two
                embeddings).
            seed: The same seed gives the same scores.

        Returns:
            Ids [top] and scores float32 [top], the most likely first.

        Raises:
            InputError: An unknown id or score.
        """
        from cade_tf.evaluation.link_ranking import rank_links

        check_seed(seed)
        (position,) = positions_of(graph, [node])
        found, scores = rank_links(
            self, graph, int(position), embeddings, top=top, by=by, seed=seed
        )
        return graph.ids[found], scores

    def embed_full(self: "DualEncoder", graph: Graph, *, progress: Shown = True) -> np.ndarray:
        """Embeds every node from all its neighbours, without sampling.

        Args:
            graph: The graph; nodes whose ids training knew use their global bias.
            progress: Whether to show progress.

        Returns:
            float32 [nodes, dim], rows in the order of the graph.

        Raises:
            InputError: As for `embed`.
        """
        from cade_tf.inference.full_neighborhood import embed_full_neighborhood

        preparation = self.prepared()
        return embed_full_neighborhood(
            self,
            graph,
            preparation.features(graph),
            bias_rows=preparation.bias_rows(graph) if self.global_bias else None,
            progress=progress,
        )

    # --- files -----------------------------------------------------------------------------------

    def save_assets(self, folder: str) -> None:
        """Keras' hook for what is no weight: the preparation of graphs."""
        if self.preparation is not None:
            arrays.write_arrays(Path(folder) / PREPARATION_FILE, self.preparation.to_arrays())

    def load_assets(self, folder: str) -> None:
        """Reads what `save_assets` wrote."""
        path = Path(folder) / PREPARATION_FILE
        if path.is_file():
            self.preparation = Preparation.from_arrays(arrays.read_arrays(path))

    def export(
        self: "DualEncoder",
        filepath: str | Path,
        *,
        graph: Graph | None = None,
        walks: int = EmbeddingOptions.embed_walks,
        seed: int = 0,
    ) -> Path:
        """Writes the next version of a SavedModel, filepath/1, filepath/2 and so on.

        Args:
            filepath: Folder of all versions.
            graph: The graph whose nodes requests may name; the graph of the last `fit` by
                default. A model that was loaded has none, and is then exported without: its
                signatures take neighbourhoods that the caller brings.
            walks: Walks that make the contexts of a node.
            seed: Seed of requests that bring none.

        Returns:
            Folder of the new version.
        """
        from cade_tf.serving.export import export_model

        check_seed(seed)
        graph = self.trained_on if graph is None else graph
        return export_model(self, filepath, graph=graph, walks=walks, seed=seed)
