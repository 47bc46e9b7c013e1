"""CADE-MS, CADE-MA, CADE-gb and GraphSAGE, made of the same parts."""

from cade_tf.models.cade_gb import CadeGB
from cade_tf.models.cade_ma import CadeMA
from cade_tf.models.cade_ms import CadeMS
from cade_tf.models.dual_encoder import DualEncoder, PairScores
from cade_tf.models.graphsage import GraphSAGE

__all__ = ["CadeGB", "CadeMA", "CadeMS", "DualEncoder", "GraphSAGE", "PairScores"]
