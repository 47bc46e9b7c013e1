"""`--preset=paper`: the paper's method with the hyper-parameters of its section 4.2.

Every option that decides about the result is listed, so that a change of a default elsewhere does
not change the paper. `cade_tf/experiments/README.md` lists all readings and departures.
"""

from typing import Any

# Printed in section 4.2.
PRINTED: dict[str, Any] = {
    "fanouts": (20, 10),  # s_1, s_2; L = 2 layers
    "walks_per_node": 100,
    "walk_length": 4,
    "k": 10,
    "dim": 256,
    "learning_rate": 1e-4,  # of Adam
}

# Follows from the paper's equations and algorithms.
METHOD: dict[str, Any] = {
    "aggregator": "mean",  # Table 2 has the others
    "global_bias": True,  # Algorithm 3
    "attention_score": "linear",  # A^T [h_vi || h_pj] in CADE-MA
    "loss": "pair",  # equations 1 and 2
    "temperature": 1.0,
    "negative_weight": 20.0,  # the factor Q before the expectation over negatives
    "embed_walks": 100,  # Algorithm 1 runs "random walks": those of section 4.2
}

# The paper is silent; the values are GraphSAGE's, whose code the paper builds on.
FROM_GRAPHSAGE: dict[str, Any] = {
    "batch_size": 512,
    "epochs": 1,
    "steps": 0,  # counted by --epochs
    "negatives": 20,
    "negative_sharing": "batch",
    "clip_value": 5.0,
    "clip_norm": 0.0,
    "schedule": "constant",
    "warmup_steps": 0,
    "weight_decay": 0.0,
    "feature_dropout": 0.0,
    "feature_scaling": "standard",
    "activation": "relu",
    # Algorithm 3 prints the activation of the hidden layers here too. After a relu every dot
    # product is at least 0, so that no negative can be pushed below sigma = 1/2.
    "last_activation": "linear",
    "initialization": "glorot",
    "self_weights": (0.7,),  # these three are read by the smoothing start only
    "own_weight": 0.0,
    "position_weight": 0.0,
    "remove_mean": False,
}

# Nobody has these options; they are off.
OFF: dict[str, Any] = {
    "feature_svd": 0,
    "densify_features": False,
    "pair_order": "walk",
    "bias_dropout": 0.0,
    "bias_learning_rate": 1.0,
    "bias_weight_decay": 0.0,
}

# Where the paper is silent and its models differ: chosen on validation nodes by `cade reproduce
# curve`; runs/reports/curve says what the other values do.
BY_MODEL: dict[str, dict[str, Any]] = {
    # The length of the outputs. GraphSAGE's code gives them unit length, with which CADE-MA
    # collapses.
    "normalize": {
        "graphsage": "output",
        "cade_gb": "output",
        "cade_ms": "output",
        "cade_ma": "none",
    },
    # How the vector A starts. To divide its scores by sqrt(d), as in scaled dot-product attention,
    # is to start with an A that is as much shorter, and learns as much more slowly. Otherwise A
    # chooses one aggregator of K from the start, and CADE-MA learns roles instead of nodes.
    # How long the candidates are that CADE-MS multiplies: to divide their dot products by 4 is to
    # halve them. Undivided they choose the best of K x K pairs more and more sharply, and on
    # BlogCatalog the score of validation nodes falls after a third of the pass.
    "attention_temperature": {
        "graphsage": 1.0,
        "cade_gb": 1.0,
        "cade_ms": 4.0,
        "cade_ma": 16.0,
    },
}


def options(model: str) -> dict[str, Any]:
    """Values of all options that the preset decides, for a model.

    Args:
        model: Name of a model.

    Example:

    >>> options("cade_ma")["normalize"], options("cade_ms")["normalize"]
    ('none', 'output')
    """
    chosen = {name: values[model] for name, values in BY_MODEL.items()}
    named = {"preset": "paper", "model": model}
    return {**PRINTED, **METHOD, **FROM_GRAPHSAGE, **OFF, **chosen, **named}
