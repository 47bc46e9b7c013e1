"""Readers of graph files: one module per format, told apart by content, loaded when needed."""

import importlib
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from cade_tf.errors import InputError
from cade_tf.graph import arrays, npy, storage
from cade_tf.graph.graph import Graph
from cade_tf.graph.joining import join_graphs
from cade_tf.graph.readers import parquet, text
from cade_tf.progress import Shown

FORMATS = {
    "cade": "cade_tf's own npz",
    "shards": "folder of shards of cade data convert --shards",
    "planetoid": "Planetoid ind.NAME.*",
    "dgl_reddit": "reddit_data.npz and reddit_graph.npz of DGL and PyG",
    "gnn_benchmark": "npz of Graph2Gauss, gnn-benchmark and GraphData",
    "matlab": "MATLAB .mat",
    "graphsage": "GraphSAGE PREFIX-G.json",
    "musae": "MUSAE folder of edges.csv, features.json, target.csv, or a folder of such",
    "edge_list": "edge list: csv, tsv, white space, gzip, npy, Parquet",
}
"""What each format is, in one line; all but the first have a module of their name here."""

_OF_FOLDERS = ("shards", "planetoid", "dgl_reddit", "graphsage", "musae")
"""Formats of several files, which may also be named by a common prefix."""

_SHOW_PROGRESS = ("graphsage", "edge_list")
_ADJACENCY = {"adj", "adj_matrix", "adj_indptr", "adj_matrix.indptr", "adj_matrix_indptr"}


def _module(name: str) -> Any:
    return importlib.import_module(f"{__name__}.{name}")


def _format_of(path: Path) -> str | None:
    if path.is_file():
        return _format_of_file(path)
    return next((name for name in _OF_FOLDERS if _module(name).recognises(path)), None)


def _format_of_file(path: Path) -> str | None:
    """By names in an archive, the first bytes and, where these say nothing, the name."""
    with open(path, "rb") as file:
        start = file.read(1024)
    members = set(arrays.member_names(path)) if zipfile.is_zipfile(path) else set()
    if {"format", "indptr"} <= members:
        return "cade"
    if path.name.startswith("ind."):
        return "planetoid"
    if members and _module("dgl_reddit").recognises(path):
        return "dgl_reddit"
    if members & _ADJACENCY:
        return "gnn_benchmark"
    if start.startswith(b"MATLAB") or (start.startswith(b"\x89HDF") and path.suffix == ".mat"):
        return "matlab"
    if path.name.endswith("-G.json") or start.lstrip().startswith(b"{"):
        return "graphsage"
    binary = start.startswith((text.GZIP, npy.MAGIC, parquet.MAGIC))
    return "edge_list" if binary or b"\0" not in start else None


def _single(path: Path) -> Path:
    """A folder that holds one file stands for that file."""
    if not path.is_dir():
        return path
    visible = [entry for entry in path.iterdir() if not entry.name.startswith(".")]
    return visible[0] if len(visible) == 1 and visible[0].is_file() else path


def recognise(path: Path) -> str:
    """The name of the format of a file or folder.

    Raises:
        InputError: It does not exist, is empty, or is of no known format.
    """
    try:
        found = _format_of(path)
    except PermissionError as error:
        raise _no_permission(path) from error
    if found is not None:
        return found
    if not path.exists():
        raise InputError("graph", "an existing file or folder", path, "Check the path.")
    if path.is_dir():
        raise InputError(
            str(path),
            "a folder with one graph of a known format",
            "another folder",
            "Give the file itself; see cade data list for the formats.",
        )
    raise InputError(
        str(path),
        "a graph of a known format (" + ", ".join(FORMATS) + ")",
        _content(path),
        "Convert it, or write an edge list.",
    )


def _content(path: Path) -> str:
    """What an unknown file holds, as far as can be told."""
    if path.stat().st_size == 0:
        return "an empty file"
    if zipfile.is_zipfile(path):
        return "an npz of " + (", ".join(arrays.member_names(path)) or "nothing")
    return "unknown content"


def read(
    path: str | Path,
    *,
    format: str | None = None,
    features: str | Path | None = None,
    labels: str | Path | None = None,
    verify: bool = False,
    progress: Shown = True,
) -> Graph:
    """Reads a graph from any format that cade_tf knows.

    Args:
        path: A file or folder.
        format: Name of its format; by default it is recognised by content.
        features: Node features that belong to an edge list.
        labels: Node labels that belong to an edge list.
        verify: Whether a file of our own is proved again; other files always are.
        progress: Whether to show how far a large file has been read.

    Returns:
        The graph.

    Raises:
        InputError: Unknown format, or anything wrong with a file; the message names it.
    """
    path = _single(Path(path).expanduser())
    if format is not None and format not in FORMATS:
        raise InputError("format", "one of " + ", ".join(FORMATS), format, "Choose one.")
    chosen = format or recognise(path)
    tables = {"features": features, "labels": labels}
    given = {name: Path(file).expanduser() for name, file in tables.items() if file is not None}
    if given and chosen != "edge_list":
        raise InputError(
            next(iter(given)),
            "an edge list as graph",
            f"{path} of format {chosen}",
            "Other formats bring their own.",
        )
    for name, file in given.items():
        if not file.is_file():
            received = f"the folder {file}" if file.is_dir() else file
            raise InputError(name, "an existing file", received, "Check the path.")
    try:
        if chosen == "cade":
            return storage.load(path, verify=verify)
        shown = {"progress": progress} if chosen in _SHOW_PROGRESS else {}
        graph: Graph = _module(chosen).read(path, **given, **shown)
        return graph
    except FileNotFoundError as error:
        raise InputError(
            "graph", "an existing file", error.filename, "Check the path; is a companion missing?"
        ) from error
    except IsADirectoryError as error:
        raise InputError("graph", "a file", f"the folder {error.filename}", "Name it.") from error
    except PermissionError as error:
        raise _no_permission(Path(error.filename)) from error
    except MemoryError as error:
        raise InputError(
            str(path), "a graph that fits into memory", "a larger one", "Use a larger machine."
        ) from error


def read_several(
    paths: Sequence[str | Path], *, verify: bool = False, progress: Shown = True
) -> Graph:
    """Reads graphs and joins them; see `cade_tf.graph.joining.join_graphs`.

    Args:
        paths: Files or folders, each of any format. A graph is called as its file or folder, or,
            where two would have one name, also as the folder it is in.
        verify: Whether files of our own are proved again.
        progress: As for `read`.

    Returns:
        The graph of all, ids as `NAME/ID`.

    Raises:
        InputError: As for `read`, or the graphs do not fit each other.
    """
    places = [Path(path).expanduser() for path in paths]
    names = [place.name.split(".")[0] for place in places]
    if len(set(names)) < len(names):
        names = [
            f"{place.resolve().parent.name}/{name}"
            for place, name in zip(places, names, strict=True)
        ]
    return join_graphs([read(place, verify=verify, progress=progress) for place in places], names)


def _no_permission(path: Path) -> InputError:
    return InputError(
        str(path), "a file that may be read", "no permission", "Change its mode (chmod +r)."
    )
