"""What somebody who finds an export should know about it."""

import datetime
from collections.abc import Sequence
from typing import Any

import numpy as np

from cade_tf.config import Config
from cade_tf.graph.graph import Graph
from cade_tf.models.dual_encoder import DualEncoder

NAMES = {
    "cade_ms": "CADE-MS (K neighbourhood samplings, attended by dot products)",
    "cade_ma": "CADE-MA (K aggregator parameter sets, attended by the vector A)",
    "cade_gb": "CADE-gb (GraphSAGE with the global bias)",
    "graphsage": "GraphSAGE",
}
SCORES = {"micro_f1": "micro-F1", "macro_f1": "macro-F1"}


def model_card(
    model: DualEncoder,
    config: Config,
    results: Sequence[dict[str, Any]],
    *,
    graph: Graph | None,
    signatures: Sequence[str] = (),
) -> str:
    """The text of model_card.md.

    Args:
        model: The exported model.
        config: Options of its run.
        results: result.json of its run, then of runs with other seeds or splits, for the spread.
        graph: The graph in the export; None where there is none.
        signatures: Names of the signatures of the export.
    """
    sections = [
        f"# {NAMES[config.model]}",
        f"Node embeddings of width {model.dim}.{_length(model)}",
        "## Intended use",
        "Unsupervised embeddings of attributed, undirected graphs, for classifiers, link "
        "prediction, clustering and search by similarity; also of nodes and graphs that training "
        "did not see, as long as their features are the same. The vectors carry whatever the "
        "features and edges carry, sensitive attributes and their proxies included; check "
        "decisions about people made from them. Scores hold for the data below and say nothing "
        "about other graphs.",
        "## Training data",
        _data(results[0].get("data", {}), model),
        "## Scores",
        _scores(results),
        "## The export",
        _export(model, graph, signatures),
        "## Flags",
        f"```\n{config.replace(run_dir=None).to_flagfile()}```",
        "## Versions",
        _table(("package", "version"), sorted(results[0].get("versions", {}).items())),
        f"Exported {datetime.datetime.now(datetime.UTC):%Y-%m-%d %H:%M} UTC.",
    ]
    return "\n\n".join(sections) + "\n"


def _length(model: DualEncoder) -> str:
    if model.normalize not in ("output", "both"):
        return ""
    return (
        " A node's embedding is the mean of unit vectors, one for each of its contexts, so that "
        "its length is at most 1; scale it to unit length where cosines are meant. The vectors of "
        "a pair, and of a node without context (`encode_tree`), have unit length."
    )


def _data(data: dict[str, Any], model: DualEncoder) -> str:
    rows = [(name, f"{v:,}" if isinstance(v, int) else v) for name, v in data.items()]
    features = (
        "degrees and positions, as the graph has no features"
        if model.prepared().structural
        else "node features"
    )
    rows.append(
        ("read by the encoder", f"{features}, scaling: {model.prepared().transform.scaling}")
    )
    return _table(("", ""), rows)


def _scores(results: Sequence[dict[str, Any]]) -> str:
    probes = results[0].get("scores", {})
    rows = []
    for probe, values in probes.items():
        for score, title in SCORES.items():
            found = [r["scores"][probe][score] for r in results if probe in r.get("scores", {})]
            text = f"{np.mean(found):.4f}"
            if len(found) > 1:
                text += f" ± {np.std(found, ddof=1):.4f} (standard deviation, {len(found)} runs)"
            elif score == "micro_f1":
                # Of one class per node it is a share of nodes; macro-F1 is no share of anything.
                count = values["test_nodes"]
                error = (found[0] * (1 - found[0]) / max(count, 1)) ** 0.5
                text += f" ± {error:.4f} (binomial standard error of {count:,} nodes)"
            rows.append((f"{probe}, {title}", text))
    if not rows:
        return "None: the data had no labels, or no unseen nodes."
    scored_on = results[0].get("scored_on", "unseen nodes")
    return f"Node classification of {scored_on}.\n\n" + _table(("probe", "score"), rows)


def _export(model: DualEncoder, graph: Graph | None, signatures: Sequence[str]) -> str:
    known = f"{len(model.prepared().known_ids):,} nodes were known to training"
    held = "It holds no graph."
    if graph is not None:
        size = f"{graph.num_nodes:,} nodes, {graph.num_edges:,} edges"
        held = f"It holds the graph {graph.name}: {size}."
    return f"{held} {known}. Signatures: {', '.join(sorted(signatures))}."


def _table(head: tuple[str, str], rows: Sequence[tuple[str, Any]]) -> str:
    lines = [f"| {head[0]} | {head[1]} |", "|---|---|"]
    return "\n".join(lines + [f"| {name} | {value} |" for name, value in rows])
