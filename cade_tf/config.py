"""Every option of a training run, grouped.

The defaults are the paper's values; where one is not, because the paper's takes long, its help text
names it. Commands start from the preset `recommended` instead, which reads the graph.
"""

import dataclasses
import numbers
import os
from collections.abc import Mapping
from typing import Any, Self

from cade_tf import presets
from cade_tf.errors import InputError
from cade_tf.options import Options, option

MODELS = ("cade_ms", "cade_ma", "cade_gb", "graphsage")
DEFAULT_MODEL = "cade_ms"
AGGREGATORS = ("mean", "pool", "lstm")
COMPARABLE = ("raw_features", *MODELS)
LONGEST_WALK = 1000
LARGEST_SEED = 2**31 - 1  # what TensorFlow, NumPy and scikit-learn all take


def check_seed(seed: Any) -> None:
    """Refuses a seed that TensorFlow would not take, or would round.

    Raises:
        InputError: Something else than a whole number from 0 to `LARGEST_SEED`.

    Example:

    >>> check_seed(3)
    """
    whole = isinstance(seed, numbers.Integral) and not isinstance(seed, bool)
    if not whole or not 0 <= seed <= LARGEST_SEED:
        expected = f"a whole number from 0 to {LARGEST_SEED}"
        raise InputError("seed", expected, repr(seed), "Choose another.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class DataOptions(Options):
    """Data."""

    dataset: str | None = option(
        None,
        "Name of a known data set; `cade data list` shows them. Default without --graph: digits.",
    )
    graph: str | None = option(
        None,
        "Path of your own graph, in any format cade_tf reads; several paths, separated by commas, "
        "are read as one graph.",
        instead_of="dataset",
    )
    format: str | None = option(
        None, "Format of --graph. Default: it is recognised by its content."
    )
    features: str | None = option(
        None, "Path of node features (npy, npz, csv) that belong to an edge list."
    )
    labels: str | None = option(None, "Path of node labels (csv) that belong to an edge list.")
    data_dir: str | None = option(
        None, "Folder of the known data sets. Default: the environment variable CADE_DATA_DIR."
    )

    def graph_paths(self) -> list[str]:
        """Paths in `graph`: one, several that are separated by commas, or none."""
        if self.graph is None:
            return []
        if os.path.exists(os.path.expanduser(self.graph)):
            return [self.graph]
        return self.graph.split(",")

    def check_companions(self) -> None:
        """Whether what belongs to a graph of one's own is given with one.

        Raises:
            InputError: There is no such graph, or there are several.
        """
        count = len(self.graph_paths())
        for name in ("format", "features", "labels"):
            if count != 1 and getattr(self, name) is not None:
                raise InputError(
                    name,
                    "one graph together with it",
                    count or "none",
                    "It belongs to a graph of your own.",
                )

    def absolute(self) -> Self:
        """A copy whose paths mean the same in any folder, as a run must remember them."""
        changes = {}
        if self.graph is not None:
            changes["graph"] = ",".join(map(_absolute, self.graph_paths()))
        for name in ("features", "labels", "data_dir"):
            if getattr(self, name) is not None:
                changes[name] = _absolute(getattr(self, name))
        return self.replace(**changes)


def _absolute(path: str) -> str:
    return os.path.abspath(os.path.expanduser(path))


@dataclasses.dataclass(frozen=True, kw_only=True)
class SplitOptions(Options):
    """Split."""

    unseen_ratio: float = option(
        0.3,
        "Share of nodes that training does not see, nor any of their edges. With --graph none are "
        "hidden unless this is given. Data sets with a split of their own (PPI, Reddit) use that "
        "split.",
        minimum=0.0,
        maximum=0.95,
    )
    split_seed: int = option(0, "Seed of the split.", minimum=0, maximum=LARGEST_SEED)


@dataclasses.dataclass(frozen=True, kw_only=True)
class FeatureOptions(Options):
    """Features."""

    feature_scaling: str = option(
        "standard",
        "How features are scaled, by what the training nodes show: standard (zero mean, unit "
        "variance), log (logarithm of counts, then standard), tfidf (rare features weigh more; "
        "each node's vector gets unit length), log_tfidf (logarithm of counts, then tfidf), row "
        "(unit length only), standard_row (standard, then row), none.",
        choices=("standard", "log", "tfidf", "log_tfidf", "row", "standard_row", "none"),
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

    preset: str | None = option(
        None,
        "Values of options that are not given: recommended (a rule that reads the graph; the log "
        "says what it decided) or paper (the paper's own method, with one pass over all walks).",
        choices=presets.PRESETS,
        in_commands="recommended",
    )
    model: str = option(DEFAULT_MODEL, "Model to train.", choices=MODELS)
    aggregator: str = option("mean", "AGGREGATE of Algorithm 3.", choices=AGGREGATORS)
    k: int = option(
        10, "K: samplings of CADE-MS, aggregator sets of CADE-MA.", minimum=1, maximum=256
    )
    dim: int = option(256, "Width of embeddings, of hidden layers and of the bias.", minimum=1)
    fanouts: tuple[int, ...] = option(
        (20, 10), "Sampled neighbours of each hop, the root's first; as many as layers.", minimum=1
    )
    global_bias: bool = option(
        True,
        "Whether CADE has the global bias (the study of K removes it). GraphSAGE never has one.",
    )
    activation: str = option(
        "relu", "Activation of the hidden layers.", choices=("relu", "elu", "tanh", "linear")
    )
    last_activation: str = option(
        "linear",
        "Activation of the last layer (Algorithm 3 has that of the hidden layers here too).",
        choices=("linear", "relu", "elu", "tanh"),
    )
    normalize: str = option(
        "output",
        "What is scaled to unit length: output (after the attention), encoder (each of the K "
        "embeddings before it), both, none (paper: not said; --preset=paper takes none for "
        "cade_ma).",
        choices=("output", "encoder", "both", "none"),
    )
    attention_score: str = option(
        "linear",
        "Score of CADE-MA's attention: linear (the paper's A), tanh (a nonlinear extension).",
        choices=("linear", "tanh"),
    )
    attention_temperature: float = option(
        1.0,
        "Attention scores are divided by this before the softmax (paper: not said how long the "
        "candidates are or how A starts; --preset=paper takes 4 for cade_ms, 16 for cade_ma).",
        positive=True,
    )
    initialization: str = option(
        "glorot",
        "How the weights start: glorot (at random), or smoothing (an extension: the encoder "
        "starts as a filter that averages features over neighbours, in their main directions; "
        "needs --activation=linear and --aggregator=mean).",
        choices=("glorot", "smoothing"),
    )
    self_weights: tuple[float, ...] = option(
        (0.7,),
        "Weight of a node itself in the layers of the smoothing initialisation; the mean of its "
        "neighbours has the rest. Two numbers are the ends of a range over the K aggregators of "
        "CADE-MA.",
        minimum=0.0,
        maximum=1.0,
    )
    own_weight: float = option(
        0.0,
        "Length of a part of the smoothing initialisation that holds a node's own features, as a "
        "share of the smoothed part; it has a quarter of the dimensions. 0: there is none.",
        minimum=0.0,
    )
    position_weight: float = option(
        0.0,
        "Length of a part of the smoothing initialisation that holds nodes' positions in the "
        "graph, as a share of the smoothed part; it has a quarter of the dimensions, and the "
        "global bias starts with it. 0: there is none, and the global bias starts at zero.",
        minimum=0.0,
    )
    remove_mean: bool = option(
        False,
        "Whether the smoothing initialisation leaves out the direction in which the mean of all "
        "nodes' features lies.",
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not 1 <= len(self.fanouts) <= 8:
            raise InputError(
                "fanouts", "1 to 8 numbers", len(self.fanouts), "Give one per layer, as 20,10."
            )
        if not 1 <= len(self.self_weights) <= 2:
            raise InputError(
                "self_weights", "1 or 2 numbers", len(self.self_weights), "Give one, or a range."
            )
        if self.initialization == "smoothing":
            for name, wanted in (
                ("aggregator", "mean"),
                ("activation", "linear"),
                ("last_activation", "linear"),
            ):
                if getattr(self, name) != wanted:
                    raise InputError(
                        name,
                        f"{wanted} together with initialization=smoothing",
                        getattr(self, name),
                        "Change one of them.",
                    )
        if self.position_weight and not self.has_bias:
            raise InputError(
                "position_weight",
                "0 for a model without a global bias",
                self.position_weight,
                "Take a CADE model of at least two layers with its global bias, or leave it out.",
            )

    @property
    def has_bias(self) -> bool:
        """Whether the model reads a global bias, which hidden layers alone have."""
        return self.global_bias and self.model != "graphsage" and len(self.fanouts) > 1


@dataclasses.dataclass(frozen=True, kw_only=True)
class TrainingOptions(Options):
    """Training."""

    steps: int = option(400, "Training steps (paper: one pass, see --epochs).", minimum=0)
    epochs: int = option(
        0,
        "Passes over all walks, instead of --steps; 0 counts steps (paper: not said; "
        "--preset=paper takes GraphSAGE's 1).",
        minimum=0,
        instead_of="steps",
    )
    batch_size: int = option(512, "Positive pairs per step.", minimum=1)
    walks_per_node: int = option(100, "Random walks from each node in one epoch.", minimum=1)
    walk_length: int = option(
        4,
        "Steps of a walk; the start is paired with every node visited.",
        minimum=1,
        maximum=LONGEST_WALK,
    )
    pair_order: str = option(
        "walk",
        "Order of positive pairs: walk (all pairs of a walk in one batch: fewer distinct nodes, "
        "faster), shuffled.",
        choices=("walk", "shuffled"),
    )
    negatives: int = option(20, "Q: negatives per step, shared by the batch.", minimum=1)
    negative_sharing: str = option(
        "batch",
        "Whether the Q negatives are shared by the batch or drawn for every pair.",
        choices=("batch", "pair"),
    )
    loss: str = option(
        "pair",
        "pair (the paper's, with negative sampling), or softmax (an extension, InfoNCE: a node's "
        "partner against the negatives and against the partners of the batch's other pairs).",
        choices=("pair", "softmax"),
    )
    negative_weight: float = option(
        20.0,
        "Factor before the pair loss's expectation over negatives: Q in the paper.",
        minimum=0.0,
    )
    temperature: float = option(
        1.0, "Dot products are divided by this in the loss (paper: 1).", positive=True
    )
    learning_rate: float = option(1e-4, "Learning rate of Adam.", positive=True)
    schedule: str = option(
        "constant",
        "Learning rate after the warm-up: constant, or cosine (falls to zero at the last step).",
        choices=("constant", "cosine"),
    )
    warmup_steps: int = option(
        0, "Steps in which the learning rate rises linearly from zero.", minimum=0
    )
    clip_value: float = option(
        5.0, "Gradients are clipped to plus or minus this; 0 does not clip.", minimum=0.0
    )
    clip_norm: float = option(
        0.0,
        "Gradients are scaled down to this joint length where they exceed it; 0 does not clip.",
        minimum=0.0,
    )
    weight_decay: float = option(
        0.0,
        "Share of the weights, times the learning rate, that is taken away in every step.",
        minimum=0.0,
    )
    feature_dropout: float = option(
        0.0,
        "Share of a node's features that are hidden in every training step.",
        minimum=0.0,
        maximum=0.99,
    )
    bias_dropout: float = option(
        0.0,
        "Share of nodes whose global bias is hidden in every training step, so that the encoder "
        "learns to embed nodes that have none.",
        minimum=0.0,
        maximum=1.0,
    )
    bias_learning_rate: float = option(
        1.0, "Learning rate of the global bias, as a multiple of --learning_rate.", minimum=0.0
    )
    bias_weight_decay: float = option(
        0.0,
        "As --weight_decay, for the rows of the global bias that are read in a step.",
        minimum=0.0,
    )
    seed: int = option(
        0,
        "Seed of weights, walks, neighbours and negatives.",
        minimum=0,
        maximum=LARGEST_SEED,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.epochs:
            object.__setattr__(self, "steps", 0)  # counted by epochs
        rates = {
            "weight_decay": self.learning_rate,
            "bias_weight_decay": self.learning_rate * self.bias_learning_rate,
        }
        for name, rate in rates.items():
            if getattr(self, name) * rate >= 1:
                raise InputError(
                    name,
                    f"less than {1 / rate:g}, one over the learning rate",
                    getattr(self, name),
                    "Lower it: a step would take more than the whole weight away.",
                )


@dataclasses.dataclass(frozen=True, kw_only=True)
class ValidationOptions(Options):
    """Validation and early stopping."""

    validate_every: int = option(
        0,
        "Steps between validations; training then does not see the validation nodes. 0: never.",
        minimum=0,
    )
    stop_on: str = option(
        "none",
        "Validation score that ends training when it no longer rises; the weights of its best "
        "value are kept: mrr (rank of a node's partner among negatives), probe (micro-F1 of "
        "labels), pairs (as mrr, on other walks of the training nodes: no node is hidden for it), "
        "none.",
        choices=("none", "mrr", "probe", "pairs"),
    )
    patience: int = option(
        5, "Validations without a better score before training stops.", minimum=1
    )

    held_out_edges: float = option(
        0.05,
        "Where nodes have no labels: share of edges that training does not see, and by which its "
        "end compares the model with what needs no training. 0: training sees all edges.",
        minimum=0.0,
        maximum=0.5,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.stop_on not in ("none", "pairs") and not self.validate_every:
            raise InputError(
                "stop_on",
                "validate_every above 0 together with it",
                "0",
                "Say how often to validate.",
            )


@dataclasses.dataclass(frozen=True, kw_only=True)
class DeviceOptions(Options):
    """Devices."""

    precision: str = option(
        "float32",
        "Arithmetic of the model; float16 scales its loss against underflow. Weights and the "
        "global bias are always float32.",
        choices=("float32", "bfloat16", "float16"),
    )
    strategy: str = option(
        "none",
        "How the work of a step is divided: none (one device), mirrored (all GPUs of this "
        "machine), multi_worker (the machines that TF_CONFIG names, with a shared --run_dir).",
        choices=("none", "mirrored", "multi_worker"),
    )
    cluster: bool = option(
        False,
        "Train on the chief, workers and parameter servers that TF_CONFIG names; --graph is a "
        "folder of shards (`cade data convert --shards=N`). `cade launch` starts such a cluster "
        "on this machine.",
    )
    memory_map: bool = option(
        False,
        "Leave the graph, its features and the global bias on disk and read what each step needs; "
        "--graph is a folder of shards.",
    )


@dataclasses.dataclass(frozen=True, kw_only=True)
class EmbeddingOptions(Options):
    """Embeddings (Algorithm 1)."""

    embed_walks: int = option(
        5,
        "Random walks from each node when the whole graph is embedded (paper: 100).",
        minimum=1,
    )
    embed_batch_size: int = option(1024, "Walks that are embedded together.", minimum=1)


@dataclasses.dataclass(frozen=True, kw_only=True)
class RunOptions(Options):
    """Run."""

    run_dir: str | None = option(
        None, "Folder of the run; a run found there is continued. Default: runs/<data>-<model>."
    )
    fresh: bool = option(
        False, "Start again: a run found in --run_dir is moved aside instead of being continued."
    )
    checkpoint_every: int = option(
        500, "Steps between checkpoints; the last step is always saved.", minimum=1
    )
    checkpoint_minutes: float = option(
        10.0,
        "Minutes after which a checkpoint is written, even before --checkpoint_every steps.",
        positive=True,
    )
    keep_checkpoints: int = option(
        3,
        "How many of the newest checkpoints are kept; that of the best validation is kept too.",
        minimum=1,
    )
    summary_every: int = option(
        20, "Steps between TensorBoard's scalars; 0 writes no events at all.", minimum=0
    )
    detail_every: int = option(
        0,
        "Steps between histograms, attention images and effective rank in TensorBoard; 0: a tenth "
        "of the run.",
        minimum=0,
    )
    silence_seconds: float = option(
        600.0,
        "Seconds without an answer of any worker or server after which the chief of a --cluster "
        "ends, to be started again.",
        positive=True,
    )
    progress_seconds: float = option(
        30.0,
        "Seconds between progress lines where there is neither terminal nor notebook.",
        positive=True,
    )
    verbosity: str = option(
        "info",
        "Which messages are shown: debug (TensorFlow's own too), info, warning, error (no "
        "progress).",
        choices=("debug", "info", "warning", "error"),
    )
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
    ValidationOptions,
    DeviceOptions,
    EmbeddingOptions,
    RunOptions,
):
    """All options of a training run.

    Args:
        given: Names of the options that a user gave, where the recommended preset still has to
            decide the others (training does so when it has the graph); None where all are decided.
        decided: What the recommended preset has decided, by option; None where it has not.

    Example:

    >>> Config(model="cade_ma", k=5).dim
    256
    >>> Config.from_given(preset="paper", model="cade_ma").learning_rate
    0.0001
    >>> Config.from_given(k=5).preset
    'recommended'
    """

    given: frozenset[str] | None = dataclasses.field(default=None, compare=False, repr=False)
    decided: Mapping[str, Any] | None = dataclasses.field(default=None, compare=False, repr=False)

    @classmethod
    def from_given(cls, **given: Any) -> Self:
        """Options of which some are given; the others are the preset's, or the defaults.

        Without a preset it is the recommended one. Nodes of one's own graph are not hidden from
        training unless that is asked for.
        """
        values = {"preset": cls.spec("preset").in_commands, **given}
        if values.get("graph") is not None:
            values.setdefault("unseen_ratio", 0.0)
        if values["preset"] == "recommended":
            return cls(**values, given=frozenset(given))
        return cls(**presets.complete(values, DEFAULT_MODEL))

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed, checked again; a preset leaves the changed ones."""
        if self.given is not None:
            changes.setdefault("given", self.given | set(changes))
        return super().replace(**changes)

    def to_flagfile(self) -> str:
        """The options as an absl flagfile, which a command reads as exactly these options."""
        flags = super().to_flagfile()
        # A Config of one's own names every option, so that nothing is left to the preset.
        return flags if self.preset is not None else f"--preset=paper\n{flags}"
