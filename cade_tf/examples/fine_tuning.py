"""Supervised fine-tuning: a trained encoder, a Dense head, the labels of some nodes."""

import cade_tf
import keras
import numpy as np
from cade_tf.evaluation import classification

keras.utils.set_random_seed(0)
graph = cade_tf.digits()
split = cade_tf.split_nodes(graph, 0.3, seed=0)
labels = np.asarray(graph.labels)
labelled = np.random.default_rng(0).choice(split.seen, 800, replace=False)

# First without labels, on the nodes that training may see.
encoder = cade_tf.GraphSAGE(dim=64, fanouts=(10, 5), seed=0)
encoder.compile(optimizer=cade_tf.optimizers.Adam(1e-3))
encoder.fit(graph.subgraph(split.seen), steps=200, verbose=0)
frozen = encoder.embed(graph, progress=False)
probe = classification.score(frozen, labels, labelled, split.test, "logreg").micro_f1


# Then with the labels of some nodes; the whole graph supplies their neighbours.
class Classifier(keras.Model):
    """The encoder under a Dense head; its inputs are positions of nodes."""

    def __init__(self, encoder, graph, classes):
        super().__init__()
        self.encoder = encoder
        self.embed = cade_tf.NodeEmbedding(encoder, graph)
        self.head = keras.layers.Dense(classes)

    def call(self, nodes):
        """Logits `[n, classes]`."""
        return self.head(self.embed(nodes))


model = Classifier(encoder, graph, 10)
model.compile(
    optimizer=keras.optimizers.Adam(1e-3),
    loss=keras.losses.SparseCategoricalCrossentropy(from_logits=True),
)
model.fit(labelled, labels[labelled], epochs=80, batch_size=50, verbose=0)
predicted = np.argmax(model.predict(split.test, batch_size=256, verbose=0), axis=1)
tuned = float(np.mean(predicted == labels[split.test]))
print(f"Unseen nodes, 800 labels: frozen encoder {probe:.3f}, fine-tuned {tuned:.3f}")
