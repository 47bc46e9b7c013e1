"""The inner loop: walks, negatives, trees, forward, backward and update in one tf.function."""

import keras
import tensorflow as tf

from cade_tf.config import TrainingOptions
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.sampling import random
from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.sampling.negatives import draw_negatives
from cade_tf.sampling.walks import PairStream
from cade_tf.training.loss import pair_loss
from cade_tf.training.metrics import STEP_METRICS, step_metrics
from cade_tf.training.row_sparse_adam import RowSparseAdam

# TensorFlow 1's and GraphSAGE's value; Keras defaults to 1e-7.
ADAM_EPSILON = 1e-8


class TrainingStep(tf.Module):
    """Everything that happens in a step, and the state that it changes.

    All randomness is a function of the seed and of `step`, so restoring the variables of this
    module continues a run exactly.

    Args:
        model: The model, built.
        graph: Tables of the training graph.
        options: Options of the training.

    Attributes:
        step: Steps done, an int64 variable.
        optimizer: Adam of the dense weights.
        bias_optimizer: Row-sparse Adam of the global bias, or None.
    """

    def __init__(self, model: DualEncoder, graph: GraphTables, options: TrainingOptions) -> None:
        super().__init__(name="training_step")
        self.model = model
        self.graph = graph
        self.options = options
        self.pairs = PairStream(
            walks_per_node=options.walks_per_node,
            length=options.walk_length,
            seed=options.seed,
            together=options.pair_order == "walk",
        )
        self.step = tf.Variable(0, dtype=tf.int64, trainable=False, name="step")
        self.bias_optimizer: RowSparseAdam | None = None
        bias = []
        if model.bias is not None:
            bias = [model.bias.table]
            self.bias_optimizer = RowSparseAdam(model.bias.table.value, epsilon=ADAM_EPSILON)
        self.dense_weights = [w for w in model.trainable_variables if not any(w is b for b in bias)]
        self.optimizer = keras.optimizers.Adam(
            options.learning_rate,
            epsilon=ADAM_EPSILON,
            clipvalue=options.clip_value or None,
        )
        self.optimizer.build(self.dense_weights)

    @tf.function(reduce_retracing=True)
    def run(self, count: tf.Tensor) -> tf.Tensor:
        """Does `count` steps; returns the mean of their `STEP_METRICS`."""
        total = tf.zeros([len(STEP_METRICS)])
        for _ in tf.range(count):
            total += self._one()
        return total / tf.cast(tf.maximum(count, 1), tf.float32)

    def _one(self) -> tf.Tensor:
        options = self.options
        pairs = self.pairs.draw(self.graph, self.step * options.batch_size, options.batch_size)
        negatives = self._draw_negatives()
        key = random.make_key(options.seed, random.Stream.NEIGHBOR, self.step)
        sources = [w.value for w in self.dense_weights]
        if self.model.bias is not None:
            sources.append(self.model.bias.table.value)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(sources)
            scores = self.model.score_pairs(self.graph, pairs.nodes, pairs.partners, negatives, key)
            terms = pair_loss(
                scores,
                pairs.valid,
                negative_weight=options.negative_weight,
                temperature=options.temperature,
            )
        self._update(tape.gradient(terms.total, sources))
        return step_metrics(scores, terms, pairs.valid)

    def _draw_negatives(self) -> tf.Tensor:
        options = self.options
        key = random.make_key(options.seed, random.Stream.NEGATIVE, self.step)
        if options.negative_sharing == "pair":
            key = random.fold_in(key, tf.range(options.batch_size))
        return draw_negatives(self.graph, key, options.negatives)

    def _update(self, gradients: list[tf.Tensor | tf.IndexedSlices]) -> None:
        self.step.assign_add(1)
        if self.bias_optimizer is not None:
            slices = gradients.pop()
            self.bias_optimizer.apply(
                slices.indices,
                slices.values,
                learning_rate=self.optimizer.learning_rate,
                step=self.step,
                clip_value=self.options.clip_value,
            )
        self.optimizer.apply(gradients, self.dense_weights)
