"""Which scores reports and plots show, and what they are called."""

from cade_tf.experiments.cells import CLASSIFICATION, LINKS

# What is tabulated: probe or protocol, metric, title; the first two of a task are its main ones.
METRICS = {
    CLASSIFICATION: (
        ("logreg", "micro_f1", "Micro-F1, probe `logreg`"),
        ("sgd", "micro_f1", "Micro-F1, probe `sgd`"),
        ("logreg", "macro_f1", "Macro-F1, probe `logreg`"),
        ("kmeans", "nmi", "k-means on unseen nodes, normalised mutual information"),
    ),
    LINKS: (
        (
            "paper",
            "auc",
            "AUC, protocol `paper` (our guess at the paper's: concatenation, `sgd`)",
        ),
        ("strong", "auc", "AUC, protocol `strong` (product, difference or dot by validation)"),
        ("paper", "ap", "Average precision, protocol `paper` (our guess at the paper's)"),
        ("strong", "ap", "Average precision, protocol `strong`"),
        ("hadamard_logreg", "auc", "AUC, elementwise product and `logreg`"),
        ("l1_logreg", "auc", "AUC, absolute difference and `logreg`"),
        ("dot", "auc", "AUC, plain dot product"),
        ("dual", "auc", "AUC, product of a pair's own dual representations"),
        ("attention", "flatness", "Entropy of the attention of linked nodes, % of a flat one's"),
    ),
}
MAIN = 2
UNRANKED = ("flatness",)
"""Metrics of which neither more nor less is better."""


def main_metrics(task: str) -> tuple[tuple[str, str, str], ...]:
    """What an experiment is about, entries of `METRICS`."""
    return METRICS[task][:MAIN]
