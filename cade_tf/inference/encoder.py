"""A trained model with everything that embedding another graph needs."""

import dataclasses
import logging
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Self

import numpy as np

from cade_tf.config import EmbeddingOptions, FeatureOptions
from cade_tf.errors import InputError
from cade_tf.graph import arrays
from cade_tf.graph.features import FeatureTransform, node_features
from cade_tf.graph.graph import Features, Graph
from cade_tf.inference.algorithm1 import embed_all_nodes
from cade_tf.inference.full_neighborhood import embed_full_neighborhood
from cade_tf.inference.ids import known_rows
from cade_tf.inference.own_bias import with_own_bias
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.models.factory import load_model
from cade_tf.sampling.graph_tables import GraphTables, make_graph_tables
from cade_tf.sampling.tables import Table, TensorTable

MODEL_FILE = "model.keras"
ARRAYS_FILE = "encoder.npz"

_log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Encoder:
    """Embeds nodes, known or new, of graphs with the features it was trained on.

    Args:
        model: The trained model.
        transform: What was done to the features, fit on training nodes.
        known_ids: Ids of the training nodes, in the order of the rows of the global bias.
        walk_length: Steps of the walks that make contexts.
        feature_names: Names of the features in training, where they had names.
        structural: Whether the training graph had no features, so that degrees stand for them.

    Example:

    >>> from cade_tf.models.graphsage import GraphSAGE
    >>> graph = Graph.from_edges([[0, 1], [1, 2]], features=np.eye(3))
    >>> model = GraphSAGE(feature_width=3, num_known=3, dim=8, fanouts=(2,))
    >>> model.build()
    >>> encoder = Encoder(
    ...     model=model,
    ...     transform=fit_transform(graph, FeatureOptions(), seed=0),
    ...     known_ids=graph.ids,
    ...     walk_length=2,
    ... )
    >>> encoder.embed(graph, walks=1, progress=False).shape
    (3, 8)
    """

    model: DualEncoder
    transform: FeatureTransform
    known_ids: np.ndarray
    walk_length: int
    feature_names: tuple[str, ...] | None = None
    structural: bool = False

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
        return self.transform.apply(features)

    def bias_rows(self, graph: Graph) -> np.ndarray:
        """Row of each node in the global bias, -1 for a node that training did not know."""
        return known_rows(graph.ids, self.known_ids)

    def tables(
        self, graph: Graph, make_table: Callable[[np.ndarray], Table] = TensorTable
    ) -> GraphTables:
        """Lays a graph out for this encoder: scaled features, bias rows of known nodes.

        Args:
            graph: The graph.
            make_table: Keeps an array as a table; in this process by default.

        Raises:
            InputError: The features are not those of training.
        """
        return make_graph_tables(
            graph, self.features(graph), known=self.bias_rows(graph), make_table=make_table
        )

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

    def embed(
        self,
        graph: Graph,
        *,
        walks: int = EmbeddingOptions.embed_walks,
        seed: int = 0,
        batch_size: int = EmbeddingOptions.embed_batch_size,
        progress: bool = True,
    ) -> np.ndarray:
        """Algorithm 1 on any graph in the same feature space.

        Args:
            graph: The graph; nodes whose ids training knew use their global bias.
            walks: Walks from each node.
            seed: The same seed gives the same embeddings.
            batch_size: Walks encoded together.
            progress: Whether to show progress.

        Returns:
            float32 [nodes, dim], rows in the order of the graph.
        """
        return embed_all_nodes(
            self.model,
            self.tables(graph),
            walks=walks,
            walk_length=self.walk_length,
            seed=seed,
            batch_size=batch_size,
            progress=progress,
        )

    def embed_full(self, graph: Graph, *, progress: bool = True) -> np.ndarray:
        """Embeds every node from all its neighbours, without sampling.

        Args:
            graph: The graph; nodes whose ids training knew use their global bias.
            progress: Whether to show progress.

        Returns:
            float32 [nodes, dim], rows in the order of the graph.
        """
        return embed_full_neighborhood(
            self.model,
            graph,
            self.features(graph),
            bias_rows=self.bias_rows(graph),
            progress=progress,
        )

    def save(self, folder: str | Path) -> None:
        """Writes the encoder as two files, each complete or not there.

        A global bias that lies in a file becomes part of the model, as that of every encoder,
        unless it is too large for memory (`own_bias.LARGEST_BYTES`): then it is left out, and the
        encoder will treat every node as one that training did not know.
        """
        folder = Path(folder)
        model = with_own_bias(self.model)
        known_ids = self.known_ids
        if model.num_known != self.model.num_known:
            _log.warning("The global bias is too large for %s and is left out of it.", folder)
            known_ids = known_ids[:0]
        folder.mkdir(parents=True, exist_ok=True)
        members = {f"transform.{k}": v for k, v in self.transform.to_arrays().items()}
        members["known_ids"] = known_ids
        members["walk_length"] = np.asarray(self.walk_length)
        members["structural"] = np.asarray(self.structural)
        if self.feature_names is not None:
            members["feature_names"] = np.asarray(self.feature_names, str)
        arrays.write_arrays(folder / ARRAYS_FILE, members)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".saving-") as scratch:
            model.save(Path(scratch) / MODEL_FILE)
            os.replace(Path(scratch) / MODEL_FILE, folder / MODEL_FILE)

    @classmethod
    def load(cls, folder: str | Path) -> Self:
        """Reads what `save` wrote.

        Raises:
            InputError: A file is missing or damaged.
        """
        folder = Path(folder)
        for name in (ARRAYS_FILE, MODEL_FILE):
            if not (folder / name).is_file():
                raise InputError(
                    str(folder), f"a trained run with {name}", "none", "Train it to the end first."
                )
        members = arrays.read_arrays(folder / ARRAYS_FILE)
        try:
            model = load_model(folder / MODEL_FILE)
            transform = FeatureTransform.from_arrays(
                {
                    name.removeprefix("transform."): value
                    for name, value in members.items()
                    if name.startswith("transform.")
                }
            )
            names = members.get("feature_names")
            return cls(
                model=model,
                transform=transform,
                known_ids=members["known_ids"],
                walk_length=int(members["walk_length"]),
                feature_names=None if names is None else tuple(names.tolist()),
                structural=bool(members["structural"]),
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                str(folder), "a readable encoder", f"{error}", "Train again or restore the files."
            ) from error


def _name_difference(
    trained: tuple[str, ...] | None, given: tuple[str, ...] | None, shown: int = 5
) -> str:
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
            more = f" and {len(listed) - shown:,} more" if len(listed) > shown else ""
            parts.append(f"{title}: {', '.join(listed[:shown])}{more}.")
    if not parts:
        column = next(
            i for i, pair in enumerate(zip(trained, given, strict=True)) if len({*pair}) > 1
        )
        parts.append(
            f"Same names in another order: column {column} was {trained[column]}, "
            f"is {given[column]}."
        )
    return " ".join(parts)


def fit_transform(graph: Graph, options: FeatureOptions, seed: int) -> FeatureTransform:
    """The feature transform of a training graph."""
    return FeatureTransform.fit(node_features(graph), options, seed)
