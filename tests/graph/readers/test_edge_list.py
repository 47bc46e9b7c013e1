"""Your own edge list with its tables, and every way they can disagree."""

import gzip
import sys

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

from cade_tf import problems
from cade_tf.errors import InputError
from cade_tf.graph import readers


def read(folder, edges, features=None, labels=None):
    """Writes the given texts, arrays or matrices to files and reads them as a graph."""
    given = {}
    path = folder / "edges.txt"
    path.write_bytes(edges if isinstance(edges, bytes) else edges.encode())
    for name, value in (("features", features), ("labels", labels)):
        if isinstance(value, (str, bytes)):
            given[name] = folder / f"{name}.csv"
            given[name].write_bytes(value if isinstance(value, bytes) else value.encode())
        elif sp.issparse(value):
            given[name] = folder / f"{name}.npz"
            sp.save_npz(given[name], value)
        elif value is not None:
            given[name] = folder / f"{name}.npy"
            np.save(given[name], value)
    return readers.read(path, **given)


@pytest.mark.parametrize(
    "text",
    [
        "10 20\n20 30\n",
        "10\t20\n20\t30",
        "10,20\r\n20,30\r\n",
        "10;20\n20;30\n",
        "10, 20\n20, 30\n",
        "# comment\n\n10 20\n% other\n20 30\n",
        "source,target\n10,20\n20,30\n",
        "a,b\n10,20\n20,30\n",
        "u v\n10 20\n20 30\n",
        "target,source\n20,10\n30,20\n",
        "\ufeff10,20\n20,30\n",
        '"10","20"\n"20","30"\n',
        "10 20\n20 10\n20 30\n30 30\n",
    ],
)
def test_every_way_to_write_it(tmp_path, text):
    graph = read(tmp_path, text)
    assert graph.node_ids.tolist() == [10, 20, 30]
    assert graph.edges().tolist() == [[0, 1], [1, 2]]
    assert graph.edge_weights is None


def test_gzip(tmp_path):
    assert read(tmp_path, gzip.compress(b"a b\nb c\n")).num_edges == 2


def test_string_ids(tmp_path):
    graph = read(tmp_path, 'alice,bob\n"Smith, John",alice\nbob,Żaneta\n')
    assert graph.node_ids.tolist() == ["Smith, John", "alice", "bob", "Żaneta"]
    assert graph.num_edges == 3


def test_a_header_is_not_an_edge_of_string_ids(tmp_path):
    assert read(tmp_path, "source,target\na,b\n").node_ids.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    "text",
    ["0 1 0.5\n1 2 2\n", "source,target,weight\n0,1,0.5\n1,2,2\n", "weight,u,v\n0.5,0,1\n2,1,2\n"],
)
def test_weights(tmp_path, text):
    assert read(tmp_path, text).edge_weights.tolist() == [0.5, 0.5, 2, 2]


def test_weights_of_string_ids(tmp_path):
    assert read(tmp_path, "a b 0.5\nb c 2\n").edge_weights.tolist() == [0.5, 0.5, 2, 2]


@pytest.mark.parametrize("third", ["99", "friend"])
def test_a_column_of_another_name_is_no_weight_and_is_noted(tmp_path, third):
    graph = read(tmp_path, f"source,target,type\n0,1,{third}\n1,2,{third}\n")
    assert graph.edge_weights is None
    assert graph.edges().tolist() == [[0, 1], [1, 2]]
    (note,) = graph.notes
    assert "edges.txt: the column 'type' is not read" in note


PAIRS = np.array([[5, 7], [7, 6], [6, 9], [9, 5]])


@pytest.mark.parametrize("columns", [[0, 1], ["source", "target"], ["a", "b"], ["to", "from"]])
def test_the_index_of_pandas_is_no_column_of_ids(tmp_path, columns):
    pd.DataFrame(PAIRS, columns=columns).to_csv(tmp_path / "e.csv")
    graph = readers.read(tmp_path / "e.csv")
    assert graph.ids.tolist() == [5, 6, 7, 9]
    ends = {frozenset(pair) for pair in graph.ids[graph.edges()].tolist()}
    assert ends == {frozenset(pair) for pair in PAIRS.tolist()}


@pytest.mark.parametrize("start", [0, 1])
@pytest.mark.parametrize("header", ["", "number,a,b\n"])
def test_a_first_column_that_counts_the_lines_is_refused(tmp_path, start, header):
    for line in ("{},{},{}\n", '"{}",{},{}\n'):
        lines = [line.format(start + i, a, b) for i, (a, b) in enumerate(PAIRS)]
        with pytest.raises(InputError, match=r"counts the lines.*index=False"):
            read(tmp_path, header + "".join(lines))


def test_columns_that_pandas_numbers_are_doubted(tmp_path):
    pd.DataFrame(PAIRS).to_csv(tmp_path / "e.csv", index=False)
    (note,) = readers.read(tmp_path / "e.csv").notes
    assert "the first line, 0,1, joins two nodes that occur nowhere else" in note
    assert read(tmp_path, "0,1\n1,2\n2,3\n3,0\n").notes == ()


def test_weights_of_a_path_are_still_read(tmp_path):
    text = "0 1 0.5\n1 2 2\n2 3 1\n"
    assert read(tmp_path, text).edge_weights.tolist() == [0.5, 0.5, 2, 2, 1, 1]
    named = "source,target,weight\n0,1,5\n1,2,2\n2,3,1\n"
    assert read(tmp_path, named).edge_weights.tolist() == [5, 5, 2, 2, 1, 1]


@pytest.mark.parametrize("none", ["-1", "", "nan", "NaN", "-1.0"])
def test_no_label_is_written_in_many_ways(tmp_path, none):
    graph = read(tmp_path, "0 1\n1 2\n", labels=f"id,class\n0,2\n1,{none}\n2,10\n")
    assert graph.labels.tolist() == [0, -1, 1]
    assert graph.class_names == ("2", "10")


@pytest.mark.parametrize("labels", ["label\nred\nblue\n", "kind\n4\n7\n"])
def test_one_column_of_labels_with_a_header(tmp_path, labels):
    graph = read(tmp_path, "0 1\n", features=np.eye(2), labels=labels)
    assert sorted(graph.labels.tolist()) == [0, 1]


def test_ids_in_a_column_of_their_own_count_and_not_the_index_before_them(tmp_path):
    (tmp_path / "e.csv").write_text("a,b\nb,c\n")
    nodes = pd.DataFrame({"x": [1.0, 2.0, 3.0], "node": ["c", "b", "a"]})
    nodes.to_csv(tmp_path / "f.csv")
    pd.DataFrame({"node": ["a", "b", "c"], "class": [0, 1, 0]}).to_csv(tmp_path / "l.csv")
    tables = {"features": tmp_path / "f.csv", "labels": tmp_path / "l.csv"}
    graph = readers.read(tmp_path / "e.csv", **tables)
    assert graph.ids.tolist() == ["c", "b", "a"]
    assert graph.features.tolist() == [[1.0], [2.0], [3.0]]
    assert graph.feature_names == ("x",)
    assert graph.labels.tolist() == [0, 1, 0]


def test_tables_of_pandas_with_their_index(tmp_path):
    pd.DataFrame(np.eye(2), index=["b", "a"]).to_csv(tmp_path / "f.csv")
    pd.Series(["red", "blue"], index=["b", "a"]).to_csv(tmp_path / "l.csv")
    (tmp_path / "e.csv").write_text("a,b\n")
    graph = readers.read(tmp_path / "e.csv", features=tmp_path / "f.csv", labels=tmp_path / "l.csv")
    assert graph.ids.tolist() == ["b", "a"]
    assert graph.features.tolist() == [[1, 0], [0, 1]]
    assert graph.labels.tolist() == [1, 0]


@pytest.mark.parametrize(
    "array",
    [
        PAIRS,
        PAIRS.T,
        PAIRS.astype(float),
        PAIRS.astype("u1"),
        PAIRS.astype(str),
        np.column_stack([PAIRS, np.full(4, 2)]),
    ],
)
def test_edges_in_an_npy(tmp_path, array):
    np.save(tmp_path / "edges.npy", array)
    graph = readers.read(tmp_path / "edges.npy")
    assert graph.ids.tolist() == [5, 6, 7, 9]
    assert graph.num_edges == 4
    assert (graph.edge_weights is None) == (array.shape[-1] != 3)


@pytest.mark.parametrize(
    ("array", "message"),
    [
        (np.zeros((2, 3), int), "two weighted edges or three plain ones"),
        (np.zeros((4, 5), int), r"ids \[edges, 2\]"),
        (np.full((4, 2), 0.5), "integers or strings, received 0.5"),
        (np.full((4, 2), np.nan), "an id in every row, received none"),
        (np.zeros(4, int), r"ids \[edges, 2\]"),
    ],
)
def test_another_npy_is_refused(tmp_path, array, message):
    np.save(tmp_path / "edges.npy", array)
    with pytest.raises(InputError, match=rf"edges\.npy: .*{message}"):
        readers.read(tmp_path / "edges.npy")


@pytest.mark.parametrize("index", [None, ["c", "a", "b"]])
def test_parquet(tmp_path, index):
    ids = index or [0, 1, 2]
    edges = {"kind": [1, 2], "source": [ids[1], ids[2]], "target": [ids[2], ids[0]]}
    pd.DataFrame(edges).to_parquet(tmp_path / "e.parquet")
    features = pd.DataFrame({"x": [3.0, 1.0, 2.0], "y": [0, 1, 0]}, index=index)
    features.to_parquet(tmp_path / "f.parquet")
    pd.DataFrame({"id": ids, "label": ["r", None, "b"]}).to_parquet(tmp_path / "l.parquet")
    graph = readers.read(
        tmp_path / "e.parquet",
        features=tmp_path / "f.parquet",
        labels=tmp_path / "l.parquet",
    )
    assert graph.ids.tolist() == ids
    assert graph.has_given_ids == (index is not None)
    assert graph.features[:, 0].tolist() == [3, 1, 2]
    assert graph.feature_names == ("x", "y")
    assert graph.labels.tolist() == [1, -1, 0]
    assert graph.edges().tolist() == [[0, 2], [1, 2]]
    assert "'kind' is not read" in graph.notes[0]


def test_parquet_without_pyarrow_is_named(tmp_path, monkeypatch):
    pd.DataFrame({"a": [0], "b": [1]}).to_parquet(tmp_path / "e.parquet")
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(InputError, match=r'pip install "cade_tf\[parquet\]"'):
        readers.read(tmp_path / "e.parquet")


BLAMED = {
    "edges.txt": [("0 1 -1\n", np.eye(2), None), ("0 5\n", np.eye(2), None)],
    "features.npy": [("0 1\n", np.full((2, 2), np.nan), None), ("0 1\n", np.zeros(3), None)],
    "labels.csv": [
        ("0 1\n", np.eye(2), "red\nblue\ngreen\n"),
        ("0 1\n", np.eye(2), "0,red\n7,blue\n"),
    ],
    "labels.npy": [("0 1\n", np.eye(2), np.zeros(5, int))],
}


@pytest.mark.parametrize(
    ("file", "given"), [(file, given) for file, cases in BLAMED.items() for given in cases]
)
def test_an_error_blames_the_right_file(tmp_path, file, given):
    with pytest.raises(InputError) as caught:
        read(tmp_path, *given)
    assert f"{tmp_path}/{file}" in caught.value.argument


@pytest.mark.parametrize("name", ["features", "labels"])
def test_a_missing_table_is_called_by_its_flag(tmp_path, name):
    (tmp_path / "e.csv").write_text("a,b\n")
    with pytest.raises(InputError, match=f"^{name}: expected an existing file, received .*gone"):
        readers.read(tmp_path / "e.csv", **{name: tmp_path / "gone.csv"})


def test_ids_that_are_rows_of_a_matrix_were_not_given(tmp_path):
    assert not read(tmp_path, "0 1\n", features=np.eye(2)).has_given_ids
    assert read(tmp_path, "0 1\n").has_given_ids


def test_a_matrix_of_features_makes_ids_positions(tmp_path):
    graph = read(tmp_path, "0 2\n", features=np.arange(8.0).reshape(4, 2))
    assert graph.num_nodes == 4
    assert graph.features[2].tolist() == [4, 5]
    assert graph.edges().tolist() == [[0, 2]]


def test_sparse_features(tmp_path):
    graph = read(tmp_path, "0 2\n", features=sp.csr_array(np.eye(3)))
    assert sp.issparse(graph.features)


def test_dense_npz_features(tmp_path):
    (tmp_path / "e.txt").write_text("0 1\n")
    np.savez(tmp_path / "f.npz", x=np.eye(2))
    graph = readers.read(tmp_path / "e.txt", features=tmp_path / "f.npz")
    assert graph.features.tolist() == [[1, 0], [0, 1]]


def test_a_table_with_ids_orders_the_nodes(tmp_path):
    graph = read(
        tmp_path,
        "x y\ny z\n",
        features="id,height,width\nz,1,2\ny,3,4\nx,5,6\nlonely,7,8\n",
        labels="id,class\nx,red\nz,blue\n",
    )
    assert graph.node_ids.tolist() == ["z", "y", "x", "lonely"]
    assert graph.features.tolist() == [[1, 2], [3, 4], [5, 6], [7, 8]]
    assert graph.feature_names == ("height", "width")
    assert graph.class_names == ("blue", "red")
    assert graph.labels.tolist() == [0, -1, 1, -1]
    assert graph.edges().tolist() == [[0, 1], [1, 2]]


def test_integer_ids_written_in_two_ways_are_one_node(tmp_path):
    graph = read(tmp_path, "1 2\n", features="01,5\n02,6\n")
    assert graph.node_ids.tolist() == [1, 2]
    assert graph.num_edges == 1


def test_labels_bring_isolated_nodes(tmp_path):
    graph = read(tmp_path, "1 2\n", labels="3,a\n1,b\n2,a\n")
    assert graph.node_ids.tolist() == [1, 2, 3]
    assert graph.labels.tolist() == [1, 0, 0]


def test_multi_labels(tmp_path):
    labels = "id,red,round\n0,1,1\n1,0,1\n2,0,0\n"
    graph = read(tmp_path, "0 1\n1 2\n", labels=labels)
    assert graph.labels.tolist() == [[1, 1], [0, 1], [0, 0]]
    assert graph.class_names == ("red", "round")


@pytest.mark.parametrize("labels", ["red\nblue\nred\n", np.array([1, 0, 1])])
def test_labels_without_ids_are_in_order(tmp_path, labels):
    graph = read(tmp_path, "0 1\n", features=np.eye(3), labels=labels)
    assert graph.labels.tolist() == [1, 0, 1]


MISTAKES = {
    "an empty file": ("", None, None),
    "a line per edge, received none": ("# nothing\n", None, None),
    "only a header": ("source,target\n", None, None),
    "two ids in each line": ("alone\n", None, None),
    "Name the columns": ("1 2 3 4\n", None, None),
    "line 2: expected 2 fields, received 1": ("a b\nc\n", None, None),
    "line 3: expected 2 fields, received 3": ("1 2\n2 3\n3 4 5\n", None, None),
    "line 2: expected an id": ("a,b\n,c\n", None, None),
    "line 2: expected a number as weight, received 'heavy'": ("1 2 0.5\n2 3 heavy\n", None, None),
    "edge_weights: expected finite numbers above 0": ("1 2 -1\n", None, None),
    "edge_weights: expected finite numbers": ("1 2 nan\n", None, None),
    "line 2: expected text in UTF-8, received byte 0xe9": (
        "a b\ncaf\xe9 b\n".encode("latin1"),
        None,
        None,
    ),
    "a damaged one": (gzip.compress(b"a b\n" * 100)[:-10], None, None),
    "the ids of the 2 nodes.*received '2'": ("0 2\n", np.eye(2), None),
    "the ids of the 2 nodes.*received 'x'": ("0 x\n", np.eye(2), None),
    "the ids of the 1 nodes.*received 'b'": ("a b\n", "a,1\n", None),
    "'a' more than once": ("a b\n", "a,1\na,2\nb,3\n", None),
    "line 2: expected 3 fields, received 2": ("a b\n", "a,1,2\nb,1\n", None),
    "data line 2 .id b.: expected numbers, received 'tall'": ("a b\n", "a,1\nb,tall\n", None),
    "1 NaN or infinite": ("a b\n", "a,1\nb,nan\n", None),
    r"features\.csv: expected an id and numbers": ("a b\n", "a\nb\n", None),
    r"features\.csv.*an empty file": ("a b\n", "", None),
    r"features\.csv.*only a header": ("a b\n", "id,x\n", None),
    r"features\.npy: expected a matrix of numbers": ("0 1\n", np.zeros(2), None),
    r"labels\.csv.*'z'": ("a b\n", "a,1\nb,2\n", "z,red\n"),
    r"labels\.csv.*'a' more than once": ("a b\n", None, "a,red\na,blue\nb,red\n"),
    "an id and a 0/1 column|0/1 column per class": ("a b\n", None, "a,1,2\nb,0,1\n"),
    r"labels\.csv.*all 2 nodes": ("a b\n", None, "a,1,1\n"),
    r"labels\.npy, labels: expected 2 labels": ("0 1\n", np.eye(2), np.zeros(3, int)),
    "labels: expected integers or names": ("0 1\n", np.eye(2), np.array([0.5, 1])),
    "labels.csv, line 1: expected text in UTF-8": ("a b\n", None, b"a,\xff\n"),
}


@pytest.mark.parametrize("message", MISTAKES)
def test_every_mistake_is_named(tmp_path, message):
    with pytest.raises(InputError, match=message):
        read(tmp_path, *MISTAKES[message])


def test_a_damaged_npz_of_features_is_named(tmp_path):
    (tmp_path / "e.txt").write_text("0 1\n")
    (tmp_path / "f.npz").write_bytes(b"PK\x03\x04 and no more")
    with pytest.raises(InputError, match=r"f\.npz: expected an npz file, received damaged"):
        readers.read(tmp_path / "e.txt", features=tmp_path / "f.npz")


def test_an_ambiguous_npz_of_features_is_named(tmp_path):
    (tmp_path / "e.txt").write_text("0 1\n")
    np.savez(tmp_path / "f.npz", a=np.eye(2), b=np.eye(2))
    with pytest.raises(InputError, match=r"one matrix, dense or saved.*received a \(2, 2\), b"):
        readers.read(tmp_path / "e.txt", features=tmp_path / "f.npz")


def test_all_mistakes_are_found_at_once(tmp_path):
    with problems.collected() as found:
        read(
            tmp_path,
            "a b -1\na z 1\n",
            features="a,1\nb,nan\n",
            labels="a,red\nq,blue\n",
        )
    text = "\n".join(map(str, found))
    assert len(found) == 4
    for expected in ("'z'", "'q'", "1 NaN", "edge_weights"):
        assert expected in text


def test_a_large_list_is_read_whole(tmp_path):
    pairs = np.random.default_rng(0).integers(0, 20_000, (300_000, 2))
    np.savetxt(tmp_path / "edges.txt", pairs, fmt="%d")
    graph = readers.read(tmp_path / "edges.txt")
    assert graph.num_nodes == 20_000
