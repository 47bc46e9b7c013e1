"""From a trained model to embeddings: Algorithm 1, and the encoder that is kept."""
