"""A trained encoder as a versioned SavedModel, as TensorFlow Serving wants it."""

import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

import tensorflow as tf

from cade_tf.config import EmbeddingOptions
from cade_tf.errors import InputError
from cade_tf.files import atomic_write
from cade_tf.graph.graph import Graph
from cade_tf.inference.encoder import Encoder
from cade_tf.inference.graph_serving import GraphModule
from cade_tf.inference.serving import EncoderModule

MODEL_CARD = "model_card.md"


def export_encoder(
    encoder: Encoder,
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
        encoder: The trained encoder.
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
        EncoderModule(encoder)
        if graph is None
        else GraphModule(encoder, graph, walks=walks, seed=seed)
    )
    export_dir.mkdir(parents=True, exist_ok=True)
    # Servers look at folders with numbers for names only.
    scratch = Path(tempfile.mkdtemp(dir=export_dir, prefix=".exporting-"))
    try:
        tf.saved_model.save(
            module,
            str(scratch),
            signatures=dict(module.functions),
            # Nobody trains what is served; the gradients would need operations of their own.
            options=tf.saved_model.SaveOptions(
                experimental_custom_gradients=False, save_debug_info=False
            ),
        )
        if card is not None:
            with atomic_write(scratch / MODEL_CARD) as file:
                file.write(card(list(module.functions)).encode())
        scratch.chmod(0o755)
        return _publish(scratch, export_dir)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def versions(export_dir: str | Path) -> list[int]:
    """Versions in a folder, ascending; none where there is no folder."""
    folder = Path(export_dir)
    names = [entry.name for entry in folder.iterdir()] if folder.is_dir() else []
    return sorted(int(name) for name in names if name.isdecimal())


def _publish(scratch: Path, export_dir: Path) -> Path:
    """Gives a complete export the next free number, also beside others that do the same."""
    while True:
        target = export_dir / str(max(versions(export_dir), default=0) + 1)
        try:
            os.rename(scratch, target)
        except OSError:
            if not target.exists():
                raise
        else:
            return target
