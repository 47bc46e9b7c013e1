"""Optimisers that update only the rows of a table which a step has read."""

from cade_tf.optimizers.adam import Adam

__all__ = ["Adam"]
