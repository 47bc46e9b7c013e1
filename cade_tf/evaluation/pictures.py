"""A picture of embeddings: t-SNE in the plane, coloured by class."""

import os
from pathlib import Path
from typing import Any

import numpy as np

from cade_tf.errors import InputError
from cade_tf.evaluation.design import Matrix, as_dense

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
    """Draws nodes in the plane by t-SNE, coloured by class.

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
    figures = require_matplotlib()
    if embeddings.shape[0] < 5:
        raise InputError("embeddings", "at least 5 nodes", embeddings.shape[0], "Draw more.")
    if labels is not None and labels.ndim == 2:
        raise InputError("labels", "one class per node", "a label matrix", "Leave the labels out.")
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
    save_figure(figure, path)


def _plane(embeddings: Matrix, seed: int) -> np.ndarray:
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE

    dense = as_dense(embeddings)
    # Fifty principal components hold what neighbourhoods need and cost a fraction of the time.
    if dense.shape[1] > 50 and len(dense) > 50:
        dense = PCA(50, random_state=seed).fit_transform(dense)
    perplexity = min(30.0, (len(dense) - 1) / 3)
    return TSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(dense)
