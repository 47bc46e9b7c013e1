"""The graph of a command: one of the known data sets of datasets.json, or the user's own files."""

import dataclasses
import difflib
import json
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from cade_tf.config import DataOptions
from cade_tf.errors import InputError
from cade_tf.graph import readers
from cade_tf.graph.digits import digits
from cade_tf.graph.graph import Graph
from cade_tf.graph.splits import sub_ppi
from cade_tf.progress import Shown

DATA_DIR_VARIABLE = "CADE_DATA_DIR"
DEFAULT_DATASET = "digits"


@dataclasses.dataclass(frozen=True)
class RemoteFile:
    """A public file whose content is known.

    Args:
        address: Where it can be downloaded.
        sha256: Digest of the content.
        unpack: Files to take out of it, where it is a zip archive; they are found by name,
            whatever folder of the archive they are in.
        place: Folder within that of the data set which it goes to.
    """

    address: str
    sha256: str
    unpack: Sequence[str] = ()
    place: str = ""

    @property
    def name(self) -> str:
        """Name of the file itself."""
        return self.address.rsplit("/", 1)[1]

    @property
    def results(self) -> Sequence[str]:
        """Names of the files that a download leaves in the folder `place`."""
        return self.unpack or (self.name,)


@dataclasses.dataclass(frozen=True)
class DataSet:
    """A data set by name.

    Args:
        title: What it is, in one line.
        source: Where to get it, for people.
        folder: Folder within the data folder; None for what needs no files.
        remote: Files that `cade data download` fetches.
        make: Makes the graph, of what was read from the folder where there is one.
    """

    title: str
    source: str
    folder: str | None = None
    remote: tuple[RemoteFile, ...] = ()
    make: Callable[..., Graph] = lambda graph: graph


def _read_table() -> dict[str, DataSet]:
    """The data sets of datasets.json; two of them are made in a way of their own."""
    makers: dict[str, Callable[..., Graph]] = {"digits": digits, "subppi": sub_ppi}
    table: dict[str, Any] = json.loads(Path(__file__).with_suffix(".json").read_bytes())
    for name, fields in table.items():
        remote = [RemoteFile(**file) for file in fields.pop("remote", ())]
        table[name] = DataSet(remote=tuple(remote), **fields)
    for name, make in makers.items():
        table[name] = dataclasses.replace(table[name], make=make)
    return table


DATASETS = _read_table()


def known(name: str) -> DataSet:
    """The data set of a name.

    Raises:
        InputError: There is none.
    """
    if name not in DATASETS:
        near = difflib.get_close_matches(name, DATASETS, n=1)
        hint = f"Did you mean {near[0]}?" if near else "Your own files are given as graph."
        raise InputError("dataset", "one of " + ", ".join(DATASETS), repr(name), hint)
    return DATASETS[name]


def data_folder(data_dir: str | Path | None) -> Path | None:
    """The folder of the known data sets: the one given, else CADE_DATA_DIR; None without both."""
    chosen = data_dir or os.environ.get(DATA_DIR_VARIABLE)
    return Path(chosen).expanduser() if chosen else None


def dataset_path(name: str, data_dir: str | Path | None = None) -> Path | None:
    """Folder, or converted npz, of a data set that is present; None where it is not.

    Args:
        name: Name of the data set.
        data_dir: Folder of the data sets; by default the environment variable CADE_DATA_DIR.
    """
    folder = data_folder(data_dir)
    data_set = known(name)
    if folder is None or data_set.folder is None:
        return None
    converted = folder / f"{name}.npz"
    if converted.is_file():
        return converted
    original = folder / data_set.folder
    return original if original.is_dir() and any(original.iterdir()) else None


def load_dataset(name: str, data_dir: str | Path | None = None, *, verify: bool = False) -> Graph:
    """Reads a known data set.

    `DATA_DIR/NAME.npz`, written by `cade data convert`, is preferred to the original files in
    `DATA_DIR/NAME`.

    Args:
        name: Name of the data set.
        data_dir: Folder of the data sets; by default the environment variable CADE_DATA_DIR.
        verify: Whether a converted file is proved again.

    Returns:
        The graph, called as the data set.

    Raises:
        InputError: The name is unknown, or files are missing or wrong.
    """
    data_set = known(name)
    if data_set.folder is None:
        return data_set.make()
    path = dataset_path(name, data_dir)
    if path is None:
        folder = data_folder(data_dir)
        raise InputError(
            "dataset",
            f"the files of {name} in {(folder or Path('DATA_DIR')) / data_set.folder}",
            "none" if folder else f"neither data_dir nor {DATA_DIR_VARIABLE}",
            f"Run cade data download --dataset={name}, or see {data_set.source}.",
        )
    if path.is_dir():
        _check_complete(name, path)
    graph = readers.read(path, verify=verify)
    if path.is_dir():
        graph = data_set.make(graph)
    return graph if graph.name == name else dataclasses.replace(graph, name=name)


def _check_complete(name: str, path: Path) -> None:
    """Refuses a folder that holds only some of the graphs of a data set."""
    for remote in known(name).remote:
        if remote.place and not (path / remote.place / remote.name).is_file():
            raise InputError(
                "dataset",
                f"all files of {name}",
                f"no {path / remote.place / remote.name}",
                f"Run cade data download --dataset={name}, or read a part of it as graph.",
            )


def load(options: DataOptions, *, verify: bool = False, progress: Shown = True) -> Graph:
    """Reads the graph that the options name; `digits` where they name none.

    Args:
        options: Data set or path, and what belongs to it.
        verify: Whether a file of our own is proved again (`cade data check`).
        progress: Whether to show how far a large file has been read.

    Returns:
        The graph.

    Raises:
        InputError: Anything is missing or wrong; the message names the file.
    """
    options.check_companions()
    paths = options.graph_paths()
    if not paths:
        return load_dataset(options.dataset or DEFAULT_DATASET, options.data_dir, verify=verify)
    if len(paths) > 1:
        return readers.read_several(paths, verify=verify, progress=progress)
    return readers.read(
        paths[0],
        format=options.format,
        features=options.features,
        labels=options.labels,
        verify=verify,
        progress=progress,
    )
