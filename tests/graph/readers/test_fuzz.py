"""Whatever bytes a reader meets, it gives a graph or an InputError, nothing else."""

import collections
import functools
import json
import pickle
import tempfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from cade_tf.errors import InputError
from cade_tf.graph import readers
from cade_tf.graph.graph import Graph

json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)
relaxed = settings(
    max_examples=80, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large]
)


def survives(files: dict[str, bytes], path: str, **options) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name, content in files.items():
            (Path(folder) / name).write_bytes(content)
        options = {k: Path(folder) / v if k != "format" else v for k, v in options.items()}
        try:
            graph = readers.read(Path(folder) / path, **options)
        except InputError:
            return
        assert isinstance(graph, Graph)


@functools.cache
def valid(kind: str) -> dict[str, bytes]:
    """A good file of each kind, to be damaged."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x"
        adjacency = sp.csr_matrix(np.array([[0, 1], [1, 0]], np.float32))
        if kind == "cade":
            Graph.from_edges([[0, 1]], features=np.eye(2), labels=[0, 1]).save(path)
        elif kind == "matlab":
            with open(path, "wb") as file:
                variables = {"Network": adjacency, "Label": np.array([[1], [2]])}
                scipy.io.savemat(file, variables, do_compression=True)
        elif kind == "gnn_benchmark":
            members = {n: getattr(adjacency, n) for n in ("data", "indices", "indptr", "shape")}
            members = {f"adj_{n}": np.asarray(v) for n, v in members.items()}
            with open(path, "wb") as file:
                np.savez(file, labels=np.array(["a", "b"], object), **members)
        elif kind == "edge_list":
            path.write_bytes(b"source,target,weight\n1,2,0.5\nx,2,1\n")
        return {"x": path.read_bytes()}


@pytest.mark.parametrize("kind", ["cade", "matlab", "gnn_benchmark", "edge_list"])
@relaxed
@given(data=st.data())
def test_damaged_files(kind, data):
    content = bytearray(valid(kind)["x"])
    for _ in range(data.draw(st.integers(1, 4))):
        position = data.draw(st.integers(0, len(content) - 1))
        content[position] = data.draw(st.integers(0, 255))
    if data.draw(st.booleans()):
        content = content[: data.draw(st.integers(0, len(content)))]
    survives({"x": bytes(content)}, "x")
    survives({"x": bytes(content)}, "x", format=kind)


@relaxed
@given(st.binary(max_size=200))
def test_any_bytes_in_every_format(content):
    for kind in readers.FORMATS:
        survives({"ind.x.graph": content, "x-G.json": content}, "x-G.json", format=kind)
    survives({"any": content}, "any")


@relaxed
@given(st.binary(max_size=200) | st.text(alphabet='01-.,;\t\n "#ab', max_size=80).map(str.encode))
@example(b"1,2\n3")
@example(b'"1","2\n')
@example(b"1 99999999999999999999\n")
@example(b"nan nan\n")
def test_any_text_as_edges_features_and_labels(content):
    survives({"e": content}, "e", format="edge_list")
    survives({"e": b"0 1\n", "f": content}, "e", format="edge_list", features="f")
    survives({"e": b"0 1\n", "f": content}, "e", format="edge_list", labels="f")


@relaxed
@given(nodes=json_values, links=json_values, id_map=json_values, class_map=json_values)
@example(nodes=[{"id": 0}], links=[{"source": 0, "target": True}], id_map={}, class_map={})
@example(nodes=[{"id": "0"}], links=[], id_map={"0": 2**70}, class_map={"0": 2**70})
@example(nodes=[{"id": 2**70}], links=[], id_map={str(2**70): 0}, class_map={str(2**70): [2**70]})
@example(nodes=[{"id": "\ud800"}], links=[], id_map={}, class_map={})
def test_any_json(nodes, links, id_map, class_map):
    document = {"nodes": nodes, "links": links}
    files = {
        "x-G.json": json.dumps(document).encode(),
        "x-id_map.json": json.dumps(id_map).encode(),
        "x-class_map.json": json.dumps(class_map).encode(),
    }
    survives(files, "x-G.json")


@relaxed
@given(data=st.data())
def test_nearly_right_json(data):
    ids = data.draw(st.lists(st.integers(0, 3) | st.sampled_from("ab"), max_size=4))
    end = st.integers(-1, 5)
    links = data.draw(st.lists(st.tuples(end, end), max_size=5))
    document = {
        "nodes": [{"id": i, "val": data.draw(json_values)} for i in ids],
        "links": [{"source": a, "target": b} for a, b in links],
    }
    text = json.dumps(document).encode()
    cut = data.draw(st.integers(0, len(text)))
    labels = {str(i): data.draw(st.integers(-3, 3) | st.lists(st.integers(0, 1))) for i in ids}
    survives({"x-G.json": text, "x-class_map.json": json.dumps(labels).encode()}, "x-G.json")
    survives({"x-G.json": text[:cut]}, "x-G.json")


@relaxed
@given(data=st.data())
def test_damaged_pickles(data):
    parts = {
        "allx": sp.csr_matrix(np.eye(3, dtype=np.float32)),
        "ally": np.eye(3, dtype=np.int32),
        "tx": sp.csr_matrix(np.eye(1, 3, dtype=np.float32)),
        "ty": np.eye(1, 3, dtype=np.int32),
        "graph": collections.defaultdict(list, {0: [1], 1: [0, 3]}),
    }
    files = {f"ind.x.{name}": pickle.dumps(value, 2) for name, value in parts.items()}
    files["ind.x.test.index"] = b"3\n"
    name = data.draw(st.sampled_from(sorted(files)))
    content = bytearray(files[name])
    for _ in range(data.draw(st.integers(1, 3))):
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    files[name] = bytes(content[: data.draw(st.integers(0, len(content)))])
    survives(files, "ind.x")
