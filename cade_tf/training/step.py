"""The inner loop: walks, negatives, trees, forward, backward and update in one tf.function.

There is one implementation of a step: `model.fit`, the flag-driven loop and the workers of a
cluster all call it.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import keras
import tensorflow as tf

from cade_tf.errors import InputError
from cade_tf.models.dual_encoder import DualEncoder, PairScores
from cade_tf.optimizers import Adam
from cade_tf.retracing import traced_for_each_model
from cade_tf.sampling.batch import PairSampler
from cade_tf.training import gradients
from cade_tf.training.metrics import STEP_METRICS, LossTerms, loss_terms, step_metrics

SMALLEST_SCALE = 1.0
"""A float16 run whose gradients overflow at this loss scale is lost."""

LOOK_PAIRS = 256

_FINE = -1


class _Outcome(NamedTuple):
    """What the replicas agree on after the backward pass."""

    gradients: list[tf.Tensor | tf.IndexedSlices]
    squares: tf.Tensor
    terms: tf.Tensor
    metrics: tf.Tensor


class TrainingStep(tf.Module):
    """Everything that happens in a step, and the state that it changes.

    All randomness is a function of the sampler's seed and of `step`, so restoring the variables of
    this module, the model and the optimiser continues a run exactly. Made in the scope of a
    `tf.distribute` strategy, it shares each step among the replicas: every replica draws its part
    of the pairs and all draw the same negatives, so that the number of replicas changes nothing
    but rounding; only a loss that contrasts the pairs of a batch finds the others in its own part.

    Args:
        model: The model, built.
        sampler: Batches of the training graph.
        loss: A loss of affinities.
        optimizer: Any Keras optimiser.
        clip_value: Gradients are clipped to plus or minus this; 0 does not clip.
        clip_norm: Gradients are scaled down to this joint length where they exceed it; 0 does not.

    Attributes:
        step: Steps done, an int64 variable.
        gradient_norm: Joint length of the last step's gradients, before clipping.

    Raises:
        InputError: The batch cannot be divided among the replicas.
    """

    def __init__(
        self,
        model: DualEncoder,
        sampler: PairSampler,
        loss: keras.losses.Loss,
        optimizer: keras.optimizers.Optimizer,
        *,
        clip_value: float = 0.0,
        clip_norm: float = 0.0,
    ) -> None:
        super().__init__(name="training_step")
        self.model = model
        self.sampler = sampler
        self.loss = loss
        self.optimizer = optimizer
        self.clip_value = clip_value
        self.clip_norm = clip_norm
        self.strategy = tf.distribute.get_strategy()
        self._in_scope = tf.distribute.has_strategy()
        if self._in_scope and not isinstance(optimizer, Adam):
            raise InputError(
                "optimizer",
                "cade_tf.optimizers.Adam where a strategy shares the steps",
                type(optimizer).__name__,
                "Use it, or train on one device.",
            )
        self.replicas = self.strategy.num_replicas_in_sync
        if sampler.batch_size % self.replicas:
            raise InputError(
                "batch_size",
                f"a multiple of the {self.replicas} replicas",
                sampler.batch_size,
                "Change it.",
            )
        bias = model.bias
        # Stores want each row once; several replicas may read the same ones.
        self._distinct = self.replicas > 1 or (bias is not None and bias.store is not None)
        self.step = tf.Variable(0, dtype=tf.int64, trainable=False, name="step")
        self.gradient_norm = tf.Variable(0.0, trainable=False, name="gradient_norm")
        # Number of the term or gradient that was not finite.
        self._fault = tf.Variable(_FINE, dtype=tf.int64, trainable=False, name="fault")
        self.dense_weights = [
            w for w in model.trainable_variables if bias is None or w is not bias.weight
        ]
        self._updated = list(self.dense_weights)
        if bias is not None and bias.weight is not None:
            self._updated.append(bias.weight)
        if not optimizer.built:
            optimizer.build(model.trainable_variables)
        self.loss_scale: gradients.LossScale | None = None
        if model.compute_dtype == "float16":
            self.loss_scale = gradients.LossScale()
        names = [w.path for w in self.dense_weights] + ([bias.path] if bias is not None else [])
        self._checked = ["positive_loss", "negative_loss", *(f"gradient of {n}" for n in names)]

    @traced_for_each_model
    @tf.function(reduce_retracing=True, autograph=False)
    def run(self, count: tf.Tensor) -> tf.Tensor:
        """Does `count` steps; returns the mean of their `STEP_METRICS`.

        A step that meets a number that is not finite changes nothing, and is the last: see
        `fault`. With several replicas `count` must be 1: see `advance`.
        """

        def one(_: tf.Tensor) -> tuple[tf.Tensor, tf.Tensor]:
            fine, metrics = self._one(self.step)
            self.step.assign_add(tf.cast(fine, tf.int64))
            return fine, metrics

        return self._repeat(one, count)

    @traced_for_each_model
    @tf.function(reduce_retracing=True, autograph=False)
    def run_numbers(self, first: tf.Tensor, count: tf.Tensor) -> tf.Tensor:
        """As `run`, for steps of given numbers, leaving the count of steps done to the caller.

        Workers of a cluster do different steps at the same time.

        Args:
            first: Number of the first step, from 0.
            count: How many.
        """
        return self._repeat(lambda turn: self._one(first + tf.cast(turn, tf.int64)), count)

    def _repeat(
        self, one: Callable[[tf.Tensor], tuple[tf.Tensor, tf.Tensor]], count: tf.Tensor
    ) -> tf.Tensor:
        """Mean metrics of `count` steps, or of those before the first fault.

        A loop of TensorFlow's own: converting one of Python's takes longer than tracing it.
        """

        def body(
            total: tf.Tensor, done: tf.Tensor, turn: tf.Tensor
        ) -> tuple[tf.Tensor, tf.Tensor, tf.Tensor]:
            fine, metrics = one(turn)
            total = tf.where(fine, total + metrics, total)
            return total, done + tf.cast(fine, tf.float32), turn + 1

        total, done, _ = tf.while_loop(
            lambda _, __, turn: tf.logical_and(turn < count, tf.equal(self._fault, _FINE)),
            body,
            (tf.zeros([len(STEP_METRICS)]), tf.constant(0.0), tf.constant(0)),
        )
        return total / tf.maximum(done, 1.0)

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
        return tf.convert_to_tensor(self.optimizer.learning_rate)

    def look(self, pairs: int = LOOK_PAIRS) -> PairScores:
        """The forward pass of some pairs of the next step, for whoever wants to see inside.

        Not compiled: for the few times it is called, that would take longer than it saves.
        """
        count = min(self.sampler.batch_size, pairs)
        return self.model.score_pairs(self.sampler.batch(self.step, count=count, drops=False))

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

        def finish() -> tf.Tensor:
            self.gradient_norm.assign(tf.sqrt(tf.reduce_sum(squares)))
            update = partial(self._update, outcome.gradients, number)
            if self.loss_scale is None:
                return update()
            return tf.cond(updates, update, lambda: tf.constant(False))

        def stop() -> tf.Tensor:
            checks = tf.cast(tf.concat([term_ok, gradient_ok], 0), tf.float32)
            self._fault.assign(tf.argmin(checks))
            return tf.constant(False)

        tf.cond(fine, finish, stop)
        return fine, metrics

    def _backward(self, number: tf.Tensor) -> _Outcome:
        """Gradients of the step, the same on every replica."""
        context = tf.distribute.get_replica_context()
        part = self.sampler.batch_size // self.replicas
        first = context.replica_id_in_sync_group * part
        sources = [w.value for w in self.dense_weights]
        dense = len(sources)
        if self.model.bias is not None:
            sources.append(self.model.bias.watched)
        batch = self.sampler.batch(number, first=first, count=part)
        with tf.GradientTape(watch_accessed_variables=False) as tape:
            tape.watch(sources)
            scores = self.model.score_pairs(batch)
            count = None
            if self.replicas > 1:
                own = tf.reduce_sum(tf.cast(batch.valid, tf.float32))
                count = context.all_reduce(tf.distribute.ReduceOp.SUM, own)
            terms = loss_terms(self.loss, scores, batch, count)
            loss = terms.total
            if self.loss_scale is not None:
                loss *= self.loss_scale.value
        summed = gradients.add_up(tape.gradient(loss, sources), dense, distinct=self._distinct)
        if self.loss_scale is not None:
            inverse = 1.0 / self.loss_scale.value
            summed = summed.map(lambda g: g * inverse)
        return self._outcome(summed, scores, terms, batch.valid, count)

    def _outcome(
        self,
        summed: gradients.Gradients,
        scores: PairScores,
        terms: LossTerms,
        valid: tf.Tensor,
        count: tf.Tensor | None,
    ) -> _Outcome:
        metrics = step_metrics(scores, terms, valid, count=count, replicas=self.replicas)
        numbers = tf.concat([metrics, [terms.positive, terms.negative]], 0)
        if self.replicas > 1:
            context = tf.distribute.get_replica_context()
            numbers = context.all_reduce(tf.distribute.ReduceOp.SUM, numbers)
        squares = gradients.squared_lengths(summed)
        summed = gradients.clip(
            summed, tf.sqrt(tf.reduce_sum(squares)), self.clip_value, self.clip_norm
        )
        return _Outcome(self._as_keras(summed), squares, numbers[-2:], numbers[:-2])

    def _as_keras(self, summed: gradients.Gradients) -> list[tf.Tensor | tf.IndexedSlices]:
        """One gradient per weight, that of the global bias last, as rows."""
        found: list[tf.Tensor | tf.IndexedSlices] = list(summed.dense)
        bias = self.model.bias
        if bias is not None:
            shape = tf.constant(list(bias.variable.shape), tf.int64)
            slices = tf.IndexedSlices(summed.values, summed.rows, shape)
            # Optimisers of others know no rows, or treat them in ways of their own.
            sparse = isinstance(self.optimizer, Adam)
            found.append(slices if sparse else tf.convert_to_tensor(slices))
        return found

    def _update(self, found: list[tf.Tensor | tf.IndexedSlices], number: tf.Tensor) -> tf.Tensor:
        """Updates all weights; returns True, as a branch must return something."""
        if not self._in_scope:
            # Keras wants gradients of the graph of this branch, not of the one around it.
            found = [
                tf.nest.map_structure(tf.identity, gradient, expand_composites=True)
                for gradient in found
            ]
        bias = self.model.bias
        if bias is not None and bias.store is not None:
            rows = found[-1]
            found = found[:-1]
            bias.store.update(rows.indices, rows.values, self.optimizer, number + 1)
        if not self._in_scope:
            self.optimizer.apply(found, self._updated)
        else:
            with self.strategy.scope():
                self.optimizer.apply_across(found, self._updated)
        return tf.constant(True)
