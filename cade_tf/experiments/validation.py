"""Scores of validation nodes, which training does not see, while it runs."""

import numpy as np

from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.evaluation import classification
from cade_tf.graph.graph import Graph
from cade_tf.graph.splits import NodeSplit
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.training.loop import Validate
from cade_tf.training.validation import HeldOutRank

PROBE = "sgd"
"""The quicker of the two; validation compares steps of one run, not methods."""


def make_validate(graph: Graph, split: NodeSplit, config: Config) -> Validate:
    """A function that scores an encoder on the validation nodes.

    Args:
        graph: The whole graph; its test nodes are not looked at.
        split: The split.
        config: Options.

    Returns:
        A function of encoder and step that gives `mrr` and, where nodes have labels, `probe`.

    Raises:
        InputError: There are no validation nodes, or no labels to stop on.
    """
    if not len(split.validation):
        raise InputError(
            "validate_every", "a split with validation nodes", "none", "Use a larger graph."
        )
    if config.stop_on == "probe" and graph.labels is None:
        raise InputError("stop_on", "a graph with labels", "none", "Stop on mrr instead.")
    both = np.sort(np.concatenate([split.train, split.validation]))
    part = graph.subgraph(both)
    held_out = np.searchsorted(both, split.validation)
    train = np.searchsorted(both, split.train)
    rank = HeldOutRank(part, held_out, config)

    def validate(model: DualEncoder, step: int) -> dict[str, float]:
        scores = {"mrr": rank(model)}
        if part.labels is not None:
            embeddings = model.embed(
                part,
                walks=1,
                seed=config.seed,
                batch_size=config.embed_batch_size,
                progress=False,
            )
            found = classification.score(embeddings, part.labels, train, held_out, PROBE)
            scores["probe"] = found.micro_f1
        return scores

    return validate
