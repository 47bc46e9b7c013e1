"""Programs that run as they stand: `python -m cade_tf.examples.NAME`."""
