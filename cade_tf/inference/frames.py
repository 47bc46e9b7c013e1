"""Embeddings as a pandas DataFrame."""

from typing import Any

import numpy as np

from cade_tf.errors import require_module
from cade_tf.graph.graph import Graph
from cade_tf.inference.finite import require_rows


def embeddings_frame(graph: Graph, embeddings: np.ndarray) -> Any:
    """Embeddings as a table whose index holds the ids of the nodes.

    Args:
        graph: The graph, for the ids of its nodes.
        embeddings: [nodes, dim], rows in the order of the graph.

    Returns:
        A `pandas.DataFrame` with columns x0, x1 and so on, as `cade embed` names them in a CSV.

    Raises:
        InputError: pandas is not installed, or these are embeddings of another graph.

    Example:

    >>> graph = Graph.from_edges([["ann", "bob"]], node_ids=["ann", "bob"])
    >>> embeddings_frame(graph, np.eye(2)).loc["bob"].tolist()
    [0.0, 1.0]
    """
    pandas = require_module("pandas", "embeddings_frame")
    embeddings = require_rows(embeddings, graph)
    index = pandas.Index(graph.ids.tolist(), name="node_id")
    columns = [f"x{i}" for i in range(embeddings.shape[1])]
    return pandas.DataFrame(embeddings, index=index, columns=columns)
