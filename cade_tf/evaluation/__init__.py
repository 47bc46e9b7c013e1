"""What embeddings are worth: classification, link prediction, clustering, pictures."""
