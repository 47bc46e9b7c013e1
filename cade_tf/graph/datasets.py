"""The known data sets: what they are, where their files lie and where to get them."""

import dataclasses
import difflib
import os
from collections.abc import Callable
from pathlib import Path

from cade_tf.errors import InputError
from cade_tf.graph import readers
from cade_tf.graph.digits import digits
from cade_tf.graph.graph import Graph
from cade_tf.graph.splits import sub_ppi

DATA_DIR_VARIABLE = "CADE_DATA_DIR"


@dataclasses.dataclass(frozen=True)
class RemoteFile:
    """A public file whose content is known.

    Args:
        address: Where it can be downloaded.
        sha256: Digest of the content.
        unpack: Files to take out of it, where it is a zip archive; they are found by name,
            whatever folder of the archive they are in.
    """

    address: str
    sha256: str
    unpack: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """Name of the file itself."""
        return self.address.rsplit("/", 1)[1]

    @property
    def results(self) -> tuple[str, ...]:
        """Names of the files that a download leaves in the data set's folder."""
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


_PLANETOID = "https://raw.githubusercontent.com/kimiyoung/planetoid/HEAD/data/"
_PUBMED_DIGESTS = {
    "x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
    "y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
    "tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
    "ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
    "allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
    "ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
    "graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
    "test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
}
_GRAPHSAGE = "http://snap.stanford.edu/graphsage/"
_PPI_ARCHIVE = RemoteFile(
    _GRAPHSAGE + "ppi.zip",
    "53aeb76e54fd41b645e7edb48b62929240b89839495396b048086fd212503fbd",
    ("ppi-G.json", "ppi-feats.npy", "ppi-id_map.json", "ppi-class_map.json"),
)

DATASETS: dict[str, DataSet] = {
    "digits": DataSet(
        "handwritten digits; comes with cade_tf", "made from scikit-learn's images", make=digits
    ),
    "pubmed": DataSet(
        "citations of papers on diabetes (Planetoid)",
        "https://github.com/kimiyoung/planetoid, data/ind.pubmed.*",
        "pubmed",
        tuple(
            RemoteFile(f"{_PLANETOID}ind.pubmed.{suffix}", digest)
            for suffix, digest in _PUBMED_DIGESTS.items()
        ),
    ),
    "blogcatalog": DataSet(
        "a network of bloggers with the words of their blogs",
        "https://github.com/xhuang31/AANE_Python, BlogCatalog.mat",
        "blogcatalog",
        (
            RemoteFile(
                "https://raw.githubusercontent.com/xhuang31/AANE_Python/HEAD/BlogCatalog.mat",
                "886e1d8dec043588247ef7188fe6459f2ba657b6b9211d73f255d28b42f06b0c",
            ),
        ),
    ),
    "ppi": DataSet(
        "protein interactions in 24 tissues (GraphSAGE)",
        "http://snap.stanford.edu/graphsage/, ppi.zip",
        "ppi",
        (_PPI_ARCHIVE,),
    ),
    "subppi": DataSet(
        "5 of PPI's tissues: 3 to train, 1 to validate, 1 to test",
        "made from ppi",
        "ppi",
        (_PPI_ARCHIVE,),
        make=sub_ppi,
    ),
    "reddit": DataSet(
        "posts joined by common commenters (GraphSAGE)",
        "http://snap.stanford.edu/graphsage/, reddit.zip; or reddit_data.npz and "
        "reddit_graph.npz of DGL",
        "reddit",
        (
            RemoteFile(
                _GRAPHSAGE + "reddit.zip",
                "25337a21540cd373e4cee3751e6600324ab6a7377ef3966bb49f57412a17ed02",
                (
                    "reddit-G.json",
                    "reddit-feats.npy",
                    "reddit-id_map.json",
                    "reddit-class_map.json",
                ),
            ),
        ),
    ),
}


def known(name: str) -> DataSet:
    """The data set of a name.

    Raises:
        InputError: There is none.
    """
    if name not in DATASETS:
        near = difflib.get_close_matches(name, DATASETS, n=1)
        hint = f"Did you mean {near[0]}?" if near else "Your own files go to --graph."
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
        verify: Whether a converted file is proved anew.

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
            "none" if folder else f"neither --data_dir nor {DATA_DIR_VARIABLE}",
            f"Run cade data download --dataset={name}, or see {data_set.source}.",
        )
    graph = readers.read(path, verify=verify)
    if path.is_dir():
        graph = data_set.make(graph)
    return graph if graph.name == name else dataclasses.replace(graph, name=name)
