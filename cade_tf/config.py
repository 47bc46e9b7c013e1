"""Every option of a training run, grouped; the defaults are the measured recipe.

Where a default departs from the paper, the help text names the paper's value; the README's table
of readings says why.
"""

import dataclasses

from cade_tf.errors import InputError
from cade_tf.options import Options, option

MODELS = ("cade_ms", "cade_ma", "cade_gb", "graphsage")
AGGREGATORS = ("mean", "pool", "lstm")
COMPARABLE = ("raw_features", *MODELS)
LARGEST_SEED = 2**31 - 1  # what TensorFlow, NumPy and scikit-learn all take


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataOptions(Options):
    """Data."""

    dataset: str | None = option(
        None, "Known data set by name; `cade data list` shows them. Without it and --graph: digits."
    )
    graph: str | None = option(None, "Path of your own graph, in any format cade_tf reads.")
    format: str | None = option(None, "Format of --graph; by default it is recognised by content.")
    features: str | None = option(
        None, "Path of node features (npy, npz, csv) that belong to an edge list."
    )
    labels: str | None = option(None, "Path of node labels (csv) that belong to an edge list.")
    data_dir: str | None = option(
        None, "Folder of the known data sets. Default: the environment variable CADE_DATA_DIR."
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.dataset is not None and self.graph is not None:
            raise InputError(
                "dataset", "either --dataset or --graph", "both", "Leave one of them out."
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class SplitOptions(Options):
    """Split."""

    unseen_ratio: float = option(
        0.3,
        "Share of nodes hidden with all their edges in training. Data sets with a split of their "
        "own (PPI, Reddit) use that.",
        minimum=0.0,
        maximum=0.95,
    )
    split_seed: int = option(0, "Seed of the split.", minimum=0, maximum=LARGEST_SEED)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FeatureOptions(Options):
    """Features."""

    feature_scaling: str = option(
        "standard",
        "How features are scaled, fit on training nodes: standard (zero mean, unit variance), "
        "log (logarithm of counts, then standard), tfidf (rare features weigh more, unit length "
        "of each node's vector), row (unit length only), none.",
        choices=("standard", "log", "tfidf", "row", "none"),
    )
    feature_svd: int = option(
        0,
        "Reduce the features to this many dimensions by a truncated SVD fit on training nodes; "
        "0 keeps them.",
        minimum=0,
    )
    densify_features: bool = option(
        False,
        "Make sparse features dense. Otherwise they stay sparse and are scaled without being "
        "centred.",
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ModelOptions(Options):
    """Model."""

    model: str = option("cade_ms", "Model to train.", choices=MODELS)
    aggregator: str = option("mean", "AGGREGATE of Algorithm 3.", choices=AGGREGATORS)
    k: int = option(
        10, "K: samplings of CADE-MS, aggregator sets of CADE-MA.", minimum=1, maximum=256
    )
    dim: int = option(256, "Width of embeddings, of hidden layers and of the bias.", minimum=1)
    fanouts: tuple[int, ...] = option(
        (20, 10), "Sampled neighbours of each hop, the root's first; as many as layers.", minimum=1
    )
    global_bias: bool = option(
        True, "Whether CADE has the global bias (the study of K removes it); GraphSAGE never has."
    )
    activation: str = option(
        "relu", "Activation of the hidden layers.", choices=("relu", "elu", "tanh", "linear")
    )
    last_activation: str = option(
        "linear",
        "Activation of the last layer (Algorithm 3 prints the hidden one).",
        choices=("linear", "relu", "elu", "tanh"),
    )
    normalize: str = option(
        "output",
        "What is scaled to unit length: output (after the attention), encoder (each of the K "
        "embeddings before it), both, none.",
        choices=("output", "encoder", "both", "none"),
    )
    attention_score: str = option(
        "linear",
        "Score of CADE-MA's attention: linear (the paper's A), tanh (a nonlinear extension).",
        choices=("linear", "tanh"),
    )
    attention_temperature: float = option(
        1.0, "Attention scores are divided by this before the softmax (paper: 1).", positive=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= len(self.fanouts) <= 8:
            raise InputError(
                "fanouts", "1 to 8 numbers", len(self.fanouts), "Give one per layer, as 20,10."
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingOptions(Options):
    """Training."""

    steps: int = option(400, "Training steps.", minimum=0)
    batch_size: int = option(512, "Positive pairs a step.", minimum=1)
    walks_per_node: int = option(100, "Random walks from each node in one epoch.", minimum=1)
    walk_length: int = option(
        4, "Steps of a walk; the start is paired with every node visited.", minimum=1
    )
    pair_order: str = option(
        "walk",
        "Order of positive pairs: walk (all pairs of a walk in one batch: fewer distinct nodes, "
        "faster), shuffled.",
        choices=("walk", "shuffled"),
    )
    negatives: int = option(20, "Q: negatives a step, shared by the batch.", minimum=1)
    negative_sharing: str = option(
        "batch",
        "Whether the Q negatives are shared by the batch or drawn for every pair.",
        choices=("batch", "pair"),
    )
    negative_weight: float = option(
        1.0, "Factor before the expectation over negatives (paper: Q).", minimum=0.0
    )
    temperature: float = option(
        1.0, "Dot products are divided by this in the loss (paper: 1).", positive=True
    )
    learning_rate: float = option(3e-4, "Learning rate of Adam (paper: 1e-4).", positive=True)
    clip_value: float = option(
        5.0, "Gradients are clipped to plus or minus this; 0 does not clip.", minimum=0.0
    )
    checkpoint_every: int = option(
        500, "Steps between checkpoints; the last step is always saved.", minimum=1
    )
    seed: int = option(
        0,
        "Seed of weights, walks, neighbours and negatives.",
        minimum=0,
        maximum=LARGEST_SEED,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class EmbeddingOptions(Options):
    """Embeddings (Algorithm 1)."""

    embed_walks: int = option(
        5, "Random walks from each node when the whole graph is embedded.", minimum=1
    )
    embed_batch_size: int = option(1024, "Walks embedded at a time.", minimum=1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunOptions(Options):
    """Run."""

    run_dir: str | None = option(None, "Folder of the run. Default: runs/<data>-<model>.")
    compare: tuple[str, ...] = option(
        (),
        "Other methods trained on the same split and budget, for the printed table.",
        choices=COMPARABLE,
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class Config(
    DataOptions,
    SplitOptions,
    FeatureOptions,
    ModelOptions,
    TrainingOptions,
    EmbeddingOptions,
    RunOptions,
):
    """All options of a training run.

    Example:

    >>> Config(model="cade_ma", k=5).dim
    256
    """
