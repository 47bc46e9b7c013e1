"""What a run directory must be for a run to be continued in it."""

import hashlib
import json
import logging
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from cade_tf.config import Config, DataOptions, EmbeddingOptions, RunOptions
from cade_tf.errors import InputError
from cade_tf.files import atomic_write
from cade_tf.graph.graph import Graph
from cade_tf.training import checkpoints

CONFIG_FILE = "config.json"
FLAGS_FILE = "flags.txt"
DATA_FILE = "data.json"
CHECKPOINT_FOLDER = "checkpoints"

# Where the data lie does not matter as long as they are the same, which their fingerprint tells.
_FREE = frozenset(
    (
        *DataOptions.field_names(),
        *EmbeddingOptions.field_names(),
        *RunOptions.field_names(),
        "strategy",
        "patience",
    )
)
_LENGTH = frozenset(("steps", "epochs"))

_log = logging.getLogger(__name__)


def prepare(run_dir: Path, config: Config, fingerprint: str) -> None:
    """Makes a folder ready for a run, new or continued, and writes its options there.

    Args:
        run_dir: Folder of the run.
        config: Options.
        fingerprint: Hash of the training graph.

    Raises:
        InputError: The folder holds a run that these options or this graph would not continue.
    """
    if checkpoints.saved(run_dir / CHECKPOINT_FOLDER):
        _check_same_run(run_dir, config, fingerprint)
    with atomic_write(run_dir / DATA_FILE) as file:
        file.write((json.dumps({"training_graph": fingerprint}) + "\n").encode())
    with atomic_write(run_dir / FLAGS_FILE) as file:
        file.write(config.to_flagfile().encode())
    with atomic_write(run_dir / CONFIG_FILE) as file:
        file.write(config.to_json().encode())


def read_config(run_dir: Path) -> Config:
    """Options of a run.

    Raises:
        InputError: The folder holds no run.
    """
    path = run_dir / CONFIG_FILE
    if not path.is_file():
        raise InputError(str(run_dir), "a run directory with config.json", "none", "Train first.")
    return Config.from_json(path.read_text())


def differences(old: Config, new: Config) -> dict[str, tuple[object, object]]:
    """Options, old and new, that make two runs different; `steps` only where a schedule ends."""
    free = _FREE if "cosine" in (old.schedule, new.schedule) else _FREE | _LENGTH
    return {
        name: (getattr(old, name), getattr(new, name))
        for name in Config.field_names()
        if name not in free and getattr(old, name) != getattr(new, name)
    }


def _check_same_run(run_dir: Path, config: Config, fingerprint: str) -> None:
    remedy = "Give the same flags to continue it, another --run_dir, or --fresh to start anew."
    changed = differences(read_config(run_dir), config)
    if changed:
        shown = ", ".join(f"--{n}={new} (there: {old})" for n, (old, new) in changed.items())
        raise InputError("flags", f"those of the run in {run_dir}", shown, remedy)
    try:
        there = json.loads((run_dir / DATA_FILE).read_text())["training_graph"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise InputError(
            str(run_dir / DATA_FILE), "the fingerprint of the run's data", error, remedy
        ) from error
    if there != fingerprint:
        raise InputError(
            "graph", f"the training graph of the run in {run_dir}", "other data", remedy
        )


def fingerprint_of(graph: Graph) -> str:
    """A hash of everything that training reads of a graph."""
    digest = hashlib.blake2b(digest_size=16)
    arrays = [graph.indptr, graph.indices, graph.edge_weights, np.asarray(graph.ids)]
    matrix: Any = graph.features
    if sp.issparse(matrix):
        arrays += [matrix.data, matrix.indices, matrix.indptr, np.asarray(matrix.shape)]
    else:
        arrays.append(matrix)
    for array in arrays:
        if array is None:
            digest.update(b"none")
        else:
            digest.update(f"{array.dtype.str}{array.shape}".encode())
            digest.update(np.ascontiguousarray(array).view(np.uint8).data)
    return digest.hexdigest()


def set_aside(run_dir: Path) -> Path | None:
    """Moves a run out of the way.

    Returns:
        Where it is now; None where there was none.
    """
    if not run_dir.is_dir() or not any(run_dir.iterdir()):
        return None
    number = 1
    while (target := run_dir.with_name(f"{run_dir.name}~{number}")).exists():
        number += 1
    run_dir.rename(target)
    _log.warning("The run that was in %s is now in %s.", run_dir, target)
    return target
