"""Keras layers: aggregators, the global bias, SAGB and bi-attention."""
