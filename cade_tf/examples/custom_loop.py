"""The custom loop: sampler, model, loss, optimiser, tf.function, to try an idea of your own."""

import cade_tf
import tensorflow as tf

graph = cade_tf.digits()
model = cade_tf.CadeMA(dim=32, k=4, fanouts=(8, 4), normalize="none")
model.adapt(graph)
sampler = cade_tf.PairSampler(
    graph=model.tables(graph), shape=model.tree_shape, batch_size=256, negatives=10
)
loss, optimizer = cade_tf.losses.PairLoss(), cade_tf.optimizers.Adam(1e-3)
optimizer.build(model.trainable_variables)


@tf.function
def step(number):
    batch = sampler.batch(number)
    with tf.GradientTape() as tape:
        scores = model.score_pairs(batch)
        value = loss(scores.labels, scores.affinities, sample_weight=batch.valid)
    weights = model.trainable_variables
    optimizer.apply(tape.gradient(value, weights), weights)
    return value


for number in range(100):
    value = step(tf.constant(number, tf.int64))
    if number % 25 == 0:
        print(f"step {number}: loss {value:.3f}")
print("Embeddings:", model.embed(graph, progress=False).shape)
