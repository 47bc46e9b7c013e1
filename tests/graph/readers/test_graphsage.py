"""GraphSAGE files: positions, maps, flags, several graphs, and every way to be wrong."""

import json

import numpy as np
import pytest

from cade_tf.errors import InputError
from cade_tf.graph import readers
from cade_tf.graph.readers import node_link
from tests.graph.readers.graphsage_files import write_large


def document(**changes):
    nodes = [
        {"id": "c", "val": False, "test": False},
        {"id": "a", "val": True, "test": False},
        {"id": "b", "val": False, "test": True},
    ]
    links = [{"source": 0, "target": 1}, {"source": 1, "target": 2}, {"source": 2, "target": 2}]
    return {"directed": False, "graph": {}, "nodes": nodes, "links": links} | changes


def write(folder, graph=None, feats=None, id_map=None, class_map=None):
    graph = document() if graph is None else graph
    text = graph if isinstance(graph, (str, bytes)) else json.dumps(graph)
    (folder / "toy-G.json").write_bytes(text if isinstance(text, bytes) else text.encode())
    if feats is not None:
        np.save(folder / "toy-feats.npy", feats)
    for name, value in (("id_map", id_map), ("class_map", class_map)):
        if value is not None:
            (folder / f"toy-{name}.json").write_text(json.dumps(value))
    return folder


@pytest.mark.parametrize("name", [".", "toy-G.json", "toy"])
def test_folder_file_and_prefix_name_the_same_graph(tmp_path, name):
    write(
        tmp_path,
        feats=np.array([[10.0], [11.0], [12.0]]),
        id_map={"a": 0, "b": 1, "c": 2},
        class_map={"a": 4, "b": 2, "c": 4},
    )
    graph = readers.read(tmp_path / name)
    assert graph.node_ids.tolist() == ["c", "a", "b"]
    assert graph.edges().tolist() == [[0, 1], [1, 2]]
    assert graph.report.self_loops == 1
    assert graph.features.ravel().tolist() == [12, 10, 11]
    assert graph.labels.tolist() == [1, 1, 0]
    assert graph.class_names == ("2", "4")
    assert graph.split.tolist() == [0, 1, 2]
    assert graph.name == "toy"


def test_links_are_positions_not_ids(tmp_path):
    nodes = [{"id": 2}, {"id": 0}, {"id": 1}]
    graph = readers.read(write(tmp_path, document(nodes=nodes, links=[{"source": 0, "target": 1}])))
    assert graph.ids[graph.edges()[0]].tolist() == [2, 0]
    assert graph.split is None


def test_features_and_classes_may_be_absent(tmp_path):
    graph = readers.read(write(tmp_path))
    assert graph.features is None
    assert graph.labels is None


def test_lists_of_classes_are_multi_label(tmp_path):
    classes = {"a": [1, 0], "b": [1, 1], "c": [0, 0]}
    graph = readers.read(write(tmp_path, class_map=classes))
    assert graph.labels.tolist() == [[0, 0], [1, 0], [1, 1]]


def test_a_node_without_a_class_has_none(tmp_path):
    assert readers.read(write(tmp_path, class_map={"a": 0, "b": 1})).labels.tolist() == [-1, 0, 1]


def test_several_graphs_are_told_apart_by_their_ranges(tmp_path):
    nodes = [{"id": i} for i in range(9)]
    pairs = [(0, 2), (1, 3), (4, 5), (7, 8)]
    links = [{"source": a, "target": b} for a, b in pairs]
    graph = readers.read(write(tmp_path, document(nodes=nodes, links=links)))
    # 0-2 and 1-3 overlap, so they are one graph; 6 is isolated and stays with what precedes it.
    assert graph.graph_ids.tolist() == [0, 0, 0, 0, 1, 1, 1, 2, 2]


FORMS = {
    "usual": json.dumps,
    "compact": lambda d: json.dumps(d, separators=(",", ":")),
    "indented": lambda d: json.dumps(d, indent=2),
    "target first": lambda d: json.dumps(
        d | {"links": [{"target": e["target"], "source": e["source"]} for e in d["links"]]}
    ),
    "attributes": lambda d: json.dumps(
        d | {"links": [e | {"test_removed": bool(i % 3)} for i, e in enumerate(d["links"])]}
    ),
    "numbers in attributes": lambda d: json.dumps(
        d | {"links": [e | {"weight": 0.5 * i} for i, e in enumerate(d["links"])]}
    ),
    "nested": lambda d: json.dumps(
        d | {"links": [e | {"x": [{"]": "}"}, "ü{"]} for e in d["links"]]}, ensure_ascii=False
    ),
    "links first": lambda d: json.dumps({"links": d["links"]} | d),
    "a deeper key of that name": lambda d: json.dumps({"graph": {"links": [[]]}} | d),
    "one odd link": lambda d: json.dumps(
        d | {"links": [e | ({"odd": 1} if i == 50 else {}) for i, e in enumerate(d["links"])]}
    ),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("block", [16, 100, 1 << 20])
def test_links_are_read_however_they_are_written(tmp_path, monkeypatch, form, block):
    monkeypatch.setattr(node_link, "BLOCK", block)
    pairs = np.random.default_rng(0).integers(0, 1000, (200, 2))
    links = [{"source": int(a), "target": int(b)} for a, b in pairs]
    nodes = [{"id": i} for i in range(1000)]
    content = document(nodes=nodes, links=links)
    content.pop("graph")
    path = tmp_path / "G.json"
    path.write_text(FORMS[form](content), encoding="utf-8")
    result, read = node_link.read_node_link(path)
    np.testing.assert_array_equal(read, pairs)
    assert result["links"] == []
    assert len(result["nodes"]) == 1000


def test_no_links_are_legal(tmp_path):
    graph = readers.read(write(tmp_path, document(links=[])))
    assert (graph.num_nodes, graph.num_edges) == (3, 0)


@pytest.mark.parametrize(
    ("graph", "message"),
    [
        ("", "an empty file"),
        ('{"nodes": [{"id": 0}], "links": [{"source": 0, "targ', "damaged or truncated"),
        ('{"nodes": [{"id": 0}], "links": [', "damaged or truncated"),
        ('{"nodes": [{"id": 0}], "links": [{"source": 0, "target": 0}]', "damaged or truncated"),
        ('{"nodes": [{"id": 0}', "damaged or truncated"),
        ('{"nodes": ' + "[" * 100_000, "damaged or truncated"),
        ('{"nodes": [], "links": [' + "[" * 100_000, "damaged or truncated"),
        ('{"nodes": [], "edges": []}', 'a list "links"'),
        ('{"nodes": [], "links": 3}', 'a list "links"'),
        ('{"nodes": 3, "links": []}', "a list of nodes, received int"),
        ('{"links": []}', "a list of nodes, received NoneType"),
        ('{"nodes": [{"name": 1}], "links": []}', 'objects with an "id"'),
        ('{"nodes": [{"id": [1]}], "links": []}', 'objects with an "id"'),
        ('{"nodes": [{"id": true}], "links": []}', 'objects with an "id"'),
        ('{"nodes": [{"id": 0}, {"id": 0}], "links": []}', "0 more than once"),
        ('{"nodes": [{"id": 0}], "links": [3]}', 'integers "source" and "target"'),
        ('{"nodes": [{"id": 0}], "links": [{"source": 0}]}', 'integers "source"'),
        ('{"nodes": [{"id": 0}], "links": [{"source": 0, "target": "0"}]}', "positions"),
        ('{"nodes": [{"id": 0}], "links": [{"source": 0, "target": 0.5}]}', "positions"),
        ('{"nodes": [{"id": 0}], "links": [{"source": 0, "target": 1e400}]}', "positions"),
        ('{"nodes": [{"id": 0}], "links": [{"source": 0, "target": 5}]}', "from 0 to 0"),
        ('{"nodes": [{"id": 0}], "links": [{"source": 0, "target": -1}]}', "from 0 to 0"),
        (
            '{"nodes": [{"id": 0}], "links": [{"source": 0, "target": 1%s}]}' % ("0" * 30),
            "integers",
        ),
        ('{"nodes": [{"id": "\xe9"}], "links": []}'.encode("latin1"), "damaged or truncated"),
        ('{"links": [], "nodes": [], "x": nul}', "damaged or truncated"),
    ],
)
def test_every_mistake_in_the_graph_is_named(tmp_path, graph, message):
    with pytest.raises(InputError, match=message) as caught:
        readers.read(write(tmp_path, graph))
    assert "toy-G.json" in str(caught.value)


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"feats": np.zeros((2, 4))}, r"feats\.npy: expected at least 3 rows, received 2"),
        ({"feats": np.zeros(3)}, "a matrix of numbers"),
        ({"feats": np.array([["a"], ["b"], ["c"]])}, "a matrix of numbers"),
        ({"feats": np.full((3, 1), np.nan)}, "3 NaN"),
        ({"feats": np.array([[0.0], [np.inf], [0.0]])}, "1 NaN or infinite"),
        ({"id_map": {"a": 0, "b": 1}}, "1 missing, the first 'c'"),
        ({"id_map": {"a": 0, "b": 1, "c": 1}}, "a repeated row"),
        ({"id_map": {"a": 0, "b": 1, "c": "x"}}, "a row number per id"),
        ({"id_map": {"a": 0, "b": 1, "c": -1}}, "a row number per id"),
        ({"id_map": {"a": 0, "b": 1, "c": 9}, "feats": np.zeros((3, 1))}, "at least 10 rows"),
        ({"id_map": [0, 1, 2]}, "a JSON object, received list"),
        ({"class_map": {"x": 1}}, "classes of the ids"),
        ({"class_map": {"a": [0, 1], "b": [1], "c": [0, 0]}}, "one length for every node"),
        ({"class_map": {"a": [0, 1], "b": [1, 1]}}, "one length for every node"),
        ({"class_map": {"a": [0, 2], "b": [1, 1], "c": [1, 1]}}, "0/1 lists"),
        ({"class_map": {"a": [0, "x"], "b": [1, 1], "c": [1, 1]}}, "0/1 lists"),
    ],
)
def test_every_mistake_in_a_companion_is_named(tmp_path, files, message):
    with pytest.raises(InputError, match=message) as caught:
        readers.read(write(tmp_path, **files))
    assert "toy-" in str(caught.value)


def test_truncated_features_are_named(tmp_path):
    write(tmp_path, feats=np.zeros((3, 100)))
    path = tmp_path / "toy-feats.npy"
    path.write_bytes(path.read_bytes()[:500])
    with pytest.raises(
        InputError, match=r"toy-feats\.npy: expected 2,400 bytes of numbers, received 372"
    ):
        readers.read(tmp_path)


def test_pickled_features_are_refused(tmp_path):
    write(tmp_path, feats=np.array([[object()]] * 3))
    with pytest.raises(InputError, match="an array of Python objects"):
        readers.read(tmp_path)


def test_two_graphs_in_a_folder_are_ambiguous(tmp_path):
    write(tmp_path)
    (tmp_path / "other-G.json").write_text("{}")
    with pytest.raises(InputError, match="Give the file itself"):
        readers.read(tmp_path)


def test_a_twentieth_of_reddit_is_read_whole(tmp_path):
    write_large(tmp_path, nodes=11_648, links=580_000, features=60, classes=41)
    graph = readers.read(tmp_path)
    assert (graph.num_nodes, graph.num_features, graph.num_classes) == (11_648, 60, 41)
    assert 570_000 < graph.num_edges < 580_000


def test_links_do_not_become_python_objects(tmp_path):
    """Numbers go from the file to NumPy: a fast block allocates no object per link."""
    import tracemalloc

    write_large(tmp_path, nodes=1000, links=300_000, features=1, classes=2)
    tracemalloc.start()
    node_link.read_node_link(next(tmp_path.glob("*-G.json")))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 300_000 * 16 * 3 + 10 * node_link.BLOCK
