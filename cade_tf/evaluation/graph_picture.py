"""A picture of a graph: how degrees are distributed, and how large its classes are."""

from pathlib import Path

import numpy as np

from cade_tf.figures import require_matplotlib, save_figure
from cade_tf.graph.graph import Graph


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
        sizes = (
            graph.labels.sum(axis=0)
            if graph.is_multilabel
            else np.bincount(graph.labels[graph.labels >= 0], minlength=graph.num_classes)
        )
        axes[1].bar(np.arange(len(sizes)), sizes, color="#73a946")
        axes[1].set(title="classes", xlabel="class", ylabel="nodes")
    figure.suptitle(f"{graph.name}: {graph.num_nodes:,} nodes, {graph.num_edges:,} edges")
    save_figure(figure, path)
