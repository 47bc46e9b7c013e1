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
        place: Folder within that of the data set which it goes to.
    """

    address: str
    sha256: str
    unpack: tuple[str, ...] = ()
    place: str = ""

    @property
    def name(self) -> str:
        """Name of the file itself."""
        return self.address.rsplit("/", 1)[1]

    @property
    def results(self) -> tuple[str, ...]:
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


_GITHUB = "https://raw.githubusercontent.com/"
_PLANETOID = f"{_GITHUB}kimiyoung/planetoid/HEAD/data/"
_PLANETOID_DIGESTS = {
    "cora": {
        "x": "23cfa55d91c6f624233f5eb7b6e3f141f1bd2b2ae39608a63cf5d084bb27baab",
        "y": "94465c14eb53e04ca262198dcbb2521ee8af60fb3f3d546cd6ca24a511b0e7d1",
        "tx": "b9afbaa4a400df991f6f02ef677e1e44da55ffc04801fd02f9e673987829226a",
        "ty": "41f5ac76596a1699cc33f53084a2419e92961c42bb75f36fc38e616d348532ad",
        "allx": "9419ba2f26f5c35243db64aba110e0f35a04851609e0dc5433450676ca6b8543",
        "ally": "2b998f5cc7fedc86e7f97ca2498f47a1ffc1462c29e2d578b23bf3f62b6e7d71",
        "graph": "58f13302f39dde8852dad6fe6d15b89b077b6d7f837626bce671ef80344b383d",
        "test.index": "297ce89af2b51a6a194181c7dbe1796c6a1cf9cd9349a88383b1b1e227867875",
    },
    "citeseer": {
        "x": "d20de19150741e555de0ed037195630fc194114ebc7fd72ced62810148aa22f6",
        "y": "8ba87e515d8e3ee3cf52f6d2c5b86aa73f11ecad825a808455209ec26cd54924",
        "tx": "539a8906a2da97628d212f2fdd668c109a8b3f0d36574b59e5d3fd5b5303da21",
        "ty": "55e5bd1ba1e733a04598753ad1a8d57957f4b8f89e74519f41f4f4938767e4ce",
        "allx": "2ac30345d95c9ec933a817ee0bdd6a5f077f8c184a20e696910192d534414668",
        "ally": "f704b2d986dde6c2669934de1f3ae5696a6cf9455c0f6b2646a2d135ea0a1c95",
        "graph": "d79a4ef9d3e7169aee8946145f6b7306e35bc79bffad26346cfb94e10e9912a7",
        "test.index": "2af990671580b6b2df5d158d1038f8292e30c9cd821b5453f399659b25b723d4",
    },
    "pubmed": {
        "x": "fbe9cb5c47200d1b7769a26e579be3b7130b556831f9d850e77c4c74f2599b33",
        "y": "e6c807633307a07ed659249006536a147c7999c797f11a2560752990181b41b3",
        "tx": "4eb5f5d0f30f26497eb0ac6ac9719d09c67e284f1ed0385c93f3ef27a671da3d",
        "ty": "ee2e0d4819d9fbcc403689c3bf2e49face401b605932f093bc58ab6461130fdd",
        "allx": "508e538e2abdccdd54c4d3e9f49d638b4af7107d85845f66ddea5a5152658b7e",
        "ally": "0c37bbe3b5014ec365e9d393cf4791925e5ed94fb194305d74f064a8d7b50f0e",
        "graph": "5b89f0036ca22909471f1e6558eb42fa06e0c730a577bde5b058b40638f81dc9",
        "test.index": "b101d421688bbaecbd82e8a18f1e282378d6830f3a37666f28ebc47f844341b5",
    },
}
_GRAPH_DATA = f"{_GITHUB}EdisonLeeeee/GraphData/f8022c26b917346f2a461ffec0ec5ae24b36de68/datasets/"
_TWITCH_DIGESTS = {
    "DE/edges.csv": "54feaf3e3e70a485fe07f8611e4d2677841b97f77b8358204bcf4a48cc884d86",
    "DE/features.json": "7b39c42570f05cd46017c765df8d8a1bc03f19787c3eb0f9684f50a52476ae3a",
    "DE/target.csv": "2188f58a093bb9db363d3eaf7c3a52c2adc8ff6b23cbcb4f53875f87061c0321",
    "ENGB/edges.csv": "5ea4d7f7267454e9523577eb2a9b4dcb7a22dd660a548240f01b815d08e0e3cc",
    "ENGB/features.json": "d55948bd911ab28e0a89c4946562d5a8b363b9a7e4216e1a4986f37c74caa777",
    "ENGB/target.csv": "e9d51399878216d2dd662b0a152b602cccde7b5cbb8452cb91d9379f64114443",
    "ES/edges.csv": "17801d2cc45fc4909a431ce7a190c0565d4af87b0548ca7705cf2bef7da4c884",
    "ES/features.json": "dec4b672183f9cb04524ee605b763cc14244ed88eb766147a3f954e9abe30d59",
    "ES/target.csv": "f843427bae58289100e78c6c211fa4a1ae0d5fbf2c665841df9e390b00dcffb5",
    "FR/edges.csv": "9924263f7e8edaa7278dcbc37bd90c8712cb0ea1726d85e054a5588b7959f887",
    "FR/features.json": "490ff6a0afb0838fea1696980b14b3fcb9e8932d18e1f5172f066e45d97daa46",
    "FR/target.csv": "dd0a9e7ba565cbb95ae66003892709742bd08c26387656e3e235fc25205663b4",
    "PTBR/edges.csv": "b72d93a3c8a82883771a2f3822fce229885fa0d40367fb105c0535fb36c773b9",
    "PTBR/features.json": "5012dee29ca3ae57cbdb4f46279506e3b87ff79d8c43affcafd7576acb21f960",
    "PTBR/target.csv": "ecba7d1287e72ae7c3f42c922be475283288c0c67346245c72109690460444bd",
    "RU/edges.csv": "fd307587a550289f746056ea12a7336171ab2053c9e08c42dba77499126ca5b2",
    "RU/features.json": "7767f5d6fdb405cc5cd4267bd3dd0371cbd585ef3f3bec6b5d156880fe42e30a",
    "RU/target.csv": "db7617528355be994352e491e7b25d060fed466d0d81c09cadd90fa10f15c071",
    "ZHTW/edges.csv": "47c986023f1f434f76026ddfb3ab544be24849011400c99402083d06d3dfa017",
    "ZHTW/features.json": "9508cc55f4b891018f278df4cec40d622aba2b04c1bca9451fd9e8ce11321c7b",
    "ZHTW/target.csv": "65b75f23be40140d2e326813c3f81419f1a94aa1091acfc0279f0403be8165f7",
}
_GRAPHSAGE = "http://snap.stanford.edu/graphsage/"
_PPI_ARCHIVE = RemoteFile(
    _GRAPHSAGE + "ppi.zip",
    "53aeb76e54fd41b645e7edb48b62929240b89839495396b048086fd212503fbd",
    ("ppi-G.json", "ppi-feats.npy", "ppi-id_map.json", "ppi-class_map.json"),
)


def _planetoid(name: str, title: str) -> DataSet:
    return DataSet(
        f"{title} (Planetoid)",
        f"https://github.com/kimiyoung/planetoid, data/ind.{name}.*",
        name,
        tuple(
            RemoteFile(f"{_PLANETOID}ind.{name}.{suffix}", digest)
            for suffix, digest in _PLANETOID_DIGESTS[name].items()
        ),
    )


def _graph_data(name: str, title: str, file: str, digest: str) -> DataSet:
    return DataSet(
        title,
        f"https://github.com/EdisonLeeeee/GraphData, datasets/{file}",
        name,
        (RemoteFile(_GRAPH_DATA + file, digest),),
    )


DATASETS: dict[str, DataSet] = {
    "digits": DataSet(
        "handwritten digits; comes with cade_tf", "made from scikit-learn's images", make=digits
    ),
    "cora": _planetoid("cora", "citations of papers on machine learning"),
    "citeseer": _planetoid("citeseer", "citations of papers on computer science"),
    "pubmed": _planetoid("pubmed", "citations of papers on diabetes"),
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
    "cora_ml": DataSet(
        "citations of papers on machine learning (Graph2Gauss)",
        "https://github.com/gasteigerjo/ppnp, ppnp/data/cora_ml.npz",
        "cora_ml",
        (
            RemoteFile(
                f"{_GITHUB}gasteigerjo/ppnp/8514e4dc2c5f1e3047ad915f6a5701c24c9d94dd/"
                "ppnp/data/cora_ml.npz",
                "e3439bfd32c4a962d5c56a4f313793baee39181c208c90a3915b61183d3e1cda",
            ),
        ),
    ),
    "citeseer_full": _graph_data(
        "citeseer_full",
        "citations of papers on computer science (Graph2Gauss)",
        "citeseer_full.npz",
        "403e8976b21eed58544dca956b6bd8b513779124c6f88da9538609b085ac8651",
    ),
    "dblp": _graph_data(
        "dblp",
        "citations of papers on computer science, four fields (Graph2Gauss)",
        "dblp.npz",
        "e1c460c864735b88158e230e715715b08a8f7bb7c94f7f6c3b5efc412558877d",
    ),
    "amazon_computers": _graph_data(
        "amazon_computers",
        "computers bought together (Shchur et al.)",
        "amazon_cs.npz",
        "a6942db609f196b53503d91b99a02ad8d052d5d9be8ef41db976fb65f66ed1f3",
    ),
    "amazon_photo": _graph_data(
        "amazon_photo",
        "cameras bought together (Shchur et al.)",
        "amazon_photo.npz",
        "bdb98b54cd3125bfa69b23ba0aae84fabcb770c6727175b8f6eb1d64f3be4b2b",
    ),
    "coauthor_cs": _graph_data(
        "coauthor_cs",
        "authors in computer science with common papers (Shchur et al.)",
        "coauthor_cs.npz",
        "7b7b51bf270d341f1c4231834c58a526bb04db003fd76a6d2f51ad7d252005ed",
    ),
    "coauthor_physics": _graph_data(
        "coauthor_physics",
        "authors in physics with common papers (Shchur et al.)",
        "coauthor_phy.npz",
        "1c930d99910763bc5f0c1aa90e8baa945f5ad6027663fe5332d0f08fde33cd7d",
    ),
    "twitch": DataSet(
        "streamers who follow each other, in 7 languages (MUSAE)",
        "https://github.com/EdisonLeeeee/GraphData, datasets/musae/",
        "twitch",
        tuple(
            RemoteFile(f"{_GRAPH_DATA}musae/{file}", digest, place=file.split("/")[0])
            for file, digest in _TWITCH_DIGESTS.items()
        ),
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
            "none" if folder else f"neither --data_dir nor {DATA_DIR_VARIABLE}",
            f"Run cade data download --dataset={name}, or see {data_set.source}.",
        )
    if path.is_dir():
        _check_complete(name, path)
    graph = readers.read(path, verify=verify)
    if path.is_dir():
        graph = data_set.make(graph)
    return graph if graph.name == name else dataclasses.replace(graph, name=name)


def _check_complete(name: str, path: Path) -> None:
    """A folder of several graphs must have all: the others would be a data set of their own."""
    for remote in known(name).remote:
        if remote.place and not (path / remote.place / remote.name).is_file():
            raise InputError(
                "dataset",
                f"all files of {name}",
                f"no {path / remote.place / remote.name}",
                f"Run cade data download --dataset={name}, or read a part of it by --graph.",
            )
