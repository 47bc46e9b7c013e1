"""Pictures: embeddings in the plane by t-SNE or UMAP; degrees and classes of a graph."""

from pathlib import Path
from typing import Any

import numpy as np

from cade_tf.display import (
    can_be_drawn,
    require_matplotlib,
    save_figure,
    shown_in_notebooks,
)
from cade_tf.errors import InputError, require_module
from cade_tf.evaluation.design import Matrix, as_dense
from cade_tf.graph.description import class_sizes
from cade_tf.graph.graph import Graph
from cade_tf.inference.finite import require_rows

TSNE, UMAP = "tsne", "umap"
METHODS = (TSNE, UMAP)

# Beyond some thousand points t-SNE takes minutes and the picture becomes a blot.
MAX_POINTS = 5_000


def plot_embeddings(
    graph: Graph, embeddings: Matrix, *, method: str = TSNE, title: str = "", seed: int = 0
) -> Any:
    """Draws the nodes of a graph in the plane, coloured by class.

    Args:
        graph: The graph, for labels and names of classes; nodes of a graph without labels, or
            with several per node, are drawn in one colour.
        embeddings: [nodes, width], rows in the order of the graph; at most `MAX_POINTS` nodes are
            drawn, chosen at random.
        method: tsne, or umap (`pip install "cade_tf[umap]"`), which keeps more of the distances
            between groups.
        title: Title of the picture; the name of the graph by default.
        seed: Seed of the choice and of the method.

    Returns:
        A matplotlib figure, which a notebook shows and `savefig` writes.

    Raises:
        InputError: matplotlib or umap-learn is missing, there are fewer than 5 nodes, or these
            are embeddings of another graph, not finite, or all equal.
    """
    if method not in METHODS:
        raise InputError("method", "one of " + ", ".join(METHODS), method, "Choose one.")
    embeddings = require_rows(embeddings, graph)
    figures = require_matplotlib()
    if embeddings.shape[0] < 5:
        raise InputError("embeddings", "at least 5 nodes", embeddings.shape[0], "Draw more.")
    count = min(embeddings.shape[0], MAX_POINTS)
    chosen = np.random.default_rng(seed).choice(embeddings.shape[0], count, replace=False)
    dense = as_dense(embeddings[chosen])
    if not can_be_drawn(dense):
        expected, remedy = "embeddings that differ", "Look whether the training collapsed."
        raise InputError("embeddings", expected, "the same for all nodes", remedy)
    points = _plane(dense, method, seed)
    labels = None if graph.is_multilabel else graph.labels
    names = graph.class_names
    classes = np.full(count, -1) if labels is None else labels[chosen]
    figure = figures.Figure(figsize=(7, 6))
    axes = figure.subplots()
    size = float(np.clip(10_000 / count, 4, 16))
    for index in np.unique(classes):
        mine = classes == index
        name = "no label" if index < 0 else names[index] if names else f"class {index}"
        colour = "0.7" if index < 0 else f"C{index % 10}"
        axes.scatter(*points[mine].T, s=size, c=colour, label=name, linewidths=0)
    if labels is not None and len(np.unique(classes)) <= 20:
        axes.legend(
            markerscale=8 / size**0.5, frameon=False, loc="center left", bbox_to_anchor=(1.0, 0.5)
        )
    axes.set_title(title or graph.name)
    axes.set_xticks([])
    axes.set_yticks([])
    return shown_in_notebooks(figure)


def _plane(dense: np.ndarray, method: str, seed: int) -> np.ndarray:
    from sklearn.decomposition import PCA
    from sklearn.manifold import TSNE as SklearnTSNE

    # Fifty principal components hold what neighbourhoods need and cost a fraction of the time.
    if dense.shape[1] > 50 and len(dense) > 50:
        dense = PCA(50, random_state=seed).fit_transform(dense)
    if method == UMAP:
        neighbors = min(15, len(dense) - 1)
        # One thread: others would make the picture another one each time.
        found = require_module("umap", "method").UMAP(
            n_neighbors=neighbors, random_state=seed, n_jobs=1
        )
        return np.asarray(found.fit_transform(dense))
    perplexity = min(30.0, (len(dense) - 1) / 3)
    return SklearnTSNE(perplexity=perplexity, init="pca", random_state=seed).fit_transform(dense)


def draw_graph(graph: Graph, path: str | Path) -> None:
    """Draws the degree distribution and the class sizes.

    Args:
        graph: The graph.
        path: File to write, png, pdf or svg.

    Raises:
        InputError: matplotlib is not installed.
    """
    figure = require_matplotlib().Figure(figsize=(9, 3.6))
    axes = figure.subplots(1, 2)
    degrees, counts = np.unique(graph.degrees, return_counts=True)
    axes[0].loglog(degrees[degrees > 0], counts[degrees > 0], ".", color="#3465a4")
    axes[0].set(title="degrees", xlabel="degree", ylabel="nodes")
    if graph.labels is None:
        axes[1].set_axis_off()
    else:
        sizes = class_sizes(graph)
        axes[1].bar(np.arange(len(sizes)), sizes, color="#73a946")
        axes[1].set(title="classes", xlabel="class", ylabel="nodes")
    figure.suptitle(f"{graph.name}: {graph.num_nodes:,} nodes, {graph.num_edges:,} edges")
    save_figure(figure, path)
