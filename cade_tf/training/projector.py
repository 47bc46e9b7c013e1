"""Embeddings for TensorBoard's projector."""

from pathlib import Path

import numpy as np
import tensorflow as tf

from cade_tf.files import atomic_write, write_text
from cade_tf.graph.digits import digit_images
from cade_tf.graph.graph import Graph
from cade_tf.training.summaries import EVENTS_FOLDER

MOST_POINTS = 5000
"""More than a browser turns smoothly; of larger graphs a random part is shown."""

TENSOR_FILE = "projector.bytes"
METADATA_FILE = "projector.tsv"
CONFIG_FILE = "projector_config.pbtxt"
SPRITE_FILE = "projector.png"

PIXELS = 16
"""Side of a point's picture."""


def write(
    run_dir: Path,
    embeddings: np.ndarray,
    graph: Graph,
    seed: int = 0,
    *,
    seen: np.ndarray | None = None,
) -> None:
    """Writes what the projector reads: points, their ids and labels, pictures of digits.

    Args:
        run_dir: Folder of the run; the files go where its curves are, as TensorBoard wants.
        embeddings: [nodes, dim].
        graph: Ids and labels of the nodes.
        seed: Seed of the choice where there are too many.
        seen: Positions of the nodes that training saw, where it did not see all of them.
    """
    folder = run_dir / EVENTS_FOLDER
    nodes = np.arange(len(embeddings))
    if len(nodes) > MOST_POINTS:
        nodes = np.sort(np.random.default_rng(seed).choice(nodes, MOST_POINTS, replace=False))
    with atomic_write(folder / TENSOR_FILE) as file:
        file.write(np.ascontiguousarray(embeddings[nodes], "<f4").tobytes())
    write_text(folder / METADATA_FILE, _metadata(graph, nodes, seen))
    images = digit_images(graph)
    sprite = ""
    if images is not None:
        with atomic_write(folder / SPRITE_FILE) as file:
            file.write(_sprite(images[nodes]))
        sprite = (
            f'  sprite {{\n    image_path: "{SPRITE_FILE}"\n'
            f"    single_image_dim: {PIXELS}\n    single_image_dim: {PIXELS}\n  }}\n"
        )
    write_text(
        folder / CONFIG_FILE,
        "embeddings {\n"
        '  tensor_name: "embeddings"\n'
        f"  tensor_shape: {len(nodes)}\n  tensor_shape: {embeddings.shape[1]}\n"
        f'  tensor_path: "{TENSOR_FILE}"\n'
        f'  metadata_path: "{METADATA_FILE}"\n'
        f"{sprite}"
        "}\n",
    )


def _metadata(graph: Graph, nodes: np.ndarray, seen: np.ndarray | None) -> str:
    columns = {"id": [_cell(node) for node in graph.ids[nodes]]}
    if graph.labels is not None:
        columns["label"] = [_label(graph, node) for node in nodes]
    if seen is not None:
        known = np.isin(nodes, seen)
        columns["training"] = ["seen" if node else "unseen" for node in known]
    rows = "".join("\t".join(row) + "\n" for row in zip(*columns.values(), strict=True))
    # A single column has no header, by the projector's rules.
    return rows if len(columns) == 1 else "\t".join(columns) + "\n" + rows


def _sprite(images: np.ndarray) -> bytes:
    """A PNG with one small picture per point, row by row in a square."""
    count, side, _ = images.shape
    across = int(np.ceil(count**0.5))
    ink = np.zeros((across * across, side, side))
    ink[:count] = images / images.max()
    square = ink.reshape(across, across, side, side).swapaxes(1, 2).reshape(across * side, -1)
    scale = PIXELS // side
    picture = (255 * (1 - np.kron(square, np.ones((scale, scale))))).astype(np.uint8)
    encoded: bytes = tf.io.encode_png(picture[:, :, None]).numpy()
    return encoded


def _label(graph: Graph, node: int) -> str:
    if graph.labels is None:
        return ""
    classes = np.flatnonzero(graph.labels[node]) if graph.is_multilabel else [graph.labels[node]]
    names = [graph.class_names[c] if graph.class_names and c >= 0 else str(c) for c in classes]
    # Numbers alone would be no labels to TensorBoard, which then shows another column.
    return _cell("+".join(f"class {n}" if n.lstrip("-").isdecimal() else n for n in names))


def _cell(value: object) -> str:
    return " ".join(str(value).split())
