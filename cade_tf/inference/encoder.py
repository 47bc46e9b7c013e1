"""A trained model with everything that embedding another graph needs."""

import dataclasses
import os
import tempfile
from pathlib import Path
from typing import Self

import keras
import numpy as np

from cade_tf.config import EmbeddingOptions, FeatureOptions
from cade_tf.errors import InputError
from cade_tf.graph import arrays
from cade_tf.graph.features import FeatureTransform, node_features
from cade_tf.graph.graph import Graph
from cade_tf.inference.algorithm1 import embed_all_nodes
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.sampling.graph_tables import GraphTables, make_graph_tables

MODEL_FILE = "model.keras"
ARRAYS_FILE = "encoder.npz"


@dataclasses.dataclass(frozen=True, eq=False, kw_only=True)
class Encoder:
    """Embeds nodes, known or new, of graphs with the features it was trained on.

    Args:
        model: The trained model.
        transform: What was done to the features, fit on training nodes.
        known_ids: Ids of the training nodes, in the order of the rows of the global bias.
        walk_length: Steps of the walks that make contexts.
    """

    model: DualEncoder
    transform: FeatureTransform
    known_ids: np.ndarray
    walk_length: int

    def tables(self, graph: Graph) -> GraphTables:
        """Lays a graph out for this encoder: scaled features, bias rows of known nodes.

        Raises:
            InputError: The features have another width than those of training.
        """
        features = self.transform.apply(node_features(graph))
        return make_graph_tables(graph, features, known=known_rows(graph.ids, self.known_ids))

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

    def save(self, folder: str | Path) -> None:
        """Writes the encoder as two files, each complete or not there."""
        folder = Path(folder)
        folder.mkdir(parents=True, exist_ok=True)
        members = {f"transform.{k}": v for k, v in self.transform.to_arrays().items()}
        members["known_ids"] = self.known_ids
        members["walk_length"] = np.asarray(self.walk_length)
        arrays.write_arrays(folder / ARRAYS_FILE, members)
        with tempfile.TemporaryDirectory(dir=folder, prefix=".saving-") as scratch:
            self.model.save(Path(scratch) / MODEL_FILE)
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
            model = keras.saving.load_model(folder / MODEL_FILE, compile=False)
            transform = FeatureTransform.from_arrays(
                {
                    name.removeprefix("transform."): value
                    for name, value in members.items()
                    if name.startswith("transform.")
                }
            )
            known_ids, walk_length = members["known_ids"], int(members["walk_length"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise InputError(
                str(folder), "a readable encoder", f"{error}", "Train again or restore the files."
            ) from error
        return cls(model=model, transform=transform, known_ids=known_ids, walk_length=walk_length)


def known_rows(ids: np.ndarray, known_ids: np.ndarray) -> np.ndarray:
    """Position of each id among the known ids, int64; -1 for an unknown one."""
    if ids.dtype.kind != known_ids.dtype.kind and "U" in (ids.dtype.kind, known_ids.dtype.kind):
        # Files without types may bring the same ids once as numbers and once as text.
        ids, known_ids = ids.astype(str), known_ids.astype(str)
    if not len(known_ids):
        return np.full(len(ids), -1, np.int64)
    order = np.argsort(known_ids)
    place = np.minimum(np.searchsorted(known_ids, ids, sorter=order), len(known_ids) - 1)
    candidates = order[place]
    return np.where(known_ids[candidates] == ids, candidates, -1).astype(np.int64)


def fit_transform(graph: Graph, options: FeatureOptions, seed: int) -> FeatureTransform:
    """The feature transform of a training graph."""
    return FeatureTransform.fit(node_features(graph), options, seed)
