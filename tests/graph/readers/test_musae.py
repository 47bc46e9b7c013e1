"""MUSAE's folders, alone and several at once."""

import json

import numpy as np
import pytest

from cade_tf.errors import InputError
from cade_tf.graph import readers
from cade_tf.graph.datasets import load_dataset
from tests.graph.real_data import DATA_DIR, needs

TARGET = "id,days,mature,new_id\n900,1,True,1\n901,2,False,0\n902,3,True,2\n"


def write(folder, prefix="", edges="from,to\n0,1\n1,2\n", features=None, target=TARGET):
    folder.mkdir(parents=True, exist_ok=True)
    lists = {"2": [4, 4, 0], "0": [1], "1": []} if features is None else features
    (folder / f"{prefix}edges.csv").write_text(edges)
    (folder / f"{prefix}features.json").write_text(json.dumps(lists))
    (folder / f"{prefix}target.csv").write_text(target)
    return folder


@pytest.mark.parametrize("prefix", ["", "musae_DE_"])
def test_one_graph(tmp_path, prefix):
    graph = readers.read(write(tmp_path / "DE", prefix))
    assert graph.name == "DE"
    assert graph.ids.tolist() == [0, 1, 2]
    assert graph.edges().tolist() == [[0, 1], [1, 2]]
    assert graph.features.toarray().tolist() == [[0, 1, 0, 0, 0], [0] * 5, [1, 0, 0, 0, 1]]
    assert graph.class_names == ("False", "True")
    assert graph.labels.tolist() == [0, 1, 1]
    assert graph.has_given_ids


def test_several_graphs_at_once(tmp_path):
    write(tmp_path / "DE")
    write(tmp_path / "FR", features={"0": [9], "1": [], "2": [0]})
    graph = readers.read(tmp_path)
    assert graph.graph_ids.tolist() == [0, 0, 0, 1, 1, 1]
    assert graph.ids.tolist()[::3] == ["DE/0", "FR/0"]
    assert graph.num_features == 10


def test_graphs_next_to_each_other_have_the_same_features(tmp_path):
    """Or what was trained on one could not embed the other."""
    write(tmp_path / "DE")
    write(tmp_path / "FR", features={"0": [9], "1": [], "2": [0]})
    write(tmp_path / "other", features={"0": [99]}, edges="0,0\n", target="id,target\n0,1\n")
    assert readers.read(tmp_path / "DE").num_features == 10


def test_a_repeated_row_that_agrees_is_no_mistake(tmp_path):
    graph = readers.read(write(tmp_path / "FR", target=TARGET + "950,9,True,2\n"))
    assert graph.labels.tolist() == [0, 1, 1]


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"target": TARGET + "9,1,False,2\n"}, r"target\.csv, line 5: expected one class"),
        ({"target": TARGET + "9,1,False,7\n"}, r"target\.csv.*received '?7"),
        ({"target": "id,days\n0,1\n"}, r"target\.csv: expected a column mature or ml_target"),
        ({"target": TARGET + "9,1\n"}, r"target\.csv, line 5: expected 4 fields"),
        ({"edges": "from,to\n0,8\n"}, r"edges\.csv: expected the 3 nodes.*received 8"),
        ({"features": {"0": [-1]}}, r"features\.json, node '0'"),
        ({"features": {"0": "x"}}, r"features\.json, node '0'"),
        ({"features": [1]}, r"features\.json: expected a JSON object"),
    ],
)
def test_every_mistake_is_named(tmp_path, changes, message):
    with pytest.raises(InputError, match=message):
        readers.read(write(tmp_path / "DE", **changes))


@needs("twitch")
def test_twitch():
    graph = load_dataset("twitch")
    assert (graph.num_nodes, graph.num_edges) == (36890, 492575)
    assert (graph.num_features, graph.features.nnz) == (3170, 738383)
    assert np.bincount(graph.graph_ids).tolist() == [9498, 7126, 4648, 6549, 1912, 4385, 2772]
    assert graph.class_names == ("False", "True")
    assert (graph.labels >= 0).all()


@needs("twitch")
def test_one_of_twitch_has_the_features_of_all():
    graph = readers.read(f"{DATA_DIR}/twitch/PTBR")
    assert (graph.num_nodes, graph.num_edges, graph.num_features) == (1912, 31299, 3170)
