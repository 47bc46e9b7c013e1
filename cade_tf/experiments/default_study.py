"""What is trained by default against everything that an informed reader would ask for.

A row is one method on one graph and one split: by labels (all, few, none), by hidden edges, and
its time. Rows are appended to results.jsonl as they are computed; what is there is not computed
again. Embeddings of methods from elsewhere are scored where they are found, in the folder `peers`
among the cells, as `<data set>-<method>-<seed>.npy`.
"""

import dataclasses
import itertools
import json
import shutil
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from cade_tf.config import MODELS, Config, SplitOptions
from cade_tf.evaluation.comparison import compare_links, compare_nodes
from cade_tf.evaluation.design import Matrix
from cade_tf.experiments.cells import commit
from cade_tf.experiments.declarations import RECONSTRUCTED
from cade_tf.experiments.methods import Embedded, method_of
from cade_tf.experiments.report import REPORT_FILE, markdown_table, spread_text, write_page
from cade_tf.experiments.runner import summary
from cade_tf.graph.datasets import load_dataset
from cade_tf.graph.graph import Graph
from cade_tf.graph.link_splits import hidden_edges
from cade_tf.graph.splits import node_split
from cade_tf.graph.structure import structural_features

GRAPHS = ("cora_ml", "digits", "pubmed", "amazon_computers", "blogcatalog", "twitch", "subppi")
SEEDS = (0, 1, 2)
UNSEEN, HIDDEN = 0.3, 0.1
"""Shares of unseen nodes, for labels, and of hidden edges, for links."""

TWITCH_PART = 2
"""Of the seven graphs of Twitch the Spanish one: 4,648 nodes."""

MOST_LABELLED = 5_000
"""Nodes of each side, those a probe learns and those it is scored on."""

PEERS = {"dgi": "DGI", "cca": "CCA-SSG", "grace": "GRACE"}
METHODS = {
    "raw_features": "raw features",
    "smoothed_pca": "smoothed PCA",
    "untrained": "GraphSAGE's start",
    "graphsage": "GraphSAGE",
    "cade_ms_start": "CADE-MS's start",
    "cade_ms": "CADE-MS",
    "positions": "walks only (positions)",
    "graph2gauss": "Graph2Gauss",
    "cade_gb": "CADE-gb",
    "cade_ma": "CADE-MA",
}
"""By name, in the order of the report; smoothed PCA is what all are compared with."""

STARTS = {"cade_ms_start": "cade_ms"}
"""Models as they start, without a step of training, by the name of the row."""

FIRST = ("raw_features", "smoothed_pca", "untrained", "graphsage", "cade_ms")
"""Computed on all graphs before the others are."""

COLUMNS = {
    "all_labels": "all",
    "few_labels": "few",
    "nmi": "NMI",
    "dot": "links, dot",
    "dual": "links, dual",
}
RESULTS_FILE = "results.jsonl"

_TEXT = """# What is trained by default

`--preset=recommended`, the default of `cade train` and of `cade_tf.train(graph, ...)`, is one rule
for all graphs. It reads the training graph and never its labels. Its constants were set by hand
after looking at label scores of these graphs on seed 100, which this report does not use: **it is a
fit on these graphs**. The section on graphs that nobody tuned for says what it is worth on others.

30 % of the nodes are unseen in training, 256 dimensions, unit vectors. *all*: micro-F1 of unseen
nodes, logistic regression on all labels of seen nodes (at most 5,000 of each side); *few*: on 20
labels per class, the mean of 5 draws; *NMI*: k-means on all nodes. *links*: AUC of 10 % hidden
edges, in a training of its own in which all nodes are seen; by the cosine of two embeddings, and by
the pair's own dual score. PPI has reconstructed labels, the split of its data, and no NMI as labels
overlap. Twitch is its Spanish graph. The command is `cade reproduce default`; a number is the mean
over the seeds in the last column, and an empty place was not measured. *CPU s* is the processor
time of one training and embedding, on one core."""


def run(
    folder: Path,
    cells: Path,
    data_dir: str | None = None,
    *,
    graphs: Sequence[str] = (),
    methods: Sequence[str] = (),
) -> None:
    """Computes the rows that are missing.

    Args:
        folder: Folder of the report.
        cells: Folder for runs that can be continued, and of the peers' embeddings.
        data_dir: Folder of the data sets.
        graphs: Some of `GRAPHS`; all by default.
        methods: Some of `METHODS` and `PEERS`; all by default.
    """
    folder.mkdir(parents=True, exist_ok=True)
    done = {_identity(row) for row in read(folder)}
    others = tuple(name for name in (*METHODS, *PEERS) if name not in FIRST)
    for stage, seed, name in itertools.product((FIRST, others), SEEDS, graphs or GRAPHS):
        wanted = [
            method
            for method in stage
            if (not methods or method in methods)
            and (name, method, seed) not in done
            and (method in METHODS or _peer(cells, name, method, seed).is_file())
        ]
        if not wanted:
            continue
        graph = _load(name, data_dir)
        for method in wanted:
            row = measure(graph, name, method, seed, cells)
            with (folder / RESULTS_FILE).open("a") as file:
                file.write(json.dumps(row | {"commit": commit()}) + "\n")
            write(folder)


def measure(graph: Graph, name: str, method: str, seed: int, cells: Path) -> dict[str, Any]:
    """One method on one graph and one split, scored.

    Args:
        graph: The whole graph, with labels.
        name: Name of the data set.
        method: One of `METHODS` or `PEERS`.
        seed: Seed of the split and of the method.
        cells: Folder for runs that can be continued, and of the peers' embeddings.
    """
    row: dict[str, Any] = {"graph": name, "method": method, "seed": seed}
    split = node_split(graph, SplitOptions(unseen_ratio=UNSEEN, split_seed=seed))
    if method in PEERS:
        peer = np.load(_peer(cells, name, method, seed), allow_pickle=False)
        return row | _by_labels(graph, peer, split.seen, split.test, seed)
    started = time.process_time()
    run_dir = cells / f"default-{name}-{method}-{seed}"
    nodes = _embed(method, graph, split.seen, seed, run_dir / "nodes")
    row["seconds"] = round(time.process_time() - started, 1)
    row |= _by_labels(graph, nodes.embeddings, split.seen, split.test, seed)
    links = hidden_edges(graph, HIDDEN, 0.0, seed)
    visible = links.input_graph(graph)
    found = _embed(method, visible, np.arange(graph.num_nodes), seed, run_dir / "links")
    own: dict[str, Callable[[np.ndarray], np.ndarray]] = {}
    if found.score_pairs is not None and method in MODELS:
        own["dual"] = found.score_pairs
    for quality in compare_links({"dot": found.embeddings}, links, functions=own):
        row[quality.method] = round(quality.auc, 4)
    shutil.rmtree(run_dir, ignore_errors=True)
    return row


def _embed(method: str, graph: Graph, seen: np.ndarray, seed: int, run_dir: Path) -> Embedded:
    if method == "positions":
        return Embedded(structural_features(graph)[:, 1:])
    chosen = method_of(STARTS.get(method, method))
    if chosen.model:
        budget = {"steps": 0, "epochs": 0} if method in STARTS else {}
        config = Config.from_given(model=chosen.model, seed=seed, **budget)
    else:
        config = Config(seed=seed, **chosen.options)
    return chosen.embed(graph, seen, config, run_dir)


def _by_labels(
    graph: Graph, vectors: Matrix, seen: np.ndarray, unseen: np.ndarray, seed: int
) -> dict[str, Any]:
    if graph.labels is None:
        return {}
    generator = np.random.default_rng(seed)
    sides = [np.sort(generator.permutation(nodes)[:MOST_LABELLED]) for nodes in (seen, unseen)]
    (row,) = compare_nodes({"": vectors}, graph.labels, *sides, seed=seed)
    found = dataclasses.asdict(row)
    return {name: round(found[name], 4) for name in list(COLUMNS)[:3] if found[name] is not None}


def _load(name: str, data_dir: str | None) -> Graph:
    graph = load_dataset(name, data_dir)
    if name == "twitch" and graph.graph_ids is not None:
        parts = np.unique(graph.graph_ids)
        graph = graph.subgraph(np.flatnonzero(graph.graph_ids == parts[TWITCH_PART]))
    return graph


def _peer(cells: Path, name: str, method: str, seed: int) -> Path:
    return cells / "peers" / f"{name}-{method}-{seed}.npy"


def _identity(row: dict[str, Any]) -> tuple[str, str, int]:
    return row["graph"], row["method"], row["seed"]


def read(folder: Path) -> list[dict[str, Any]]:
    """The rows computed so far."""
    path = folder / RESULTS_FILE
    if not path.is_file():
        return []
    return [json.loads(line) for line in path.read_text().splitlines()]


def write(folder: Path) -> Path:
    """Writes the report of the rows computed so far; findings.md follows the tables.

    Returns:
        Path of the report.
    """
    rows = read(folder)
    titles = METHODS | PEERS
    table = []
    for graph in GRAPHS:
        title = graph + (" (reconstructed labels)" if graph in RECONSTRUCTED else "")
        for method, name in titles.items():
            cells = [row for row in rows if (row["graph"], row["method"]) == (graph, method)]
            if cells:
                values = [_spread(cells, column, 3) for column in COLUMNS]
                seconds = _spread(cells, "seconds", 0).split(" ")[0]
                seeds = ", ".join(str(cell["seed"]) for cell in cells)
                table.append([title, name, *values, seconds, seeds])
                title = ""
    parts = [
        _TEXT,
        "## Against smoothed PCA, the mean over graphs",
        markdown_table(["method", *COLUMNS.values(), "graphs"], _differences(rows, titles)),
        "## By graph",
        markdown_table(["graph", "method", *COLUMNS.values(), "CPU s", "seeds"], table),
    ]
    findings = folder / "findings.md"
    if findings.is_file():
        parts.append(findings.read_text().strip())
    return write_page(folder / REPORT_FILE, parts)


def _differences(rows: list[dict[str, Any]], titles: dict[str, str]) -> list[list[str]]:
    """Each method minus smoothed PCA: the mean over graphs of the means over seeds."""
    of = {_identity(row): row for row in rows}
    table = []
    for method, name in titles.items():
        mine = [row for row in rows if row["method"] == method]
        both = [(row, of.get((row["graph"], "smoothed_pca", row["seed"]))) for row in mine]
        values = []
        for column in COLUMNS:
            # Smoothed PCA has no score of its own for a pair: the dot product stands for it.
            basis = "dot" if column == "dual" else column
            gains: dict[str, list[float]] = {}
            for a, b in both:
                if b and column in a and basis in b:
                    gains.setdefault(a["graph"], []).append(a[column] - b[basis])
            by_graph = [float(np.mean(found)) for found in gains.values()]
            values.append(f"{np.mean(by_graph):+.3f}" if by_graph else "")
        if both and method != "smoothed_pca":
            table.append([name, *values, ", ".join(dict.fromkeys(r["graph"] for r in mine))])
    return table


def _spread(rows: list[dict[str, Any]], column: str, digits: int) -> str:
    values = [row[column] for row in rows if column in row]
    return spread_text(summary(values), 1.0, digits) if values else ""
