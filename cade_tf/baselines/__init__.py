"""Methods to compare CADE with that are not trained by its loop."""
