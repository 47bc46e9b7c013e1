"""What a run directory must be for a run to be continued in it."""

import hashlib
import logging
import os
import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.files import read_json, write_json, write_text
from cade_tf.graph.graph import Graph
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.models.factory import load_model
from cade_tf.training import checkpoints, manifest, run_lock
from cade_tf.training.run_options import CONFIG_FILE, differences, read_config

FLAGS_FILE = "flags.txt"
DATA_FILE = "data.json"
CHECKPOINT_FOLDER = "checkpoints"
ENCODER_FOLDER = "encoder"
MODEL_FILE = "model.keras"
ENCODER_FILE = f"{ENCODER_FOLDER}/{MODEL_FILE}"

_log = logging.getLogger(__name__)


def prepare(run_dir: Path, config: Config, fingerprint: str) -> None:
    """Makes a folder ready for a run, new or continued, and writes its options there.

    Raises:
        InputError: The folder holds a run that these options or this graph would not continue.
    """
    config = config.absolute()
    if checkpoints.saved(run_dir / CHECKPOINT_FOLDER):
        _check_same_run(run_dir, config, fingerprint)
    manifest.withdraw(run_dir)
    write_json(run_dir / DATA_FILE, {"training_graph": fingerprint})
    write_text(run_dir / FLAGS_FILE, config.to_flagfile())
    write_text(run_dir / CONFIG_FILE, config.to_json())


def save_model(model: DualEncoder, run_dir: Path) -> Path:
    """Writes the trained model of a run, complete or not there.

    Returns:
        The file.
    """
    folder = run_dir / ENCODER_FOLDER
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder, prefix=".saving-") as scratch:
        model.save(Path(scratch) / MODEL_FILE)
        os.replace(Path(scratch) / MODEL_FILE, folder / MODEL_FILE)
    return folder / MODEL_FILE


def load_run_model(run_dir: Path) -> DualEncoder:
    """The trained model of a run.

    Raises:
        InputError: There is none, it is damaged, or an older version of cade_tf wrote it.
    """
    folder = Path(run_dir) / ENCODER_FOLDER
    if (folder / "encoder.npz").is_file():
        raise InputError(
            str(folder), "a model of this version", "one of cade_tf 0.1", "Train it again."
        )
    manifest.check(run_dir, ENCODER_FILE)
    return load_model(folder / MODEL_FILE)


def _check_same_run(run_dir: Path, config: Config, fingerprint: str) -> None:
    remedy = "Give the same options to continue it, another run_dir, or fresh to start again."
    changed = differences(read_config(run_dir), config)
    if changed:
        shown = ", ".join(f"{n}={new} (there: {old})" for n, (old, new) in changed.items())
        raise InputError("options", f"those of the run in {run_dir}", shown, remedy)
    check_training_graph(run_dir, fingerprint, remedy)


def check_training_graph(run_dir: Path, fingerprint: str, remedy: str) -> None:
    """Checks that a run was trained on a graph.

    Args:
        run_dir: Folder of the run.
        fingerprint: Hash of the graph.
        remedy: What to do if not.

    Raises:
        InputError: It was trained on another one, or does not say on which.
    """
    path = run_dir / DATA_FILE
    there = read_json(path, remedy).get("training_graph") if path.is_file() else None
    if there is None:
        raise InputError(str(path), "the fingerprint of the run's data", "none", remedy)
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

    Raises:
        InputError: Somebody still writes there.
    """
    if not run_dir.is_dir() or not any(run_dir.iterdir()):
        return None
    number = 1
    while (target := run_dir.with_name(f"{run_dir.name}~{number}")).exists():
        number += 1
    with run_lock.hold(run_dir):
        pass
    run_dir.rename(target)
    _log.warning("The run that was in %s is now in %s.", run_dir, target)
    return target
