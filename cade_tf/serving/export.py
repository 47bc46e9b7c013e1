"""A trained encoder as a versioned SavedModel, as TensorFlow Serving wants it."""

import contextlib
import fcntl
import itertools
import logging
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import tensorflow as tf
from tensorflow.core.protobuf import saved_model_pb2

from cade_tf.config import EmbeddingOptions
from cade_tf.errors import InputError
from cade_tf.files import atomic_write
from cade_tf.graph.graph import Graph
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.serving.encoder_module import EncoderModule
from cade_tf.serving.graph_module import GraphModule

MODEL_CARD = "model_card.md"


def export_model(
    model: DualEncoder,
    export_dir: str | Path,
    *,
    graph: Graph | None = None,
    walks: int = EmbeddingOptions.embed_walks,
    seed: int = 0,
    card: Callable[[Sequence[str]], str] | None = None,
) -> Path:
    """Writes the next version of a SavedModel: export_dir/1, export_dir/2 and so on.

    A version appears only when it is complete, so that a server that watches the folder never
    loads half of one.

    Args:
        model: The trained model.
        export_dir: Folder of all versions.
        graph: The graph whose nodes requests may name; None for an export without one.
        walks: Walks that make the contexts of a node.
        seed: Seed of requests that bring none.
        card: Text of model_card.md for the names of the signatures; None for no card.

    Returns:
        Folder of the new version.

    Raises:
        InputError: `export_dir` is a file, or the graph has other features than training had.
    """
    export_dir = Path(export_dir)
    if export_dir.exists() and not export_dir.is_dir():
        raise InputError("export_dir", "a folder", f"the file {export_dir}", "Name a folder.")
    module = (
        EncoderModule(model) if graph is None else GraphModule(model, graph, walks=walks, seed=seed)
    )
    export_dir.mkdir(parents=True, exist_ok=True)
    # Servers look at folders with numbers for names only.
    scratch, held = _make_scratch(export_dir)
    try:
        with _without_info():
            tf.saved_model.save(
                module,
                str(scratch),
                signatures=dict(module.functions),
                # Nobody trains what is served; the gradients would need operations of their own.
                options=tf.saved_model.SaveOptions(
                    experimental_custom_gradients=False, save_debug_info=False
                ),
            )
        _drop_gradients(scratch)
        if card is not None:
            with atomic_write(scratch / MODEL_CARD) as file:
                file.write(card(list(module.functions)).encode())
        scratch.chmod(0o755)
        return _publish(scratch, export_dir)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise
    finally:
        os.close(held)


@contextlib.contextmanager
def _without_info() -> Iterator[None]:
    """Keeps TensorFlow from naming a folder that will not be there under this name."""
    logger = tf.get_logger()
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


def _drop_gradients(folder: Path) -> None:
    """Removes the names of gradients, which are not saved: loading would warn of each."""
    path = folder / tf.saved_model.SAVED_MODEL_FILENAME_PB
    saved = saved_model_pb2.SavedModel.FromString(path.read_bytes())
    for meta_graph in saved.meta_graphs:
        graph = meta_graph.graph_def
        functions = (function.node_def for function in graph.library.function)
        for node in itertools.chain(graph.node, *functions):
            if "_gradient_op_type" in node.attr:
                del node.attr["_gradient_op_type"]
    path.write_bytes(saved.SerializeToString(deterministic=True))


def _make_scratch(export_dir: Path) -> tuple[Path, int]:
    """A folder of our own, locked while we live, after those of killed exports are removed.

    Returns:
        The folder, and the handle that holds its lock.
    """
    guard = os.open(export_dir, os.O_RDONLY)
    try:
        # One process at a time, so that nobody finds a new folder before it is locked. Without
        # locks nobody can tell what is left over, and all of it stays.
        has_locks = True
        try:
            fcntl.flock(guard, fcntl.LOCK_EX)
        except OSError:
            has_locks = False
        for path in export_dir.glob(".exporting-*") if has_locks else ():
            _remove_unheld(path)
        scratch = Path(tempfile.mkdtemp(dir=export_dir, prefix=".exporting-"))
        held = os.open(scratch, os.O_RDONLY)
        if has_locks:
            fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return scratch, held
    finally:
        os.close(guard)


def _remove_unheld(path: Path) -> None:
    try:
        handle = os.open(path, os.O_RDONLY)
    except FileNotFoundError:
        # Its export was published in this moment.
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return
    else:
        shutil.rmtree(path, ignore_errors=True)
    finally:
        os.close(handle)


def versions(export_dir: str | Path) -> list[int]:
    """Versions in a folder, ascending; none where there is no folder."""
    folder = Path(export_dir)
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    return sorted(int(name) for name in names if name.isdecimal())


def _publish(scratch: Path, export_dir: Path) -> Path:
    """Gives a complete export the next free number, also while others do the same."""
    while True:
        target = export_dir / str(max(versions(export_dir), default=0) + 1)
        try:
            os.rename(scratch, target)
        except OSError:
            if not target.exists():
                raise
        else:
            return target
