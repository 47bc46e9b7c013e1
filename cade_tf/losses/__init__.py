"""Losses on the affinities of nodes with their partner and their negatives."""

from cade_tf.losses.pair_loss import PairLoss
from cade_tf.losses.softmax_loss import SoftmaxLoss

__all__ = ["PairLoss", "SoftmaxLoss"]
