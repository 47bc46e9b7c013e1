"""A good graph in every format that cade_tf reads, to be damaged."""

import collections
import dataclasses
import json
import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow
import pyarrow.parquet
import scipy.io
import scipy.sparse as sp

from cade_tf.graph.graph import Graph
from cade_tf.scale.sharding import write_shards

NODES = 12
EDGES = np.array([[i, (i + step) % NODES] for i in range(NODES) for step in (1, 2, 5)])
FEATURES = np.random.default_rng(0).normal(size=(NODES, 4)).round(3)
LABELS = np.arange(NODES) % 3


def _matrix() -> sp.csr_matrix:
    ones = np.ones(len(EDGES), np.float32)
    return sp.csr_matrix((ones, (EDGES[:, 0], EDGES[:, 1])), shape=(NODES, NODES))


def _graph(features: object) -> Graph:
    ids = [f"n{i}" for i in range(NODES)]
    weights = np.linspace(1, 2, len(EDGES))
    return Graph.from_edges(
        EDGES, features=features, labels=LABELS, node_ids=ids, edge_weights=weights
    )


def own(folder: Path) -> None:
    _graph(FEATURES).save(folder / "x.npz")


def own_sparse(folder: Path) -> None:
    _graph(sp.csr_array(FEATURES)).save(folder / "x.npz")


def shards(folder: Path) -> None:
    write_shards(_graph(FEATURES), np.arange(8), folder, shards=2)


def sparse_shards(folder: Path) -> None:
    write_shards(_graph(sp.csr_array(FEATURES)), np.arange(8), folder, shards=2)


def benchmark(folder: Path) -> None:
    members = {}
    for prefix, matrix in (("adj", _matrix()), ("attr", sp.csr_matrix(FEATURES))):
        for part in ("data", "indices", "indptr", "shape"):
            members[f"{prefix}_{part}"] = np.asarray(getattr(matrix, part))
    names = np.array([f"n{i}" for i in range(NODES)], object)
    np.savez(folder / "x.npz", labels=LABELS, node_names=names, **members)


def pickled_matrices(folder: Path) -> None:
    adjacency, attributes = np.empty((), object), np.empty((), object)
    adjacency[()], attributes[()] = _matrix(), sp.csr_matrix(FEATURES)
    np.savez(folder / "x.npz", adj_matrix=adjacency, node_attr=attributes, node_label=LABELS)


def reddit(folder: Path) -> None:
    kinds = np.repeat([1, 2, 3], NODES // 3)
    np.savez(folder / "reddit_data.npz", feature=FEATURES, label=LABELS, node_types=kinds)
    sp.save_npz(folder / "reddit_graph.npz", sp.coo_matrix(_matrix()))


def _matlab(folder: Path, compressed: bool) -> None:
    variables = {
        "Network": sp.csc_matrix(_matrix()),
        "Attributes": sp.csc_matrix(FEATURES),
        "Label": LABELS[:, None] + 1,
        "Note": "text",
    }
    scipy.io.savemat(folder / "x.mat", variables, do_compression=compressed)


def matlab(folder: Path) -> None:
    _matlab(folder, compressed=False)


def compressed_matlab(folder: Path) -> None:
    _matlab(folder, compressed=True)


def csv(folder: Path) -> None:
    lines = [f"n{a},n{b},{1 + a}\n" for a, b in EDGES]
    (folder / "edges.csv").write_text("source,target,weight\n" + "".join(lines))
    rows = ["n{},{}\n".format(i, ",".join(map(str, row))) for i, row in enumerate(FEATURES)]
    (folder / "features.csv").write_text("id,a,b,c,d\n" + "".join(rows))
    (folder / "labels.csv").write_text("".join(f"n{i},c{k}\n" for i, k in enumerate(LABELS)))


def tsv(folder: Path) -> None:
    (folder / "edges.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in EDGES))
    np.save(folder / "features.npy", FEATURES)
    (folder / "labels.txt").write_text("".join(f"{k}\n" for k in LABELS))


def npy(folder: Path) -> None:
    np.save(folder / "edges.npy", EDGES)
    sp.save_npz(folder / "features.npz", sp.csr_matrix(FEATURES))
    np.save(folder / "labels.npy", LABELS)


def graphsage(folder: Path) -> None:
    nodes = [{"id": f"n{i}", "val": i == 3, "test": i > 8} for i in range(NODES)]
    links = [{"source": int(a), "target": int(b)} for a, b in EDGES]
    (folder / "x-G.json").write_text(json.dumps({"nodes": nodes, "links": links}))
    (folder / "x-id_map.json").write_text(json.dumps({f"n{i}": i for i in range(NODES)}))
    classes = {f"n{i}": int(k) for i, k in enumerate(LABELS)}
    (folder / "x-class_map.json").write_text(json.dumps(classes))
    np.save(folder / "x-feats.npy", FEATURES)


def planetoid(folder: Path) -> None:
    neighbors = collections.defaultdict(list)
    for a, b in EDGES.tolist():
        neighbors[a].append(b)
    one_hot = np.eye(3, dtype=np.int32)[LABELS]
    parts = {
        "allx": sp.csr_matrix(FEATURES[:9]),
        "ally": one_hot[:9],
        "tx": sp.csr_matrix(FEATURES[9:]),
        "ty": one_hot[9:],
        "graph": neighbors,
    }
    for name, value in parts.items():
        (folder / f"ind.x.{name}").write_bytes(pickle.dumps(value, 2))
    (folder / "ind.x.test.index").write_text("10\n9\n11\n")


def musae(folder: Path) -> None:
    for name in ("AB", "CD"):
        (folder / name).mkdir()
        lines = "".join(f"{a},{b}\n" for a, b in EDGES)
        (folder / name / "edges.csv").write_text("from,to\n" + lines)
        lists = {str(i): [i, i + 3, 20] for i in range(NODES)}
        (folder / name / "features.json").write_text(json.dumps(lists))
        rows = "".join(f"{100 + i},{bool(i % 2)},{i}\n" for i in range(NODES))
        (folder / name / "target.csv").write_text("id,mature,new_id\n" + rows)


def parquet(folder: Path) -> None:
    names = [f"n{i}" for i in range(NODES)]
    edges = {"source": [names[a] for a, _ in EDGES], "target": [names[b] for _, b in EDGES]}
    features = {"id": names} | {f"f{i}": FEATURES[:, i] for i in range(4)}
    labels = {"id": names, "label": LABELS}
    for name, table in (("edges", edges), ("features", features), ("labels", labels)):
        pyarrow.parquet.write_table(pyarrow.table(table), folder / f"{name}.parquet")


@dataclasses.dataclass(frozen=True)
class Kind:
    """How to write a graph of a kind and how to read it.

    Args:
        write: Writes the files to an empty folder.
        path: What is read, within the folder.
        tables: Arguments of `readers.read`, files within the folder.
    """

    write: Callable[[Path], None]
    path: str
    tables: dict[str, str] = dataclasses.field(default_factory=dict)


def _with_tables(suffixes: tuple[str, str]) -> dict[str, str]:
    return {"features": f"features.{suffixes[0]}", "labels": f"labels.{suffixes[1]}"}


KINDS = {
    "own": Kind(own, "x.npz"),
    "own, sparse": Kind(own_sparse, "x.npz"),
    "shards": Kind(shards, "."),
    "shards, sparse": Kind(sparse_shards, "."),
    "gnn-benchmark": Kind(benchmark, "x.npz"),
    "pickled matrices": Kind(pickled_matrices, "x.npz"),
    "reddit": Kind(reddit, "."),
    "matlab": Kind(matlab, "x.mat"),
    "matlab, compressed": Kind(compressed_matlab, "x.mat"),
    "csv": Kind(csv, "edges.csv", _with_tables(("csv", "csv"))),
    "tsv": Kind(tsv, "edges.tsv", _with_tables(("npy", "txt"))),
    "npy": Kind(npy, "edges.npy", _with_tables(("npz", "npy"))),
    "graphsage": Kind(graphsage, "."),
    "planetoid": Kind(planetoid, "."),
    "musae": Kind(musae, "."),
    "parquet": Kind(parquet, "edges.parquet", _with_tables(("parquet", "parquet"))),
}
