"""A cell: one method on one split, scored. Cells are kept on disk and never computed twice."""

import dataclasses
import datetime
import functools
import hashlib
import json
import shutil
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from cade_tf.config import Config, SplitOptions
from cade_tf.errors import InputError
from cade_tf.evaluation import classification, clustering, links, probes
from cade_tf.experiments.methods import Embedded, method_of
from cade_tf.experiments.single_run import versions
from cade_tf.files import write_json
from cade_tf.graph.datasets import load_dataset
from cade_tf.graph.graph import Graph
from cade_tf.graph.link_splits import LinkSplit, hidden_edges
from cade_tf.graph.splits import NodeSplit, node_split
from cade_tf.presets.paper import options as paper_options

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
        config: Options of the method; the recommended preset may still have to decide some.
        validating: Score the validation part and keep the test part out of sight, as long as
            options are being chosen.

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

    def settings(self, config: Config | None = None) -> dict[str, Any]:
        """Options that the method's embeddings depend on.

        Args:
            config: The options once all are decided; those of the cell by default.
        """
        options = config or self.config
        return {name: getattr(options, name) for name in method_of(self.method).fields}

    def given(self) -> list[str] | None:
        """Options that the recommended preset does not decide; None where it decides nothing."""
        if self.config.given is None:
            return None
        return [name for name in method_of(self.method).fields if name in self.config.given]

    def key(self) -> str:
        """Name of the cell on disk; equal for cells that must have equal scores."""
        return _key(vars(self) | {"flags": self.settings(), "given": self.given()})


_IDENTITY = tuple(f.name for f in dataclasses.fields(Cell) if f.name != "config")


def _key(result: Mapping[str, Any]) -> str:
    """The key of the cell that has, or will have, this result.

    Only what departs from the paper counts, so that an option that is new, and off, keeps the
    cells that were computed without it. Of the recommended preset only what it did not decide
    counts: to ask it takes longer than to read a result.
    """
    flags, given = result["flags"], result.get("given")
    identity = {name: result[name] for name in _IDENTITY}
    if given is None:
        method = method_of(result["method"])
        options = paper_options(method.model) if method.model else method.options
        usual = {**vars(Config()), **options}
        identity["config"] = {
            name: flags[name]
            for name in method.fields
            if name in flags and _plain(flags[name]) != _plain(usual[name])
        }
    else:
        identity["recommended"] = {name: flags[name] for name in given}
    text = json.dumps(identity, sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    return "-".join(
        [*(str(result[n]) for n in ("dataset", "task", "method", "split_seed")), digest]
    )


def _plain(value: Any) -> Any:
    """A value as JSON would give it back."""
    return list(value) if isinstance(value, tuple) else value


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
    """The result of a cell that was computed before, with the same options; None for any other."""
    try:
        result = json.loads((folder / f"{cell.key()}.json").read_text())
    except (FileNotFoundError, json.JSONDecodeError):
        return None
    # The key counts departures from what is usual, which another version may have changed.
    settings, flags, given = cell.settings(), result["flags"], cell.given()
    known = settings.keys() & flags.keys() if given is None else given
    same = all(_plain(settings[name]) == flags[name] for name in known)
    return result if same else None


def compute(cell: Cell, folder: Path, data_dir: str | None = None) -> dict[str, Any]:
    """Computes a cell and keeps its result.

    A model is trained in a run directory next to the results: after a stop the cell goes on from
    its newest checkpoint. The directory goes when the result is there.

    Returns:
        Scores by probe or protocol, seconds, options, versions and commit.

    Raises:
        InputError: Data or labels are missing, or an option does not fit the data.
    """
    graph = load_graph(cell.dataset, data_dir)
    started = time.monotonic()
    given = cell.given()
    run_dir = folder / cell.key()
    embedded, scores = (_node_scores if cell.task == CLASSIFICATION else _link_scores)(
        cell, graph, run_dir
    )
    result = {name: getattr(cell, name) for name in _IDENTITY} | {
        "scores": scores,
        "seconds": round(time.monotonic() - started, 2),
        "step_milliseconds": embedded.step_milliseconds,
        "details": embedded.details,
        "flags": cell.settings(None if given is None else embedded.config),
        "given": given,
        "versions": versions(),
        "commit": commit(),
        "date": datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds"),
    }
    write_json(folder / f"{cell.key()}.json", result)
    shutil.rmtree(run_dir, ignore_errors=True)
    return result


@functools.lru_cache(maxsize=1)
def load_graph(dataset: str, data_dir: str | None) -> Graph:
    """A known data set; the last one is remembered, as cells come grouped by data set."""
    return load_dataset(dataset, data_dir)


class Part(NamedTuple):
    """A graph, its labels, and in it the positions of nodes.

    Attributes:
        graph: What methods may see when they embed.
        labels: Labels of its nodes.
        seen: Nodes that methods may fit on.
        scored: Nodes that are scored.
    """

    graph: Graph
    labels: np.ndarray
    seen: np.ndarray
    scored: np.ndarray


def part_of(graph: Graph, split: NodeSplit, *, validating: bool) -> Part:
    """What a cell sees of a graph; test nodes and their edges are gone while options are chosen.

    Raises:
        InputError: The graph has no labels.
    """
    if graph.labels is None:
        raise InputError(
            "labels", f"labels of {graph.name}", "none", "Put the label file next to the others."
        )
    if not validating:
        return Part(graph, graph.labels, split.seen, split.test)
    visible = np.sort(np.concatenate([split.train, split.validation]))
    return Part(
        graph.subgraph(visible),
        graph.labels[visible],
        np.searchsorted(visible, split.train),
        np.searchsorted(visible, split.validation),
    )


def _part(cell: Cell, graph: Graph) -> Part:
    options = SplitOptions(unseen_ratio=cell.unseen_ratio, split_seed=cell.split_seed)
    return part_of(graph, node_split(graph, options), validating=cell.validating)


def _hidden(cell: Cell, graph: Graph) -> LinkSplit:
    if cell.hidden_ratio is None:
        raise InputError("hidden_ratio", "a share of edges", "none", "Say what to hide.")
    return hidden_edges(graph, cell.hidden_ratio, cell.unseen_ratio, cell.split_seed)


def _node_scores(
    cell: Cell, graph: Graph, run_dir: Path
) -> tuple[Embedded, dict[str, dict[str, float]]]:
    graph, labels, seen, scored = _part(cell, graph)
    embedded = method_of(cell.method).embed(graph, seen, cell.config, run_dir)
    scores = {}
    for probe in probes.PROBES:
        found = classification.score(embedded.embeddings, labels, seen, scored, probe)
        scores[probe] = {"micro_f1": found.micro_f1, "macro_f1": found.macro_f1}
    if not graph.is_multilabel:
        clusters = clustering.score(embedded.embeddings, labels, scored)
        scores["kmeans"] = {"nmi": clusters.nmi, "ari": clusters.ari}
    return embedded, scores


def _link_scores(
    cell: Cell, graph: Graph, run_dir: Path
) -> tuple[Embedded, dict[str, dict[str, float]]]:
    split = _hidden(cell, graph)
    seen = np.setdiff1d(np.arange(graph.num_nodes), split.unseen)
    visible = split.input_graph(graph, validating=cell.validating)
    embedded = method_of(cell.method).embed(visible, seen, cell.config, run_dir)
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
def commit(package: Path = Path(__file__).parents[1]) -> str | None:
    """Commit of the code, marked where the package differs from it; None outside a clone."""
    try:
        head = _git(package, "rev-parse", "--short=12", "HEAD")
        # Reports of cells that were computed before this one are no change of the code.
        changed = _git(package, "status", "--porcelain", "--", ".")
    except (OSError, subprocess.CalledProcessError):
        return None
    return f"{head}-dirty" if changed else head


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", *arguments]
    return subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=True
    ).stdout.strip()
