"""The honest comparison at the end of a training: a model's embeddings and what costs nothing.

With all labels a linear probe makes up for much that embeddings lack. So they are compared with
few labels and without any (clusters) as well; on graphs without labels, by hidden edges. What is
compared are directions: every vector is scaled to unit length, as it is for neighbours and links.
"""

import dataclasses
from collections.abc import Mapping, Sequence

import numpy as np
import scipy.sparse as sp

from cade_tf.errors import InputError
from cade_tf.evaluation import clustering, links
from cade_tf.evaluation.classification import f1_scores, labelled
from cade_tf.evaluation.design import Matrix, Scaling
from cade_tf.evaluation.probes import fit_probe
from cade_tf.graph.link_splits import LinkSplit

FEW_LABELS = 20
"""Labels of each class."""

HOW_LINKS = "(edges that training did not see against as many pairs without an edge)"
"""What the columns of a table of `LinkQuality` mean."""


@dataclasses.dataclass(frozen=True)
class NodeScores:
    """What labels say of one method's embeddings; between 0 and 1.

    Args:
        method: Name of the method.
        all_labels: Micro-F1 on unseen nodes of a probe fit on all labels of seen nodes.
        few_labels: The same with few labels per class, the mean of several draws.
        nmi: Agreement of clusters and classes on all nodes; None where labels overlap.
    """

    method: str
    all_labels: float
    few_labels: float
    nmi: float | None


@dataclasses.dataclass(frozen=True)
class LinkQuality:
    """How well one method tells hidden edges from other pairs; between 0 and 1.

    Args:
        method: Name of the method.
        auc: Area under the ROC curve.
        ap: Average precision.
    """

    method: str
    auc: float
    ap: float


def compare_nodes(
    embeddings: Mapping[str, Matrix],
    labels: np.ndarray,
    seen: np.ndarray,
    unseen: np.ndarray,
    *,
    draws: int = 5,
    seed: int = 0,
) -> list[NodeScores]:
    """Compares embeddings by classes of nodes.

    Args:
        embeddings: By method, [nodes, width], dense or CSR.
        labels: Class index per node (-1: none), or a 0/1 matrix.
        seen: Positions of the nodes whose labels the probe may learn.
        unseen: Positions of the nodes it is scored on; both together are clustered.
        draws: How often few labels are drawn; all methods get the same draws.
        seed: Seed of draws, folds and clusters.

    Returns:
        A row for each method, in the order given.

    Raises:
        InputError: Rows do not match, or no labelled node is left on one side.

    Example:

    >>> rng = np.random.default_rng(0)
    >>> labels = rng.integers(0, 2, 300)
    >>> telling = rng.normal(size=(300, 4)) + 9 * labels[:, None]
    >>> (row,) = compare_nodes({"telling": telling}, labels, np.arange(200), np.arange(200, 300))
    >>> row.all_labels > 0.9
    True
    """
    seen, unseen = labelled(labels, seen), labelled(labels, unseen)
    if not len(seen) or not len(unseen):
        raise InputError(
            "labels",
            "labelled nodes among seen and unseen ones",
            f"{len(seen)} and {len(unseen)}",
            "Label more nodes or hide others.",
        )
    chosen = np.sort(np.concatenate([seen, unseen]))
    seen, unseen = np.searchsorted(chosen, seen), np.searchsorted(chosen, unseen)
    nodes, labels = len(labels), labels[chosen]
    few = [_draw_few(labels, seen, [seed, number]) for number in range(draws)]
    rows = []
    for method, vectors in embeddings.items():
        if vectors.shape[0] != nodes:
            raise InputError(
                f"embeddings of {method}",
                f"{nodes} rows, one per node",
                vectors.shape[0],
                "Embed the whole graph, in its order.",
            )
        directions = unit_rows(vectors[chosen])
        nmi = None
        if labels.ndim == 1:
            nmi = clustering.score(directions, labels, np.arange(len(labels)), seed=seed).nmi
        rows.append(
            NodeScores(
                method,
                _probe(directions, labels, seen, unseen, seed),
                float(np.mean([_probe(directions, labels, d, unseen, seed) for d in few])),
                nmi,
            )
        )
    return rows


def compare_links(
    embeddings: Mapping[str, Matrix],
    split: LinkSplit,
    *,
    functions: Mapping[str, links.PairScore] | None = None,
) -> list[LinkQuality]:
    """Compares embeddings by hidden edges, without any predictor.

    Args:
        embeddings: By method, [nodes, width], of models that did not see the hidden edges; a pair
            scores the cosine of its two vectors.
        split: The hidden edges, and pairs without an edge.
        functions: By method, scores of pairs [pairs, 2] that a method gives itself.

    Returns:
        A row for each method, the embeddings first.
    """
    scores = {name: links.dot_products(unit_rows(found)) for name, found in embeddings.items()}
    scores |= functions or {}
    return [
        LinkQuality(method, *links.score_function(function, split))
        for method, function in scores.items()
    ]


def table(rows: Sequence[NodeScores | LinkQuality]) -> str:
    """The rows as text.

    Example:

    >>> print(table([LinkQuality("raw features", 0.91, 0.9)]))
    method        auc    ap
    -----------------------
    raw features  0.910  0.900
    """
    fields = [field.name for field in dataclasses.fields(rows[0])][1:]
    heads = [name.replace("_", " ") for name in fields]
    widths = [max(len(head), 5) for head in heads]
    first = max(len("method"), *(len(row.method) for row in rows))
    head = "  ".join(
        [f"{'method':<{first}}", *(f"{h:<{w}}" for h, w in zip(heads, widths, strict=True))]
    ).rstrip()
    lines = [head, "-" * len(head)]
    for row in rows:
        values = [getattr(row, name) for name in fields]
        cells = ["" if value is None else f"{value:.3f}" for value in values]
        padded = [f"{c:<{w}}" for c, w in zip(cells, widths, strict=True)]
        lines.append("  ".join([f"{row.method:<{first}}", *padded]).rstrip())
    return "\n".join(lines)


def how(scored_on: str) -> str:
    """What the columns of a table of `NodeScores` mean."""
    return (
        f"(unit vectors; micro-F1 of {scored_on} with all labels and with {FEW_LABELS} per class, "
        "NMI of k-means)"
    )


def unit_rows(vectors: Matrix) -> Matrix:
    """Every row scaled to unit length; zeros stay."""
    if isinstance(vectors, np.ndarray):
        lengths = np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors / np.where(lengths == 0, 1, lengths)
    lengths = np.sqrt(np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel())
    return sp.csr_array(sp.diags_array(1 / np.where(lengths == 0, 1, lengths)) @ vectors)


def _draw_few(labels: np.ndarray, seen: np.ndarray, seed: Sequence[int]) -> np.ndarray:
    """Some nodes of each class; of a 0/1 matrix as many nodes as that would be."""
    order = np.random.default_rng(seed).permutation(seen)
    if labels.ndim == 2:
        return order[: FEW_LABELS * labels.shape[1]]
    classes = np.unique(labels[seen])
    return np.concatenate([order[labels[order] == c][:FEW_LABELS] for c in classes])


def _probe(
    directions: Matrix, labels: np.ndarray, train: np.ndarray, test: np.ndarray, seed: int
) -> float:
    """Micro-F1 of a logistic regression whose penalty cross-validation chooses.

    Columns are centred and not standardised: with few labels, columns that hardly vary would
    count as much as those that tell classes apart.
    """
    inputs = directions[train]
    mean = np.asarray(inputs.mean(axis=0), np.float64).ravel()
    # On average an entry of a unit vector squares to 1 / width; the grid of C expects about 1.
    spread = np.full(inputs.shape[1], 1 / np.sqrt(inputs.shape[1]))
    scaling = Scaling(mean, spread)
    probe = fit_probe("logreg", inputs, labels[train], scaling=scaling, seed=seed)
    return f1_scores(labels[test], probe.predict(directions[test]))[0]
