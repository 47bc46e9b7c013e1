"""Readers of graph files: one module a format, one registry, recognition by content."""

import dataclasses
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

from cade_tf.errors import InputError
from cade_tf.graph import arrays, shards, storage
from cade_tf.graph.graph import Graph
from cade_tf.graph.joining import join_graphs
from cade_tf.graph.readers import (
    dgl_reddit,
    edge_list,
    gnn_benchmark,
    graphsage,
    matlab,
    musae,
    planetoid,
)
from cade_tf.progress import Shown


@dataclasses.dataclass(frozen=True)
class Format:
    """A format that cade_tf reads.

    Args:
        title: What it is, in one line.
        recognises: Whether a path looks like it; looks at content, not at suffixes alone.
        read: Reads a path.
        shows_progress: Whether `read` takes `progress`.
    """

    title: str
    recognises: Callable[[Path], bool]
    read: Callable[..., Graph]
    shows_progress: bool = False


def _is_own(path: Path) -> bool:
    if not (path.is_file() and zipfile.is_zipfile(path)):
        return False
    with arrays.open_archive(path) as archive:
        return "format.npy" in archive.namelist() and "indptr.npy" in archive.namelist()


_OWN = "cade"

FORMATS: dict[str, Format] = {
    _OWN: Format("cade_tf's own npz", _is_own, storage.load),
    "shards": Format(
        "folder of shards of cade data convert --shards",
        lambda path: (path / shards.INFO_FILE).is_file(),
        lambda path: shards.ShardedGraph.open(path).to_graph(),
    ),
    "planetoid": Format("Planetoid ind.NAME.*", planetoid.recognises, planetoid.read),
    "dgl_reddit": Format(
        "reddit_data.npz and reddit_graph.npz of DGL and PyG",
        dgl_reddit.recognises,
        dgl_reddit.read,
    ),
    "gnn_benchmark": Format(
        "npz of Graph2Gauss, gnn-benchmark and GraphData",
        gnn_benchmark.recognises,
        gnn_benchmark.read,
    ),
    "matlab": Format("MATLAB .mat", matlab.recognises, matlab.read),
    "graphsage": Format(
        "GraphSAGE PREFIX-G.json", graphsage.recognises, graphsage.read, shows_progress=True
    ),
    "musae": Format(
        "MUSAE folder of edges.csv, features.json, target.csv, or a folder of such",
        musae.recognises,
        musae.read,
    ),
    "edge_list": Format(
        "edge list: csv, tsv, white space, gzip, npy, Parquet",
        edge_list.recognises,
        edge_list.read,
        shows_progress=True,
    ),
}
"""All formats, the most particular first: the first that recognises a path reads it."""


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
        found = next((name for name, f in FORMATS.items() if f.recognises(path)), None)
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
        if chosen == _OWN:
            return storage.load(path, verify=verify)
        shown = {"progress": progress} if FORMATS[chosen].shows_progress else {}
        return FORMATS[chosen].read(path, **given, **shown)
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
