"""A picture of embeddings: t-SNE in the plane, coloured by class."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from cade_tf.errors import InputError
from cade_tf.evaluation.design import Matrix, as_dense
from cade_tf.graph.graph import Graph
from cade_tf.notebooks import shown_in_notebooks

# Beyond some thousand points t-SNE takes minutes and the picture becomes a blot.
MAX_POINTS = 5_000


def require_matplotlib() -> Any:
    """matplotlib.figure, or a message that says how to get it.

    Raises:
        InputError: matplotlib is not installed.
    """
    try:
        import matplotlib.figure
    except ImportError as error:
        raise InputError(
            "plot",
            "the package matplotlib",
            "an installation without it",
            'Install it with pip install "cade_tf[plot]".',
        ) from error
    return matplotlib.figure


def save_figure(figure: Any, path: str | Path) -> None:
    """Writes a matplotlib figure as a whole or not at all; the suffix names the format."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    figure.savefig(part, format=path.suffix.lstrip(".") or "png", dpi=150, bbox_inches="tight")
    os.replace(part, path)


def tsne_picture(
    embeddings: Matrix,
    labels: np.ndarray | None,
    path: str | Path,
    *,
    title: str = "",
    class_names: tuple[str, ...] | None = None,
    seed: int = 0,
) -> None:
    """Draws nodes in the plane by t-SNE, coloured by class, into a file.

    Args:
        embeddings: [nodes, width], dense or CSR; at most `MAX_POINTS` nodes are drawn, chosen at
            random.
        labels: Class index per node, -1 for none; None draws all nodes in one colour.
        path: File to write, png, pdf or svg.
        title: Title of the picture.
        class_names: Names of the classes for the legend.
        seed: Seed of the choice and of t-SNE.

    Raises:
        InputError: matplotlib is missing, there are fewer than 5 nodes, or labels are a matrix.
    """
    if labels is not None and labels.ndim == 2:
        raise InputError("labels", "one class per node", "a label matrix", "Leave the labels out.")
    save_figure(_tsne_figure(embeddings, labels, title, class_names, seed), path)


def plot_embeddings(graph: Graph, embeddings: Matrix, *, title: str = "", seed: int = 0) -> Any:
    """Draws the nodes of a graph in the plane by t-SNE, coloured by class.

    Args:
        graph: The graph, for labels and names of classes; nodes of a graph without labels, or
            with several per node, are drawn in one colour.
        embeddings: [nodes, width], rows in the order of the graph; at most `MAX_POINTS` nodes are
            drawn, chosen at random.
        title: Title of the picture; the name of the graph by default.
        seed: Seed of the choice and of t-SNE.

    Returns:
        A matplotlib figure, which a notebook shows and `savefig` writes.

    Raises:
        InputError: matplotlib is missing, there are fewer than 5 nodes, or these are embeddings
            of another graph.
    """
    if embeddings.shape[0] != graph.num_nodes:
        raise InputError(
            "embeddings", f"{graph.num_nodes} rows", embeddings.shape[0], "Embed this graph."
        )
    labels = None if graph.is_multilabel else graph.labels
    names = None if labels is None else graph.class_names
    return shown_in_notebooks(_tsne_figure(embeddings, labels, title or graph.name, names, seed))


def _tsne_figure(
    embeddings: Matrix,
    labels: np.ndarray | None,
    title: str,
    class_names: tuple[str, ...] | None,
    seed: int,
) -> Any:
    figures = require_matplotlib()
    if embeddings.shape[0] < 5:
        raise InputError("embeddings", "at least 5 nodes", embeddings.shape[0], "Draw more.")
    count = min(embeddings.shape[0], MAX_POINTS)
    chosen = np.random.default_rng(seed).choice(embeddings.shape[0], count, replace=False)
    points = _plane(embeddings[chosen], seed)
    classes = np.full(count, -1) if labels is None else labels[chosen]
    figure = figures.Figure(figsize=(7, 6))
    axes = figure.subplots()
    for index in np.unique(classes):
        mine = classes == index
        name = "no label" if index < 0 else class_names[index] if class_names else f"class {index}"
        colour = "0.7" if index < 0 else f"C{index % 10}"
        axes.scatter(*points[mine].T, s=4, c=colour, label=name, linewidths=0)
    if labels is not None and len(np.unique(classes)) <= 20:
        axes.legend(markerscale=4, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5))
    axes.set_title(title)
    axes.set_xticks([])
    axes.set_yticks([])
    return figure


def _plane(embeddings: Matrix, seed: int) -> np.ndarray:
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    dense = as_dense(embeddings)
    # Fifty principal components hold what neighbourhoods need and cost a fraction of the time.
    if dense.shape[1] > 50 and len(dense) > 50:
        dense = PCA(50, random_state=seed).fit_transform(dense)
    perplexity = min(30.0, (len(dense) - 1) / 3)
    return TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(dense)
