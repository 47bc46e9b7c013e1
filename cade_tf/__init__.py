"""CADE: unsupervised, inductive, context-aware node embeddings in TensorFlow and Keras."""
