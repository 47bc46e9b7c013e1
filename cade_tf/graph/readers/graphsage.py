"""GraphSAGE's `PREFIX-G.json`, `-feats.npy`, `-id_map.json`, `-class_map.json` (PPI, Reddit)."""

import dataclasses
import json
from pathlib import Path
from typing import Any

import numpy as np

from cade_tf import problems
from cade_tf.errors import InputError
from cade_tf.files import read_json
from cade_tf.graph.graph import Graph
from cade_tf.graph.naming import class_indices, ids_of
from cade_tf.graph.npy import rows_of_npy
from cade_tf.graph.readers.node_link import read_node_link
from cade_tf.progress import Shown, make_bar

_SUFFIX = "-G.json"


def recognises(path: Path) -> bool:
    """Whether a folder or a prefix is of this format."""
    return _graph_file(path) is not None


def _graph_file(path: Path) -> Path | None:
    """PREFIX-G.json of a folder, of the file itself, or of its prefix."""
    if path.is_dir():
        found = sorted(path.glob(f"*{_SUFFIX}"))
        return found[0] if len(found) == 1 else None
    if path.is_file():
        return path
    whole = path.with_name(path.name + _SUFFIX)
    return whole if whole.exists() else None


def _name(graph_file: Path) -> str:
    return graph_file.name.removesuffix(_SUFFIX).removesuffix(".json")


def read(path: Path, progress: Shown = True) -> Graph:
    """Reads the graph; features, id map and classes may be absent.

    Nodes keep the order of G.json. `val` and `test` flags become the split; a node without them
    is a training node. Several graphs in one file (PPI's 24) are found by their ranges: no link
    leads from one range of positions to another.

    Args:
        path: The folder, `PREFIX-G.json`, or PREFIX.
        progress: Whether to show how far the links have been read.

    Raises:
        InputError: A file is damaged or does not fit the others.
    """
    graph_file = _graph_file(path)
    if graph_file is None:
        raise InputError(str(path), "one PREFIX-G.json", "none or several", "Give the file itself.")
    companions = ("feats.npy", "id_map.json", "class_map.json")
    files = {name: graph_file.with_name(f"{_name(graph_file)}-{name}") for name in companions}
    present = {name: file for name, file in files.items() if file.exists()}
    size = graph_file.stat().st_size
    with make_bar(progress, f"reading {graph_file.name}", size, "bytes") as bar:
        document, links = read_node_link(graph_file, bar.advance)
    ids, split = _nodes(document, graph_file)
    fields: dict[str, Any] = {"split": split, "name": _name(graph_file)}
    fields["node_ids"] = ids_of(ids, str(graph_file))
    if "class_map.json" in present:
        with problems.part(), problems.within(present["class_map.json"]):
            fields |= _labels(present["class_map.json"], ids)
    rows = np.arange(len(ids))
    if "id_map.json" in present:
        with problems.part():
            rows = _rows(ids, present["id_map.json"])
    with problems.within(graph_file):
        graph = Graph.from_edges(links, num_nodes=len(ids), **fields)
    if not document.get("directed"):
        graph = dataclasses.replace(graph, report=graph.report.undirected)
    # The two largest things, features and links, are not in memory at the same time.
    del document, links
    features = None
    if "feats.npy" in present:
        with problems.part():
            features = rows_of_npy(present["feats.npy"], rows)
    with problems.within(present.get("feats.npy", graph_file)):
        return dataclasses.replace(graph, features=features, graph_ids=_graph_ids(graph))


def _nodes(document: dict[str, Any], path: Path) -> tuple[list[Any], np.ndarray | None]:
    """Ids of the nodes and their split, None where no node has a flag."""
    nodes = document.get("nodes")
    if not isinstance(nodes, list):
        raise InputError(
            f"{path}, nodes", "a list of nodes", type(nodes).__name__, "Write node-link JSON."
        )
    for position, node in enumerate(nodes):
        known = isinstance(node, dict) and isinstance(node.get("id"), (int, str))
        if not known or isinstance(node["id"], bool):
            raise InputError(
                f"{path}, nodes",
                'objects with an "id", an integer or a string',
                f"{json.dumps(node)[:80]} at position {position}",
                "Give every node an id.",
            )
    ids = [node["id"] for node in nodes]
    if not any("val" in node or "test" in node for node in nodes):
        return ids, None
    split = [2 if node.get("test") else 1 if node.get("val") else 0 for node in nodes]
    return ids, np.array(split, np.int8)


def _rows(ids: list[Any], id_map_file: Path) -> np.ndarray:
    """Row of each node in the features."""
    id_map = read_json(id_map_file, "Copy it again.")
    missing = [node for node in ids if str(node) not in id_map]
    if missing:
        raise InputError(
            str(id_map_file),
            "all ids of G.json",
            f"{len(missing):,} missing, the first {missing[0]!r}",
            "Use the id map that belongs to G.json.",
        )
    rows = [id_map[str(node)] for node in ids]
    if not all(isinstance(row, int) and 0 <= row < 2**62 for row in rows):
        raise InputError(str(id_map_file), "a row number per id", "others", "Recreate it.")
    array = np.array(rows, np.int64)
    if len(np.unique(array)) != len(array):
        raise InputError(
            str(id_map_file), "a row of its own per id", "a repeated row", "Recreate it."
        )
    return array


def _labels(path: Path, ids: list[Any]) -> dict[str, Any]:
    """Classes of the nodes; a node that is absent has none."""
    class_map = read_json(path, "Copy it again.")
    values = [class_map.get(str(node)) for node in ids]
    present = [value for value in values if value is not None]
    if ids and not present:
        raise InputError(str(path), "classes of the ids in G.json", "none", "Use its class map.")
    if any(isinstance(value, list) for value in present):
        width = len(present[0]) if isinstance(present[0], list) else -1
        if len(present) != len(ids) or not all(
            isinstance(value, list) and len(value) == width for value in present
        ):
            raise InputError(
                str(path),
                "a 0/1 list of one length for every node",
                "lists of several lengths or missing ones",
                "Give every node a list.",
            )
        try:
            matrix = np.array(present, np.float64)
        except (ValueError, TypeError) as error:
            raise InputError(str(path), "0/1 lists", str(error), "Recreate it.") from error
        if not np.isin(matrix, (0, 1)).all():
            raise InputError(str(path), "0/1 lists", "other values", "Recreate it.")
        return {"labels": matrix.astype(np.int8)}
    if all(isinstance(value, int) and not isinstance(value, bool) for value in present):
        return class_indices([-1 if value is None else value for value in values])
    return class_indices(["" if value is None else str(value) for value in values])


def _graph_ids(graph: Graph) -> np.ndarray | None:
    """Which of several graphs a node belongs to; None where there is only one.

    The positions of a component span a range; ranges that overlap belong to one graph. An
    isolated node between two graphs belongs to the one before it.
    """
    component = graph.components()
    count = int(component.max(initial=-1)) + 1
    first = np.full(count, graph.num_nodes)
    last = np.full(count, -1)
    np.minimum.at(first, component, np.arange(graph.num_nodes))
    np.maximum.at(last, component, np.arange(graph.num_nodes))
    order = np.argsort(first)
    reach = np.maximum.accumulate(last[order])
    starts = first[order][1:][first[order][1:] > reach[:-1]]
    # An isolated node starts no graph of its own.
    starts = starts[graph.degrees[starts] > 0]
    return (
        np.searchsorted(starts, np.arange(graph.num_nodes), side="right") if len(starts) else None
    )
