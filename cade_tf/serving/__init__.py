"""A trained encoder as a SavedModel that answers requests with TensorFlow alone."""
