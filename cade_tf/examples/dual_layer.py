"""DualENC as a layer: z_v, z_{v_p} and their attention, and the losses of equations 1 and 2."""

import cade_tf
import keras
import numpy as np
import tensorflow as tf
from cade_tf.layers import SAGB, DualENC

PAIRS, NEGATIVES, K, WIDTH, DIM = 64, 5, 4, 8, 16
rng = np.random.default_rng(0)


def neighbourhoods(count, *samplings):
    """Hop tensors of sampled trees; those of CADE-MS have K samplings per root."""
    places = (samplings, (*samplings, 5), (*samplings, 5, 3))
    root = rng.normal(size=(count, WIDTH)).astype("float32")
    return [root, *(rng.normal(size=(count, *p, WIDTH)).astype("float32") for p in places[1:])]


loss = cade_tf.losses.PairLoss()
layers = {
    # K samplings, attended by dot products; a negative is the encoder's direct output.
    "CADE-MS, equation 1": (DualENC("dot", encoder=SAGB(DIM)), (K,)),
    # K parameter sets, attended by the vector A; negatives by support embeddings and A*.
    "CADE-MA, equation 2": (DualENC("vector", encoder=SAGB(DIM, parameter_sets=K)), ()),
}
for name, (layer, samplings) in layers.items():
    nodes, partners = (neighbourhoods(PAIRS, *samplings) for _ in range(2))
    negatives = neighbourhoods(NEGATIVES, *samplings)
    optimizer = keras.optimizers.Adam(1e-2)
    for _ in range(20):
        with tf.GradientTape() as tape:
            pair = layer(nodes, partners)
            positive = tf.reduce_sum(pair.nodes * pair.partners, axis=1, keepdims=True)
            negative = layer.negative_affinities(nodes, pair, layer.candidates(negatives))
            affinities = tf.concat([positive, negative], axis=1)
            labels = tf.one_hot(tf.zeros(PAIRS, tf.int32), 1 + NEGATIVES)
            value = loss(labels, affinities)
        weights = layer.trainable_variables
        optimizer.apply(tape.gradient(value, weights), weights)
    print(f"{name}: z {pair.nodes.shape}, attention {pair.attention.shape}, loss {value:.3f}")
