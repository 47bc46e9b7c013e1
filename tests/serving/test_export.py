"""SavedModels answer in a process that has TensorFlow only, as the library does here."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.graph.graph import Graph
from cade_tf.inference.on_demand import embed_nodes
from cade_tf.inference.pairs import embed_pair
from cade_tf.models import CadeMS
from cade_tf.serving import export
from cade_tf.serving.encoder_module import EncoderModule
from cade_tf.serving.export import export_model
from cade_tf.serving.graph_module import GraphModule
from cade_tf.serving.model_card import model_card
from tests import engine
from tests.serving import serving_examples as examples

ASKER = Path(__file__).with_name("answer_requests.py")
EXAMPLES = {
    "cade_ms": examples.pairs_graph(strings=True),
    "cade_ma": examples.pairs_graph(sparse=True, weighted=True),
}
LARGE = 500_000


def ask(requests, folder):
    """Answers of a fresh process to (folder, signature, inputs[, by default])."""
    plain = [
        {
            "folder": str(place),
            "signature": signature,
            "by_default": bool(rest),
            "inputs": {
                name: {
                    "value": _plain(tensor),
                    "dtype": tensor.dtype.name,
                    "shape": tensor.shape.as_list(),
                }
                for name, tensor in inputs.items()
            },
        }
        for place, signature, inputs, *rest in requests
    ]
    (folder / "requests.json").write_text(json.dumps(plain))
    command = [sys.executable, str(ASKER), "requests.json", "answers.json"]
    done = subprocess.run(command, cwd=folder, env=_environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "custom gradients" not in done.stderr
    return json.loads((folder / "answers.json").read_text())


def _plain(tensor):
    return [v.decode() if isinstance(v, bytes) else v for v in tensor.numpy().ravel().tolist()]


def _environment():
    # Away from the repository, whose path pytest has put among the imports.
    return {k: v for k, v in os.environ.items() if k != "PYTHONPATH"}


@pytest.fixture(scope="module")
def models():
    return {name: examples.make_model(name, graph) for name, graph in EXAMPLES.items()}


@pytest.fixture(scope="module")
def modules(models):
    return {name: GraphModule(models[name], graph, walks=2) for name, graph in EXAMPLES.items()}


@pytest.fixture(scope="module")
def answered(models, tmp_path_factory):
    """Exports that were moved after writing, all requests and the fresh process's answers."""
    folder = tmp_path_factory.mktemp("exports")
    requests = []
    for name, graph in EXAMPLES.items():
        written = export_model(models[name], folder / "before" / name, graph=graph, walks=2)
        assert written == folder / "before" / name / "1"
    os.rename(folder / "before", folder / "moved")
    for name, graph in EXAMPLES.items():
        good = examples.requests(graph, models[name])
        place = folder / "moved" / name / "1"
        requests += [(place, signature, inputs) for signature, inputs in good.items()]
        for what, signature, inputs, _ in mistakes(graph, good):
            # Through a signature TensorFlow compares types itself, and counts inputs: "#0".
            by_default = ["by default"] if what == "wrong type" else []
            requests.append((place, signature, inputs, *by_default))
        seedless = {"node_ids": examples.ids(graph, 0, 10)}
        requests.append((place, "serving_default", seedless, "by default"))
    answers = ask(requests, folder)
    return folder, {
        (str(place), signature, _key(inputs)): answer
        for (place, signature, inputs, *_), answer in zip(requests, answers["answers"], strict=True)
    }


def _key(inputs):
    return tuple((name, str(tensor.numpy().tolist())) for name, tensor in sorted(inputs.items()))


def answer_of(answered, name, signature, inputs):
    folder, answers = answered
    return answers[str(folder / "moved" / name / "1"), signature, _key(inputs)]


def mistakes(graph, good):
    """(what is wrong, signature, inputs, what the error says)."""
    kind = tf.string if examples.strings(graph) else tf.int64

    def unknown(count):
        return tf.constant((["nobody"] if kind == tf.string else [12345]) * count, kind)

    def changed(what, signature, message, **inputs):
        return what, signature, {**good[signature], **inputs}, message

    def splits(what, numbers, message):
        values = tf.constant(numbers, tf.int64)
        message = f"neighbor_row_splits: expected {message}"
        return changed(what, "embed_new", message, neighbor_row_splits=values)

    features, hops = good["embed_new"]["features"], good["encode_tree"]
    known, fewer = "serving_default", examples.ids(graph, 1)
    return [
        changed("unknown id", known, "node_ids: .*unknown", node_ids=unknown(1)),
        changed("wrong type", known, "node_ids", node_ids=tf.constant([0.5])),
        changed("a matrix", known, "node_ids: expected the shape", node_ids=fewer[None]),
        changed("partner", "embed_pair", "partner_ids: .*unknown", partner_ids=unknown(2)),
        changed("fewer", "embed_pair", "partner_ids: expected as many", partner_ids=fewer),
        changed("neighbour", "embed_new", "neighbor_ids: .*unknown", neighbor_ids=unknown(3)),
        splits("too short", [0, 3], "one number more"),
        splits("beyond the end", [0, 2, 2, 4], "the number of neighbor_ids"),
        splits("not from 0", [1, 2, 2, 3], "0 first"),
        splits("descending", [0, 3, 2, 3], "ascending"),
        changed("narrow", "embed_new", "features: .* the shape", features=features[:, 1:]),
        changed("infinite", "embed_new", "features: .* finite", features=features * np.inf),
        changed("narrow", "encode_tree", "hop_2: .* the shape", hop_2=hops["hop_2"][..., 1:]),
        changed("fewer", "encode_tree", "hop_0: .* as many trees", hop_0=hops["hop_0"][:1]),
    ]


SIGNATURES = (
    "serving_default", "embed_new", "embed_pair", "encode_tree", "encode_tree_with_bias",
    "attend_pair",
)  # fmt: skip


@pytest.mark.parametrize("signature", SIGNATURES)
@pytest.mark.parametrize("name", list(EXAMPLES))
def test_a_fresh_process_answers_as_the_library(answered, modules, name, signature):
    inputs = examples.requests(EXAMPLES[name], modules[name].model)[signature]
    got = answer_of(answered, name, signature, inputs)
    want = modules[name].functions[signature](**inputs)
    assert got.keys() == want.keys()
    for output, value in want.items():
        np.testing.assert_allclose(got[output], value, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_signatures_equal_the_functions_of_the_python_api(answered, models, name):
    graph, model = EXAMPLES[name], models[name]
    inputs = examples.requests(graph, model)
    got = answer_of(answered, name, "serving_default", inputs["serving_default"])["embeddings"]
    nodes = tf.constant([10, 0, 7, 7], tf.int64)
    want = embed_nodes(model, model.tables(graph), nodes, 3, walks=2, walk_length=3)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)
    pair = embed_pair(model, graph, graph.ids[9], graph.ids[10], seed=3)
    got = answer_of(answered, name, "embed_pair", inputs["embed_pair"])
    np.testing.assert_allclose(got["attention"][1], pair.attention, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(got["node_embeddings"][1], pair.vectors[0], rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("number", range(14))
@pytest.mark.parametrize("name", list(EXAMPLES))
def test_a_mistake_in_a_request_is_an_error_that_names_the_input(answered, models, name, number):
    graph = EXAMPLES[name]
    good = examples.requests(graph, models[name])
    what, signature, inputs, message = mistakes(graph, good)[number]
    answer = answer_of(answered, name, signature, inputs)
    assert set(answer) == {"error"}, what
    assert re.search(message, answer["error"]), answer["error"]


def test_requests_without_a_seed_get_the_default(answered, modules):
    inputs = {"node_ids": examples.ids(EXAMPLES["cade_ms"], 0, 10)}
    got = answer_of(answered, "cade_ms", "serving_default", inputs)["embeddings"]
    functions = modules["cade_ms"].functions
    want = functions["serving_default"](**inputs, seed=tf.constant(0, tf.int64))["embeddings"]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_the_tool_of_tensorflow_shows_and_runs_an_export(answered, models):
    place = str(answered[0] / "moved" / "cade_ma" / "1")
    common = ["--dir", place, "--tag_set", "serve"]
    shown = _tool("show", *common, "--signature_def", "embed_new")
    for name in ("features", "neighbor_row_splits", "neighbor_ids", "neighbor_weights", "seed"):
        assert f"inputs['{name}']" in shown
    first, last = EXAMPLES["cade_ma"].ids[[0, 10]]
    ran = _tool(
        "run", *common, "--signature_def", "serving_default",
        "--input_exprs", f"node_ids=[{first},{last}]",
    )  # fmt: skip
    assert "Result for output key embeddings" in ran


def _tool(*arguments):
    command = [sys.executable, "-m", "tensorflow.python.tools.saved_model_cli", *arguments]
    done = subprocess.run(command, env=_environment(), capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def large():
    """A model and a graph of half a million nodes."""
    graph = Graph.from_edges(
        np.stack([np.arange(LARGE), (np.arange(LARGE) * 7 + 1) % LARGE], axis=1),
        features=np.random.default_rng(0).normal(size=(LARGE, 4)).astype(np.float32),
    )
    model = engine.prepared_model("cade_gb", graph, walk_length=2, dim=4, fanouts=(3, 2))
    return model, graph


def test_the_graph_of_operations_does_not_grow_with_the_graph(large, tmp_path):
    model, graph = large
    version = export_model(model, tmp_path, graph=graph, walks=2)
    assert (version / "saved_model.pb").stat().st_size < 2 * 2**20
    loaded = tf.saved_model.load(str(version))
    nodes = tf.constant([LARGE - 1, 5], tf.int64)
    got = loaded.signatures["serving_default"](node_ids=nodes, seed=tf.constant(1, tf.int64))
    want = embed_nodes(model, model.tables(graph), nodes, 1, walks=2, walk_length=2)
    np.testing.assert_allclose(got["embeddings"], want, rtol=1e-5, atol=1e-5)


def test_an_export_without_graph_is_as_small_for_any_graph(large, models, tmp_path):
    version = export_model(large[0], tmp_path)
    size = sum(path.stat().st_size for path in version.rglob("*"))
    assert size < 2**20
    loaded = tf.saved_model.load(str(version))
    assert sorted(loaded.signatures) == ["attend_pair", "encode_tree", "encode_tree_with_bias"]
    hops = [tf.ones([5, 4]), tf.ones([5, 3, 4]), tf.ones([5, 3, 2, 4])]
    named = {f"hop_{number}": hop for number, hop in enumerate(hops)}
    got = loaded.signatures["encode_tree"](**named)["embeddings"]
    want = EncoderModule(large[0]).functions["encode_tree"](*hops)["embeddings"]
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5)


def test_versions_count_up_and_a_failed_export_leaves_nothing(models, tmp_path, monkeypatch):
    model = examples.make_model("graphsage", EXAMPLES["cade_ma"], "none")
    saved = []

    def save(module, folder, **_):
        saved.append(folder)
        Path(folder, "saved_model.pb").write_bytes(b"")  # a SavedModel without graphs
        assert export.versions(tmp_path) == list(range(1, len(saved)))

    monkeypatch.setattr(tf.saved_model, "save", save)
    assert export_model(model, tmp_path).name == "1"
    (tmp_path / "not a version").mkdir()
    assert export_model(model, tmp_path).name == "2"

    def fail(module, folder, **_):
        Path(folder, "saved_model.pb").write_bytes(b"half")
        raise OSError("No space left on device")

    monkeypatch.setattr(tf.saved_model, "save", fail)
    with pytest.raises(OSError, match="No space"):
        export_model(model, tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["1", "2", "not a version"]


def test_a_file_in_the_place_of_the_folder_is_refused(models, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="export_dir"):
        export_model(models["cade_ms"], tmp_path / "file")


def test_served_vectors_have_the_length_that_the_card_says():
    ring = [[node, (node + hop) % 12] for node in range(12) for hop in (1, 3)]
    features = np.random.default_rng(0).normal(size=(12, 6))
    graph = Graph.from_edges(ring, features=features)
    model = CadeMS(dim=8, k=2, fanouts=(2, 2))
    model.adapt(graph)
    functions = GraphModule(model, graph).functions
    ids, seed = tf.constant(graph.ids), tf.constant(0, tf.int64)
    served = functions["serving_default"](ids, seed)["embeddings"]
    for vectors in (served, model.embed(graph, progress=False)):
        lengths = np.linalg.norm(vectors, axis=1)
        assert lengths.max() <= 1 + 1e-5
        assert lengths.min() < 0.99
    pair = functions["embed_pair"](ids[:-1], ids[1:], seed)
    np.testing.assert_allclose(np.linalg.norm(pair["node_embeddings"], axis=1), 1, rtol=1e-5)
    card = model_card(model, Config(model="cade_ms"), [{}], graph=graph)
    assert "its length is at most 1" in card
    assert "each of unit length" not in card


def test_the_card_says_what_the_export_is(models):
    def result(micro):
        scores = {"sgd": {"micro_f1": micro, "macro_f1": 0.5, "test_nodes": 100}}
        return {"data": {"nodes": 1234}, "scores": scores, "versions": {"tensorflow": "2.21"}}

    def card(*results, graph=None):
        config = Config(model="cade_ms", run_dir="/home/somebody/run")
        return model_card(models["cade_ms"], config, results, graph=graph, signatures=["b", "a"])

    one = card(result(0.9))
    for text in ("CADE-MS", "| nodes | 1,234 |", "0.9000 ± 0.0300 (binomial", "2.21", "a, b"):
        assert text in one
    assert "| sgd, macro-F1 | 0.5000 |" in one
    assert "--model=cade_ms" in one
    assert "somebody" not in one
    assert "It holds no graph" in one
    several = card(result(0.8), result(0.9), graph=EXAMPLES["cade_ms"])
    assert "0.8500 ± 0.0707 (standard deviation, 2 runs)" in several
    assert "the graph pairs: 11 nodes, 5 edges" in several
    assert "no labels" in card({"data": {}, "scores": {}, "versions": {}})
