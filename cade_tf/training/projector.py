"""Embeddings for TensorBoard's projector."""

from pathlib import Path

import numpy as np

from cade_tf.files import atomic_write
from cade_tf.graph.graph import Graph

MOST_POINTS = 5000
"""More than a browser turns smoothly; of larger graphs a random part is shown."""

TENSOR_FILE = "projector.bytes"
METADATA_FILE = "projector.tsv"
CONFIG_FILE = "projector_config.pbtxt"


def write(run_dir: Path, embeddings: np.ndarray, graph: Graph, seed: int = 0) -> None:
    """Writes what the projector reads: points, their ids and labels.

    Args:
        run_dir: Folder of the run, where TensorBoard looks.
        embeddings: [nodes, dim].
        graph: Ids and labels of the nodes.
        seed: Seed of the choice where there are too many.
    """
    nodes = np.arange(len(embeddings))
    if len(nodes) > MOST_POINTS:
        nodes = np.sort(np.random.default_rng(seed).choice(nodes, MOST_POINTS, replace=False))
    with atomic_write(run_dir / TENSOR_FILE) as file:
        file.write(np.ascontiguousarray(embeddings[nodes], "<f4").tobytes())
    with atomic_write(run_dir / METADATA_FILE) as file:
        file.write(_metadata(graph, nodes).encode())
    with atomic_write(run_dir / CONFIG_FILE) as file:
        file.write(
            "embeddings {\n"
            '  tensor_name: "embeddings"\n'
            f"  tensor_shape: {len(nodes)}\n  tensor_shape: {embeddings.shape[1]}\n"
            f'  tensor_path: "{TENSOR_FILE}"\n'
            f'  metadata_path: "{METADATA_FILE}"\n'
            "}\n".encode()
        )


def _metadata(graph: Graph, nodes: np.ndarray) -> str:
    ids = [_cell(node) for node in graph.ids[nodes]]
    if graph.labels is None:
        # A single column has no header, by the projector's rules.
        return "".join(f"{node}\n" for node in ids)
    labels = [_label(graph, node) for node in nodes]
    rows = "".join(f"{node}\t{label}\n" for node, label in zip(ids, labels, strict=True))
    return "id\tlabel\n" + rows


def _label(graph: Graph, node: int) -> str:
    if graph.labels is None:
        return ""
    classes = np.flatnonzero(graph.labels[node]) if graph.is_multilabel else [graph.labels[node]]
    names = graph.class_names
    return _cell("+".join(names[c] if names and c >= 0 else str(c) for c in classes))


def _cell(value: object) -> str:
    return " ".join(str(value).split())
