"""The inner loop: walks, negatives, trees, forward, backward and update in one tf.function."""

from typing import NamedTuple

import tensorflow as tf

from cade_tf.config import TrainingOptions
from cade_tf.errors import InputError
from cade_tf.models.dual_encoder import DualEncoder, PairScores
from cade_tf.sampling import random
from cade_tf.sampling.graph_tables import GraphTables
from cade_tf.sampling.negatives import draw_negatives
from cade_tf.sampling.walks import Pairs, PairStream
from cade_tf.training import dropout, gradients, schedules
from cade_tf.training.adam import Adam
from cade_tf.training.loss import LossTerms, pair_loss, softmax_loss
from cade_tf.training.metrics import STEP_METRICS, step_metrics
from cade_tf.training.row_sparse_adam import RowSparseAdam

SMALLEST_SCALE = 1.0
"""A float16 run whose gradients overflow at this loss scale is lost."""

LOOK_PAIRS = 256

_FINE = -1


class _Outcome(NamedTuple):
    """What the replicas agree on after the backward pass."""

    gradients: gradients.Gradients
    squares: tf.Tensor
    terms: tf.Tensor
    metrics: tf.Tensor


class TrainingStep(tf.Module):
    """Everything that happens in a step, and the state that it changes.

    All randomness is a function of the seed and of `step`, so restoring the variables of this
    module continues a run exactly. Made in the scope of a `tf.distribute` strategy, it shares each
    step among the replicas: every replica draws its part of the pairs and all draw the same
    negatives, so that the number of replicas changes nothing but rounding; only the softmax loss
    finds the other pairs it contrasts with in its own part.

    Args:
        model: The model, built.
        graph: Tables of the training graph.
        options: Options of the training.

    Attributes:
        step: Steps done, an int64 variable.
        optimizer: Adam of the dense weights.
        bias_optimizer: Row-sparse Adam of the global bias, or None.
        gradient_norm: Joint length of the last step's gradients, before clipping.
        last: Steps of the whole run.

    Raises:
        InputError: The batch cannot be divided among the replicas.
    """

    def __init__(self, model: DualEncoder, graph: GraphTables, options: TrainingOptions) -> None:
        super().__init__(name="training_step")
        self.model = model
        self.graph = graph
        self.options = options
        self.strategy = tf.distribute.get_strategy()
        self.replicas = self.strategy.num_replicas_in_sync
        if options.batch_size % self.replicas:
            raise InputError(
                "batch_size",
                f"a multiple of the {self.replicas} replicas",
                options.batch_size,
                "Change it.",
            )
        self.pairs = PairStream(
            walks_per_node=options.walks_per_node,
            length=options.walk_length,
            seed=options.seed,
            together=options.pair_order == "walk",
        )
        self.last = schedules.total_steps(options, self.pairs.epoch_pairs(graph))
        self.step = tf.Variable(0, dtype=tf.int64, trainable=False, name="step")
        self.gradient_norm = tf.Variable(0.0, trainable=False, name="gradient_norm")
        # Number of the term or gradient that was not finite.
        self._fault = tf.Variable(_FINE, trainable=False, name="fault")
        bias = model.bias
        self.dense_weights = [
            w for w in model.trainable_variables if bias is None or w.value is not bias.variable
        ]
        self.optimizer = Adam(
            [w.value for w in self.dense_weights], weight_decay=options.weight_decay
        )
        self.bias_optimizer: RowSparseAdam | None = None
        if bias is not None:
            self.bias_optimizer = RowSparseAdam(
                bias.variable, weight_decay=options.bias_weight_decay
            )
        self.loss_scale: gradients.LossScale | None = None
        if model.compute_dtype == "float16":
            self.loss_scale = gradients.LossScale()
        names = [w.path for w in self.dense_weights] + ([bias.path] if bias is not None else [])
        self._checked = ["positive_loss", "negative_loss", *(f"gradient of {n}" for n in names)]

    @tf.function(reduce_retracing=True)
    def run(self, count: tf.Tensor) -> tf.Tensor:
        """Does `count` steps; returns the mean of their `STEP_METRICS`.

        A step that meets a number that is not finite changes nothing, and is the last: see
        `fault`. With several replicas `count` must be 1: see `advance`.
        """
        total = tf.zeros([len(STEP_METRICS)])
        done = tf.constant(0)
        while tf.logical_and(done < count, tf.equal(self._fault, _FINE)):
            fine, metrics = self._one(self.step)
            self.step.assign_add(tf.cast(fine, tf.int64))
            total += tf.where(fine, metrics, tf.zeros_like(metrics))
            done += tf.cast(fine, tf.int32)
        return total / tf.cast(tf.maximum(done, 1), tf.float32)

    @tf.function(reduce_retracing=True)
    def run_numbers(self, first: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
        """As `run`, for steps of given numbers, leaving the count of steps done to the caller.

        Workers of a cluster do different steps at the same time.

        Args:
            first: Number of the first step, from 0.
            count: How many.
        """
        total = tf.zeros([len(STEP_METRICS)])
        done = tf.constant(0)
        while tf.logical_and(done < count, tf.equal(self._fault, _FINE)):
            fine, metrics = self._one(first + tf.cast(done, tf.int64))
            total += tf.where(fine, metrics, tf.zeros_like(metrics))
            done += 1
        return total / tf.cast(tf.maximum(done, 1), tf.float32)

    def advance(self, count: int) -> tf.Tensor:
        """As `run`, for any number of replicas.

        Collectives of a compiled loop must have the same shapes in every turn, which the rows of
        the global bias have not; so several replicas are called step by step.
        """
        if self.replicas == 1:
            return self.run(tf.constant(count))
        one = tf.constant(1)
        done: list[tf.Tensor] = []
        while len(done) < count and self.fault() is None:
            done.append(self.run(one))
        finished = done if self.fault() is None else done[:-1]
        return tf.reduce_mean(finished, axis=0) if finished else tf.zeros([len(STEP_METRICS)])

    def fault(self) -> str | None:
        """What was not finite in the step that ended `run` early; None if all was well."""
        number = int(self._fault.numpy())
        return None if number == _FINE else self._checked[number]

    def learning_rate(self) -> tf.Tensor:
        """Learning rate of the next step."""
        return schedules.learning_rate(self.options, self.step, self.last)

    def look(self, pairs: int = LOOK_PAIRS) -> PairScores:
        """The forward pass of some pairs of the next step, for whoever wants to see inside.

        Not compiled: for the few times it is called, that would take longer than it saves.
        """
        return self._scores(self.step, 0, min(self.options.batch_size, pairs), drops=False)[0]

    # --- one step ----------------------------------------------------------------------------

    def _one(self, number: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
        """The step of a number, from 0; whether it was done, and its metrics."""
        number = tf.identity(number)
        outcome = self.strategy.run(self._backward, args=(number,))
        squares, terms, metrics = (
            self.strategy.experimental_local_results(value)[0]
            for value in (outcome.squares, outcome.terms, outcome.metrics)
        )
        term_ok = tf.math.is_finite(terms)
        gradient_ok = tf.math.is_finite(squares)
        fine = tf.reduce_all(term_ok)
        updates = tf.reduce_all(gradient_ok)
        if self.loss_scale is None:
            fine = tf.logical_and(fine, updates)
        else:
            # Overflow is part of the plan: the update is left out and the scale lowered.
            lost = tf.logical_and(~updates, self.loss_scale.value <= SMALLEST_SCALE)
            fine = tf.logical_and(fine, ~lost)
            self.loss_scale.update(updates)
        if fine:
            self.gradient_norm.assign(tf.sqrt(tf.reduce_sum(squares)))
            if updates:
                self._update(outcome.gradients, number)
        else:
            checks = tf.concat([term_ok, gradient_ok], 0)
            self._fault.assign(tf.cast(tf.argmin(tf.cast(checks, tf.int32)), tf.int32))
        return fine, metrics

    # Nothing in here branches on a tensor, and converting it takes longer than tracing it.
    @tf.autograph.experimental.do_not_convert
    def _backward(self, number: tf.Tensor) -> _Outcome:
        """Gradients of the step, the same on every replica."""
        options, context = self.options, tf.distribute.get_replica_context()
        part = options.batch_size // self.replicas
        first = context.replica_id_in_sync_group * part
        sources = [w.value for w in self.dense_weights]
        dense = len(sources)
        if self.model.bias is not None:
            sources.append(self.model.bias.watched)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(sources)
            scores, pairs = self._scores(number, first, part, drops=True)
            count = None
            if self.replicas > 1:
                own = tf.reduce_sum(tf.cast(pairs.valid, tf.float32))
                count = context.all_reduce(tf.distribute.ReduceOp.SUM, own)
            terms = self._loss(scores, pairs, count)
            loss = terms.total
            if self.loss_scale is not None:
                loss *= self.loss_scale.value
        summed = gradients.add_up(tape.gradient(loss, sources), dense)
        if self.loss_scale is not None:
            inverse = 1.0 / self.loss_scale.value
            summed = summed.map(lambda g: g * inverse)
        metrics = step_metrics(scores, terms, pairs.valid, count=count, replicas=self.replicas)
        numbers = tf.concat([metrics, [terms.positive, terms.negative]], 0)
        if self.replicas > 1:
            numbers = context.all_reduce(tf.distribute.ReduceOp.SUM, numbers)
        squares = gradients.lengths(summed)
        summed = gradients.clip(
            summed, tf.sqrt(tf.reduce_sum(squares)), options.clip_value, options.clip_norm
        )
        return _Outcome(summed, squares, numbers[-2:], numbers[:-2])

    def _scores(
        self, number: tf.Tensor, first: tf.Tensor | int, count: int, *, drops: bool
    ) -> tuple[PairScores, Pairs]:
        """Scores of pairs first..first+count-1 of a step's batch, and these pairs."""
        options = self.options
        start = number * options.batch_size + tf.cast(first, tf.int64)
        pairs = self.pairs.draw(self.graph, start, count)
        key = random.make_key(options.seed, random.Stream.NEGATIVE, number)
        if options.negative_sharing == "pair":
            key = random.fold_in(key, tf.range(count) + tf.cast(first, tf.int32))
        negatives = draw_negatives(self.graph, key, options.negatives)
        key = random.make_key(options.seed, random.Stream.NEIGHBOR, number)
        graph = dropout.with_dropout(self.graph, options, number) if drops else self.graph
        scores = self.model.score_pairs(graph, pairs.nodes, pairs.partners, negatives, key)
        return scores, pairs

    def _loss(self, scores: PairScores, pairs: Pairs, count: tf.Tensor | None) -> LossTerms:
        options = self.options
        if options.loss == "softmax":
            return softmax_loss(scores, *pairs, temperature=options.temperature, count=count)
        return pair_loss(
            scores,
            pairs.valid,
            negative_weight=options.negative_weight,
            temperature=options.temperature,
            count=count,
        )

    @tf.autograph.experimental.do_not_convert
    def _update(self, summed: gradients.Gradients, number: tf.Tensor) -> None:
        rate = schedules.learning_rate(self.options, number, self.last)
        self.optimizer.apply(summed.dense, learning_rate=rate, step=number + 1)
        if self.bias_optimizer is not None:
            self.bias_optimizer.apply_distinct(
                summed.rows,
                summed.values,
                learning_rate=rate * self.options.bias_learning_rate,
                step=number + 1,
            )
