"""A graph of your own, Keras style: train, embed, save, export."""

import tempfile
from pathlib import Path

import cade_tf
import keras
import numpy as np

# Any edges and features; here those of the graph that comes with cade_tf.
digits = cade_tf.digits()
edges, features, ids = digits.edges(), digits.features, [f"image {n}" for n in range(1797)]

with tempfile.TemporaryDirectory() as folder:
    graph = cade_tf.Graph.from_edges(edges, features=features, node_ids=ids)
    model = cade_tf.CadeMS(dim=64, k=5, fanouts=(10, 5))
    model.compile(optimizer=cade_tf.optimizers.Adam(1e-3), loss=cade_tf.losses.PairLoss())
    history = model.fit(
        graph,
        steps=200,
        callbacks=[
            keras.callbacks.TensorBoard(f"{folder}/events"),
            keras.callbacks.EarlyStopping("mrr", patience=10),
        ],
        verbose=0,
    )
    print("MRR:", " ".join(f"{value:.2f}" for value in history.history["mrr"][::4]))

    # The graph has grown by a node that training never saw.
    grown = cade_tf.Graph.from_edges(
        [*edges, [1797, 0], [1797, 10]],
        features=np.vstack([features, features[:1]]),
        node_ids=[*ids, "new image"],
    )
    embeddings = model.embed(grown, progress=False)
    print("Embeddings:", embeddings.shape)

    model.save(f"{folder}/cade.keras")
    loaded = keras.saving.load_model(f"{folder}/cade.keras")
    same = np.array_equal(loaded.embed(grown, progress=False), embeddings)
    print("The same after loading:", same)

    version = model.export(f"{folder}/served")
    print("SavedModel:", version.relative_to(Path(folder)))
