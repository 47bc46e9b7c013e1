"""Mistakes that people make, by hand: refused by name, or read as they were meant."""

import gzip
import shutil
import types

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow
import pyarrow.parquet
import pytest
import scipy.sparse as sp

from cade_tf.cli.app import main
from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.evaluation.pictures import plot_embeddings
from cade_tf.experiments import tuning
from cade_tf.graph import readers
from cade_tf.graph.graph import Graph
from cade_tf.graph.splits import NodeSplit
from cade_tf.inference.frames import embeddings_frame
from cade_tf.inference.neighbors import neighbors
from cade_tf.inference.outputs import read_embeddings
from cade_tf.models.factory import load_model
from cade_tf.sklearn import NodeEmbedder
from cade_tf.training.trainer import train
from tests.trained_runs import make_graph, trained_run

EDGES = "a,b\nb,c\nc,d\nd,a\n"
RANDOM = np.random.default_rng(0).bytes(40_000).replace(b"\n", b"")


def read(folder, **files):
    """Reads a list of edges with its tables; each is text, bytes, an array or columns."""
    paths = {}
    for name, content in files.items():
        path = paths[name] = folder / name
        if isinstance(content, np.ndarray):
            path = paths[name] = folder / f"{name}.npy"
            np.save(path, content)
        elif isinstance(content, dict):
            pyarrow.parquet.write_table(pyarrow.table(content), path)
        else:
            path.write_bytes(content.encode() if isinstance(content, str) else content)
    return readers.read(paths.pop("edges"), progress=False, **paths)


# --- tables ---------------------------------------------------------------------------------------

TABLES = {
    "a quote that is not closed takes no other lines": (
        {"edges": EDGES, "labels": 'a,x\nb,"y\nc,x\nd,y\n'},
        "labels, line 2: expected quotes closed in their line",
    ),
    "nor does one that is closed three lines later": (
        {"edges": EDGES, "labels": 'a,x\n"b,y\nc",x\nd,y\n'},
        "labels, line 2: expected quotes closed in their line",
    ),
    "a quote in a list of edges": (
        {"edges": 'a,b\nb,"c\nc,d\n'},
        "edges, line 2: expected quotes closed in their line",
    ),
    "a node without a name": (
        {"edges": EDGES, "features": "a,1\nb,2\nc,3\nd,4\n,5\n"},
        "features: expected an id in every row, received none in row 5",
    ),
    "a first row with an empty number is no header": (
        {"edges": "b,c\nc,d\n", "features": "a,\nb,2\nc,3\nd,4\n"},
        r"features, data line 1 \(id a\): expected numbers",
    ),
    "neither text nor a complete gzip": (
        {"edges": gzip.compress(b"a,b\n\xff," + RANDOM)[:-9000]},
        "edges: expected text in UTF-8",
    ),
    "labels of no dimension": (
        {"edges": "0,1\n", "labels": np.array(3)},
        r"labels: expected a class for each node, received shape \(\)",
    ),
    "lists where ids should be": (
        {"edges": {"source": [[1, 2], [3, 4]], "target": ["a", "b"]}},
        "edges: expected ids: integers or strings, received",
    ),
    "an id that is null": (
        {"edges": {"source": ["a", None], "target": ["b", "c"]}},
        "edges: expected an id in every row, received none in row 2",
    ),
    "the id of a row of features that is null": (
        {"edges": "a,b\n", "features": {"id": ["a", "b", None], "x": [1.0, 2.0, 3.0]}},
        "features: expected an id in every row, received none in row 3",
    ),
}


@pytest.mark.parametrize("case", TABLES)
def test_a_mistake_in_a_table_is_told_with_its_place(case, tmp_path):
    files, message = TABLES[case]
    with pytest.raises(InputError, match=message):
        read(tmp_path, **files)


def test_what_python_would_take_for_an_integer_is_a_name(tmp_path):
    graph = read(tmp_path, edges="1_2,12\n12,1_3\n", features="1_2,5\n12,6\n1_3,7\n")
    assert graph.ids.tolist() == ["1_2", "12", "1_3"]
    assert graph.edges().tolist() == [[0, 1], [1, 2]]


def test_ids_beyond_int64_are_kept(tmp_path):
    graph = read(tmp_path, edges=np.array([[2**63 + 5, 2**63 + 6], [2**63 + 6, 3]], np.uint64))
    assert graph.ids.tolist() == ["3", str(2**63 + 5), str(2**63 + 6)]


# --- pandas, NetworkX, PyG, arrays ----------------------------------------------------------------

PAIR = np.array([[0, 1], [1, 0]])


def of_pandas(source, target, **options):
    return Graph.from_pandas(pd.DataFrame({"source": source, "target": target}), **options)


def of_pyg(**fields):
    return Graph.from_pyg(types.SimpleNamespace(**fields))


VALUES = {
    "pandas: NaN among names": (
        lambda: of_pandas(["a", None], ["b", "c"]),
        "edges, source: expected an id in every row, received none in row 2",
    ),
    "pandas: NaN among numbers": (
        lambda: of_pandas([1, 2], [2, np.nan]),
        "edges, target: expected an id in every row, received none in row 2",
    ),
    "pandas: NA": (
        lambda: of_pandas(pd.array([1, None], "Int64"), [2, 3]),
        "edges, source: expected an id in every row",
    ),
    "pandas: NaN in an index": (
        lambda: of_pandas(["a"], ["b"], features=pd.DataFrame({"x": [1, 2]}, index=["a", None])),
        r"features\.index: expected an id in every row, received none in row 2",
    ),
    "pandas: a list": (
        lambda: Graph.from_pandas([["a", "b"]]),
        "edges: expected a DataFrame, received list",
    ),
    "networkx: a list": (
        lambda: Graph.from_networkx([("a", "b")]),
        "graph: expected a NetworkX graph, received list",
    ),
    "networkx: NaN as a node": (
        lambda: Graph.from_networkx(nx.Graph([("a", float("nan"))])),
        "node_ids: expected an id in every row, received none in row 2",
    ),
    "pyg: masks of two lengths": (
        lambda: of_pyg(edge_index=PAIR, val_mask=np.ones(2, bool), test_mask=np.ones(3, bool)),
        "test_mask: expected shape",
    ),
    "pyg: a number of nodes as text": (
        lambda: of_pyg(edge_index=PAIR, num_nodes="2"),
        "num_nodes: expected an integer from 0, received '2'",
    ),
    "pyg: rows of two lengths": (
        lambda: of_pyg(edge_index=[[0, 1], [1]]),
        "edge_index: expected lists of one length",
    ),
    "edges of two lengths": (
        lambda: Graph.from_edges([[0, 1], [1]]),
        "edges: expected lists of one length",
    ),
    "features of two lengths": (
        lambda: Graph.from_edges([[0, 1]], features=[[1], [1, 2]]),
        "features: expected lists of one length",
    ),
    "a class for all": (
        lambda: Graph.from_edges([[0, 1]], labels="x"),
        "labels: expected a class for each node, received 'x'",
    ),
    "no class at all": (
        lambda: Graph.from_edges([[0, 1]], labels=np.zeros((2, 0), int)),
        r"labels: expected a 0/1 matrix, received shape \(2, 0\)",
    ),
    "a class that 32 bits would turn into class 0": (
        lambda: Graph.from_edges([[0, 1]], labels=[0, 2**32]),
        "labels: expected classes from 0 to 999,999, received 4294967296",
    ),
    "a part of the split that 8 bits would turn into 0": (
        lambda: Graph.from_edges([[0, 1]], split=[0, 256]),
        "split: expected integers up to 127, received 256",
    ),
    "a neighbour that 32 bits would turn into another": (
        lambda: Graph(indptr=[0, 1, 2], indices=np.array([1 + 2**32, 0])),
        "indices: expected integers up to 2147483647",
    ),
    "None among ids": (
        lambda: Graph.from_edges([[0, 1]], node_ids=["a", None]),
        "node_ids: expected an id in every row, received none in row 2",
    ),
    "more columns than anything can hold": (
        lambda: Graph.from_edges([[0, 1]], features=sp.csr_array((2, 2**40), dtype="f")),
        "features: expected fewer columns, received 1099511627776",
    ),
    "a split of fractions": (
        lambda: NodeSplit(train=[0], validation=[0.5], test=[1]),
        "validation: expected integers",
    ),
    "a split below 0": (
        lambda: NodeSplit(train=[0], validation=[-1], test=[1]),
        "split: expected positions from 0, received -1",
    ),
    "a split of more nodes": (
        lambda: NodeSplit(train=[0], validation=[], test=[2]).check_fits(
            Graph.from_edges([[0, 1]])
        ),
        "split: expected positions of 2 nodes, received 2",
    ),
}


@pytest.mark.parametrize("case", VALUES)
def test_a_mistake_in_a_value_is_told_by_name(case):
    make, message = VALUES[case]
    with pytest.raises(InputError, match=f"^{message}"):
        make()


def test_whole_floats_of_pandas_are_the_integers_that_they_were():
    graph = of_pandas([1.0, 2.0], [2, 3])
    assert graph.ids.tolist() == [1, 2, 3]
    assert graph.num_edges == 2


# --- files of embeddings --------------------------------------------------------------------------

ROWS, IDS = np.ones((3, 2), np.float32), np.array(["a", "b", "c"])
EMBEDDINGS = {
    "more ids than rows": (ROWS[:2], IDS, "node_ids: expected 2 ids"),
    "one id twice": (ROWS, np.array(["a", "b", "a"]), "node_ids: expected distinct ids"),
    "a vector": (ROWS[0], IDS[:2], "expected a matrix of numbers"),
    "no columns": (ROWS[:, :0], IDS, "expected a matrix of numbers"),
    "no rows": (ROWS[:0], IDS[:0], "expected a matrix of numbers"),
    "text": (ROWS.astype(str), IDS, "expected a matrix of numbers"),
    "NaN": (ROWS * np.nan, IDS, "received nan at node a"),
    "infinity in half precision": (np.full((3, 2), np.inf, np.float16), IDS, "inf at node a"),
}


@pytest.mark.parametrize("case", EMBEDDINGS)
@pytest.mark.parametrize("form", ["npz", "npy"])
def test_embeddings_that_cannot_be_are_refused(case, form, tmp_path):
    embeddings, ids, message = EMBEDDINGS[case]
    path = tmp_path / "embeddings.npz"
    if form == "npz":
        np.savez(path, embeddings=embeddings, node_ids=ids)
    else:
        path = tmp_path
        np.save(path / "embeddings.npy", embeddings)
        (path / "node_ids.txt").write_text("".join(f"{node}\n" for node in ids))
        message = message.replace("node_ids: expected 2 ids", "with an id for each row")
    with pytest.raises(InputError, match=f"{path}.*{message}"):
        read_embeddings(path)


# --- embeddings from Python -----------------------------------------------------------------------

TRIANGLE = Graph.from_edges([["a", "b"], ["b", "c"]], node_ids=["a", "b", "c"])
GIVEN = {
    "NaN": (ROWS * np.nan, "embeddings: expected finite numbers .* nan at node a"),
    "text": (ROWS.astype(str), "embeddings: expected a matrix of numbers"),
    "a vector": (ROWS[0], "embeddings: expected a matrix of numbers"),
    "lists of two lengths": ([[1], [1, 2], [1]], "embeddings: expected lists of one length"),
    "fewer rows": (ROWS[:2], "embeddings: expected 3 rows, received 2"),
}


@pytest.mark.parametrize("use", [embeddings_frame, plot_embeddings, neighbors])
@pytest.mark.parametrize("case", GIVEN)
def test_embeddings_that_cannot_be_are_refused_from_python(case, use):
    embeddings, message = GIVEN[case]
    with pytest.raises(InputError, match=message):
        use(TRIANGLE, embeddings, *["a"][: use is neighbors])


def test_lists_and_frames_are_embeddings_too():
    rows = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 0.1]])
    for given in (rows.tolist(), pd.DataFrame(rows)):
        assert neighbors(TRIANGLE, given, "a", 1)[0].tolist() == ["c"]
    with pytest.raises(InputError, match="node: expected the id of one node, received"):
        neighbors(TRIANGLE, rows, ["a", "b"])


# t-SNE of equal points ends the process; here that of the tests.


def ring(nodes):
    edges = [[i, (i + step) % nodes] for i in range(nodes) for step in (1, 2)]
    return Graph.from_edges(edges, features=np.zeros((nodes, 3)), labels=np.arange(nodes) % 2)


@pytest.mark.parametrize("value", [0.0, 1.0, 1e-30])
def test_equal_embeddings_are_not_drawn(value):
    rows = np.full((60, 4), value) * (1 + np.arange(60)[:, None] % 2 * (value < 1))
    with pytest.raises(InputError, match="embeddings: expected embeddings that differ"):
        plot_embeddings(ring(60), rows)


def test_a_training_whose_embeddings_are_equal_ends(tmp_path):
    config = Config(model="graphsage", dim=4, fanouts=(2,), steps=2, batch_size=8)
    trained = train(ring(120), config, run_dir=tmp_path / "run", progress=False)
    assert trained.steps == 2
    assert not np.ptp(trained.embed(ring(120), walks=1, progress=False), axis=0).any()


@pytest.mark.parametrize(("name", "value"), [("walks", 0), ("walks", 1.5), ("batch_size", -1)])
def test_walks_that_cannot_be_walked_are_refused(name, value):
    model = load_model(trained_run("graphsage") / "encoder/model.keras")
    with pytest.raises(InputError, match=f"embed_{name}: expected"):
        model.embed(make_graph(), **{name: value}, progress=False)


def test_numbers_of_numpy_are_parameters_and_a_text_is_none():
    embedder = NodeEmbedder(dim=np.int64(4), random_state=np.int32(1), steps=np.int64(0))
    assert embedder.fit(make_graph()).trained_.config.dim == 4
    with pytest.raises(InputError, match="options: expected names with values, received 'x'"):
        NodeEmbedder(options="x").fit(make_graph())


def test_a_damaged_study_is_told(tmp_path):
    (tmp_path / "study.db").write_bytes(b"SQLite format 3\0" + RANDOM[:4000])
    with pytest.raises(InputError, match=r"study\.db: expected a study of cade tune, received"):
        tuning._open_study(tmp_path / "study.db", 0)


def test_a_run_that_is_not_finished_is_not_evaluated(tmp_path, capsys):
    shutil.copytree(trained_run(), tmp_path / "run")
    (tmp_path / "run" / "split.npz").unlink()
    assert main(["evaluate", f"--run_dir={tmp_path / 'run'}"]) == 2
    assert "expected a finished run of cade train, with split.npz" in capsys.readouterr().err


def test_ids_that_node_ids_txt_cannot_hold_are_refused_before_the_training(tmp_path, capsys):
    edges = '"a\nb",c\n"a\nb",d\nc,d\n'
    (tmp_path / "edges.csv").write_text("source,target\n" + edges)
    run_dir = tmp_path / "run"
    assert main(["train", f"--graph={tmp_path}/edges.csv", f"--run_dir={run_dir}"]) != 0
    assert "node_ids" in capsys.readouterr().err
    assert not (run_dir / "checkpoints").exists()
