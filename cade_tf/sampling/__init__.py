"""Walks, neighbours and negatives, drawn by TensorFlow operations on tables of the graph."""
