"""A cell: one method on one split, scored. Cells are kept on disk and never computed twice."""

import dataclasses
import datetime
import functools
import hashlib
import json
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.evaluation import classification, clustering, links, probes
from cade_tf.experiments.methods import Embedded, method_of
from cade_tf.experiments.single_run import versions, write_json
from cade_tf.graph.datasets import load_dataset
from cade_tf.graph.graph import Graph
from cade_tf.graph.link_splits import hidden_edges
from cade_tf.graph.splits import node_split

CLASSIFICATION, LINKS = "classification", "links"
FLATNESS_PAIRS = 1024


@dataclasses.dataclass(frozen=True)
class Cell:
    """Everything that determines a set of scores.

    Args:
        dataset: Name of a known data set.
        task: `classification` or `links`.
        method: Name of a method.
        unseen_ratio: Share of nodes that training does not see; data sets with a split of their
            own use that for classification.
        hidden_ratio: Share of edges hidden for link prediction.
        split_seed: Which of the random splits.
        config: Options of the method.
        validating: Score the validation part and keep the test part out of sight, as long as a
            recipe is being chosen.

    Example:

    >>> cell = Cell("digits", CLASSIFICATION, "raw_features", 0.3, None, 0, Config())
    >>> cell.key() == dataclasses.replace(cell, config=Config(steps=7)).key()
    True
    """

    dataset: str
    task: str
    method: str
    unseen_ratio: float
    hidden_ratio: float | None
    split_seed: int
    config: Config
    validating: bool = False

    def settings(self) -> dict[str, Any]:
        """Options that the method's embeddings depend on."""
        return {name: getattr(self.config, name) for name in method_of(self.method).fields}

    def key(self) -> str:
        """Name of the cell on disk; equal for cells that must have equal scores."""
        return _key(vars(self) | {"flags": self.settings()})


_IDENTITY = (
    "dataset",
    "task",
    "method",
    "unseen_ratio",
    "hidden_ratio",
    "split_seed",
    "validating",
)


def _key(result: Mapping[str, Any]) -> str:
    """The key of the cell that has, or will have, this result."""
    identity = {name: result[name] for name in _IDENTITY} | {"config": result["flags"]}
    text = json.dumps(identity, sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return "-".join(
        [*(str(result[n]) for n in ("dataset", "task", "method", "split_seed")), digest]
    )


def restore(results: Mapping[str, Any], folder: Path) -> int:
    """Keeps the cells of a report, as if they had been computed here.

    Args:
        results: What a report's results.json holds.
        folder: Where cells are kept; a cell that is there already stays as it is.

    Returns:
        Number of cells that were not there before.
    """
    restored = 0
    for result in (cell for entry in results["entries"] for cell in entry.get("cells", ())):
        path = folder / f"{_key(result)}.json"
        if not path.exists():
            write_json(path, result)
            restored += 1
    return restored


def cached(cell: Cell, folder: Path) -> dict[str, Any] | None:
    """The result of a cell that was computed before; None for any other."""
    try:
        return json.loads((folder / f"{cell.key()}.json").read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None


def compute(cell: Cell, folder: Path, data_dir: str | None = None) -> dict[str, Any]:
    """Computes a cell and keeps its result.

    Args:
        cell: What to compute.
        folder: Where results are kept.
        data_dir: Folder of the data sets.

    Returns:
        Scores by probe or protocol, seconds, options, versions and commit.

    Raises:
        InputError: Data or labels are missing, or an option does not fit the data.
    """
    graph = load_graph(cell.dataset, data_dir)
    started = time.monotonic()
    embedded, scores = (
        _node_scores(cell, graph) if cell.task == CLASSIFICATION else _link_scores(cell, graph)
    )
    result = {
        "dataset": cell.dataset,
        "task": cell.task,
        "method": cell.method,
        "unseen_ratio": cell.unseen_ratio,
        "hidden_ratio": cell.hidden_ratio,
        "split_seed": cell.split_seed,
        "validating": cell.validating,
        "scores": scores,
        "seconds": round(time.monotonic() - started, 2),
        "training_seconds": round(embedded.training_seconds, 2),
        "details": embedded.details,
        "flags": cell.settings(),
        "versions": versions(),
        "commit": commit(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }
    write_json(folder / f"{cell.key()}.json", result)
    return result


@functools.lru_cache(maxsize=1)
def load_graph(dataset: str, data_dir: str | None) -> Graph:
    """A known data set; the last one is remembered, as cells come grouped by data set."""
    return load_dataset(dataset, data_dir)


def _node_scores(cell: Cell, graph: Graph) -> tuple[Embedded, dict[str, dict[str, float]]]:
    labels = graph.labels
    if labels is None:
        raise InputError(
            "labels", f"labels of {graph.name}", "none", "Put the label file beside the others."
        )
    options = cell.config.replace(unseen_ratio=cell.unseen_ratio, split_seed=cell.split_seed)
    split = node_split(graph, options)
    seen, scored = split.seen, split.test
    if cell.validating:
        # Test nodes and their edges stay out of sight while a recipe is chosen.
        visible = np.sort(np.concatenate([split.train, split.validation]))
        graph, labels = graph.subgraph(visible), labels[visible]
        seen = np.searchsorted(visible, split.train)
        scored = np.searchsorted(visible, split.validation)
    embedded = method_of(cell.method).embed(graph, seen, cell.config)
    scores = {}
    for probe in probes.PROBES:
        found = classification.score(embedded.embeddings, labels, seen, scored, probe)
        scores[probe] = {"micro_f1": found.micro_f1, "macro_f1": found.macro_f1}
    if not graph.is_multilabel:
        clusters = clustering.score(embedded.embeddings, labels, scored)
        scores["kmeans"] = {"nmi": clusters.nmi, "ari": clusters.ari}
    return embedded, scores


def _link_scores(cell: Cell, graph: Graph) -> tuple[Embedded, dict[str, dict[str, float]]]:
    if cell.hidden_ratio is None:
        raise InputError("hidden_ratio", "a share of edges", "none", "Say what to hide.")
    split = hidden_edges(graph, cell.hidden_ratio, cell.unseen_ratio, cell.split_seed)
    seen = np.setdiff1d(np.arange(graph.num_nodes), split.unseen)
    visible = split.input_graph(graph, validating=cell.validating)
    embedded = method_of(cell.method).embed(visible, seen, cell.config)
    found = links.score_protocols(embedded.embeddings, split, validating=cell.validating)
    scores = {name: {"auc": score.auc, "ap": score.ap} for name, score in found.items()}
    if embedded.score_pairs is not None:
        auc, ap = links.score_function(embedded.score_pairs, split, validating=cell.validating)
        scores["dual"] = {"auc": auc, "ap": ap}
    edges = split.validation_edges if cell.validating else split.test_edges
    flatness = embedded.flatness(edges[:FLATNESS_PAIRS])
    if flatness is not None:
        scores["attention"] = {"flatness": flatness}
    return embedded, scores


@functools.cache
def commit() -> str | None:
    """Commit of the code, marked where files differ from it; None outside a clone."""
    folder = Path(__file__).parent
    try:
        head = subprocess.run(
            ["git", "describe", "--always", "--abbrev=12", "--dirty", "--exclude=*"],
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return None
    return head.stdout.strip()
