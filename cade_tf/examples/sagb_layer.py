"""SAGB as a layer in a functional model of your own, trained by `fit` on NumPy arrays."""

import cade_tf
import keras
import numpy as np

WIDTH, NODES, TREES = 8, 50, 512
rng = np.random.default_rng(0)

# Neighbourhoods that you sampled yourself: features by distance from the root, and ids.
hops = [rng.normal(size=(TREES, *places, WIDTH)) for places in ((), (5,), (5, 3))]
ids = [rng.integers(NODES, size=(TREES, *places)) for places in ((), (5,))]
target = hops[1].mean(axis=(1, 2))

hop_inputs = [keras.Input(hop.shape[1:]) for hop in hops]
id_inputs = [keras.Input(node_ids.shape[1:], dtype="int32") for node_ids in ids]
embedding = cade_tf.layers.SAGB(16, num_nodes=NODES)(hop_inputs, ids=id_inputs)
output = keras.layers.Dense(1)(embedding)
model = keras.Model([*hop_inputs, *id_inputs], output)

model.compile(optimizer=keras.optimizers.Adam(1e-2), loss="mse")
history = model.fit([*hops, *ids], target, epochs=5, batch_size=64, verbose=0)
print("Loss:", " ".join(f"{value:.4f}" for value in history.history["loss"]))
