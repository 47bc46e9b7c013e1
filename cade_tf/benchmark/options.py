"""What `cade bench` can be told, and the training options that follow from it."""

import dataclasses
from typing import Any

from cade_tf.config import Config, DataOptions
from cade_tf.errors import InputError
from cade_tf.options import option

CASES = ("steps", "literal", "embedding", "startup", "sizes", "peer", "end_to_end")
QUICKSTART = Config(
    dataset="digits", model="cade_ms", k=5, dim=128, fanouts=(10, 5), steps=200, learning_rate=1e-3
)
"""The run whose start is measured: flags/quickstart.flags."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class BenchOptions(DataOptions):
    """Benchmark."""

    cases: tuple[str, ...] = option((), "What to measure. Default: all.", choices=CASES)
    quick: bool = option(
        False, "Seconds instead of minutes: digits, tiny models and graphs; marked so."
    )
    device: str = option(
        "auto",
        "auto (a GPU where TensorFlow finds one), cpu, or gpu (an error where there is none).",
        choices=("auto", "cpu", "gpu"),
    )
    precision: str = option(
        "float32",
        "Arithmetic of the layers, as in `cade train`.",
        choices=("float32", "bfloat16", "float16"),
    )
    repeats: int = option(3, "Measurements of which the median is given.", minimum=1)
    output: str | None = option(
        None, "Folder of the report. Default: runs/reports/bench, with --quick runs/quick/bench."
    )
    k: int = option(10, "K of CADE-MS and CADE-MA.", minimum=1)
    dim: int = option(256, "Width of embeddings and of hidden layers.", minimum=1)
    fanouts: tuple[int, ...] = option((20, 10), "Sampled neighbours of each hop.", minimum=1)
    batch_size: int = option(512, "Positive pairs per step.", minimum=1)
    negatives: int = option(20, "Q: negatives per step, shared by the batch.", minimum=1)
    peer: str | None = option(
        None,
        "Script of a peer to be measured in turn with ours; it reads --data, an npz file, and "
        "prints one line of JSON with steps_per_s, or nodes_per_s where it gets --embed.",
    )
    peer_python: str | None = option(None, "Python of the peer's own environment.")
    peer_pythonpath: str | None = option(None, "PYTHONPATH of the peer.")

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.peer is not None and self.peer_python is None:
            raise InputError("peer_python", "a path with --peer", "none", "Give --peer_python.")

    def sized(self) -> "BenchOptions":
        """These options, made small where `quick` asks for it."""
        if not self.quick:
            return self
        chosen = {} if self.dataset or self.graph else {"dataset": "digits"}
        return self.replace(**chosen, repeats=1, k=2, dim=16, fanouts=(3, 2), batch_size=32)

    def config(self, model: str, **changes: Any) -> Config:
        """Options of a training run of one model.

        Args:
            model: Name of the model.
            **changes: Other options of the run.
        """
        values = {name: getattr(self, name) for name in DataOptions.field_names()}
        for name in ("k", "dim", "fanouts", "batch_size", "negatives", "precision"):
            values[name] = getattr(self, name)
        return Config(**{**values, "model": model, "densify_features": True, **changes})
