"""The known data sets have exactly the published numbers."""

import hashlib
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components

from cade_tf.config import DataOptions
from cade_tf.errors import InputError
from cade_tf.graph import datasets
from cade_tf.graph.datasets import DATASETS, dataset_path, load_dataset
from cade_tf.graph.link_splits import hidden_edges
from cade_tf.graph.splits import fixed
from tests.graph.real_data import DATA_DIR, needs


def components(graph) -> int:
    return connected_components(graph.adjacency(), directed=False)[0]


@needs("pubmed")
def test_pubmed():
    graph = load_dataset("pubmed")
    assert (graph.num_nodes, graph.num_edges) == (19717, 44324)
    assert (graph.num_features, graph.features.nnz) == (500, 988031)
    assert np.bincount(graph.labels).tolist() == [4103, 7739, 7875]
    assert graph.degrees.max() == 171
    # 25 repeated entries, 3 of them among the 6 entries of self-loops.
    assert (graph.report.self_loops, graph.report.duplicates) == (6, 22)
    assert components(graph) == 1
    assert graph.split is None


@needs("pubmed")
def test_pubmed_test_rows_are_put_back():
    """Rows in the file's order would leave the features of test nodes with other labels."""
    graph = load_dataset("pubmed")
    joined = graph.edges()
    same = (graph.labels[joined[:, 0]] == graph.labels[joined[:, 1]])[(joined >= 18717).any(axis=1)]
    assert same.mean() > 0.75
    norms = np.sqrt(graph.features.multiply(graph.features).sum(axis=1))
    assert norms.min() == pytest.approx(0.20, abs=0.01)
    assert norms.max() == pytest.approx(1.29, abs=0.01)


@needs("blogcatalog")
def test_blogcatalog():
    graph = load_dataset("blogcatalog")
    assert (graph.num_nodes, graph.num_edges) == (5196, 171743)
    assert (graph.num_features, graph.features.nnz) == (8189, 369435)
    assert sp.issparse(graph.features)
    assert np.bincount(graph.labels).tolist() == [885, 777, 921, 858, 892, 863]
    assert graph.class_names == ("1", "2", "3", "4", "5", "6")
    assert (graph.features.data.min(), graph.features.data.max()) == (1, 703)
    assert graph.degrees.max() == 769
    assert graph.edge_weights is None
    assert components(graph) == 1


@needs("ppi")
def test_ppi():
    graph = load_dataset("ppi")
    assert (graph.num_nodes, graph.num_edges) == (56944, 793632)
    assert graph.report.self_loops == 25084
    assert graph.report.duplicates == 0
    assert (graph.num_features, int(graph.features.sum())) == (50, 52680)
    split = fixed(graph)
    assert [len(split.train), len(split.validation), len(split.test)] == [44906, 6514, 5524]
    sizes = np.bincount(graph.graph_ids)
    assert len(sizes) == 24
    assert sizes[:4].tolist() == [1554, 1388, 2273, 2349]
    assert sizes[-2:].tolist() == [3214, 2310]
    assert [len(np.unique(graph.graph_ids[graph.split == part])) for part in range(3)] == [20, 2, 2]
    assert components(graph) == 295
    assert (graph.degrees == 0).sum() == 256
    ends = graph.graph_ids[graph.edges()]
    assert (ends[:, 0] == ends[:, 1]).all()


@needs("ppi")
def test_subppi():
    graph = load_dataset("subppi")
    assert graph.name == "subppi"
    assert graph.num_nodes == 1554 + 1388 + 2273 + 3210 + 3214
    assert graph.num_edges == 16153 + 14853 + 29822 + 48719 + 50324
    split = fixed(graph)
    assert [len(split.train), len(split.validation), len(split.test)] == [5215, 3210, 3214]


@needs("ppi")
def test_ppi_with_60_percent_hidden_edges():
    graph = load_dataset("ppi")
    split = hidden_edges(graph, 0.6, 0.2, 0)
    assert len(split.test_edges) == round(0.6 * 793632)
    left = split.input_graph(graph, validating=True).degrees
    assert (left[graph.degrees > 0] > 0).all()


NUMBERS = {
    "cora": (2708, 5278, 1433, 7),
    "citeseer": (3327, 4552, 3703, 6),
    "cora_ml": (2995, 8158, 2879, 7),
    "citeseer_full": (4230, 5337, 602, 6),
    "dblp": (17716, 52867, 1639, 4),
    "amazon_computers": (13752, 245861, 767, 10),
    "amazon_photo": (7650, 119081, 745, 8),
    "coauthor_cs": (18333, 81894, 6805, 15),
    "coauthor_physics": (34493, 247962, 8415, 5),
}


@pytest.mark.parametrize("name", [pytest.param(n, marks=needs(n)) for n in NUMBERS])
def test_planetoid_and_shchur(name):
    graph = load_dataset(name)
    numbers = (graph.num_nodes, graph.num_edges, graph.num_features, graph.num_classes)
    assert numbers == NUMBERS[name]
    assert graph.name == name


def test_every_data_set_can_be_downloaded():
    for name, data_set in DATASETS.items():
        assert data_set.folder is None or data_set.remote, name
        for remote in data_set.remote:
            assert remote.address.startswith("http")
            assert len(bytes.fromhex(remote.sha256)) == 32


@pytest.mark.parametrize(
    "name", [name for name, d in DATASETS.items() if not any(r.unpack for r in d.remote)]
)
def test_published_digests_are_those_of_the_files(name):
    if DATA_DIR is None:
        pytest.skip("needs CADE_DATA_DIR")
    for remote in DATASETS[name].remote:
        path = Path(DATA_DIR) / name / remote.place / remote.name
        if not path.exists():
            pytest.skip(f"needs {path}")
        assert hashlib.sha256(path.read_bytes()).hexdigest() == remote.sha256


def test_digits_need_no_folder(monkeypatch):
    monkeypatch.delenv("CADE_DATA_DIR", raising=False)
    assert datasets.load(DataOptions()).name == "digits"


def test_a_missing_data_set_says_how_to_get_it(monkeypatch, tmp_path):
    monkeypatch.delenv("CADE_DATA_DIR", raising=False)
    with pytest.raises(InputError, match="cade data download --dataset=pubmed"):
        load_dataset("pubmed")
    with pytest.raises(InputError, match=str(tmp_path / "pubmed")):
        load_dataset("pubmed", tmp_path)


def test_an_unknown_name_is_answered_with_the_nearest():
    with pytest.raises(InputError, match="Did you mean pubmed"):
        load_dataset("pubmet")


def test_a_converted_data_set_is_preferred(tmp_path):
    load_dataset("digits").save(tmp_path / "ppi.npz")
    assert dataset_path("ppi", tmp_path) == tmp_path / "ppi.npz"
    assert load_dataset("ppi", tmp_path).num_nodes == 1797
    assert load_dataset("ppi", tmp_path).name == "ppi"


def test_tables_need_a_graph_of_the_users_own():
    with pytest.raises(InputError, match="one graph together with it"):
        datasets.load(DataOptions(features="x.npy"))


def test_a_part_of_twitch_is_not_taken_for_all(tmp_path):
    folder = tmp_path / "twitch" / "DE"
    folder.mkdir(parents=True)
    (folder / "edges.csv").write_text("from,to\n0,1\n")
    (folder / "features.json").write_text('{"0": [0], "1": [1]}')
    (folder / "target.csv").write_text("id,mature,new_id\n7,True,0\n8,False,1\n")
    with pytest.raises(InputError, match=r"all files of twitch, received no .*ENGB/edges\.csv"):
        load_dataset("twitch", tmp_path)
    assert datasets.load(DataOptions(graph=str(tmp_path / "twitch"))).num_nodes == 2
