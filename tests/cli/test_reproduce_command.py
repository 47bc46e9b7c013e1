"""`cade reproduce` knows the experiments without loading them."""

from cade_tf.cli import reproduce
from cade_tf.experiments import declarations


def test_the_words_are_the_experiments():
    assert [*reproduce.WORDS] == [*declarations.EXPERIMENTS, "curve", "data", "default", "summary"]
