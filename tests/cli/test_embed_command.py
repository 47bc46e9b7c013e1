"""`cade embed`: graphs that training saw, grew from, or never saw."""

import dataclasses
import json

import numpy as np
import pytest
import scipy.sparse as sp

from cade_tf.cli import app
from cade_tf.cli.embed import EmbedOptions
from cade_tf.errors import InputError
from cade_tf.inference.outputs import FORMATS, read_embeddings
from cade_tf.training.run_folder import load_run_model
from cade_tf.training.trainer import train
from tests.trained_runs import NAMES, make_graph, trained_run


@pytest.fixture(scope="module")
def run_dir():
    return trained_run()


def embed(run_dir, output, *flags):
    return app.main(["embed", f"--run_dir={run_dir}", f"--output={output}", *flags])


def test_it_repeats_the_embeddings_of_the_run(run_dir, tmp_path, capsys):
    assert embed(run_dir, tmp_path, "--embed_walks=2") == 0
    embeddings, ids = read_embeddings(tmp_path)
    want, want_ids = read_embeddings(run_dir)
    np.testing.assert_allclose(embeddings, want, rtol=1e-5, atol=1e-6)
    assert ids.tolist() == want_ids.tolist()
    seen = json.loads((run_dir / "result.json").read_text())["data"]["seen"]
    assert f"30 nodes, {seen} of them known from training" in capsys.readouterr().out


def test_it_takes_a_run_that_was_trained_from_python(tmp_path):
    graph = make_graph(12)
    graph.save(tmp_path / "graph.npz")
    run_dir = tmp_path / "run"
    trained = train(graph, run_dir=run_dir, dim=8, steps=2, batch_size=4, progress=False)
    assert embed(run_dir, tmp_path, f"--graph={tmp_path / 'graph.npz'}") == 0
    want = trained.embed(graph, progress=False)
    np.testing.assert_allclose(read_embeddings(tmp_path)[0], want, rtol=1e-5, atol=1e-6)


def test_known_nodes_keep_their_bias_in_a_graph_that_grew(run_dir):
    model = load_run_model(run_dir)
    grown = make_graph(40)
    rows = model.prepared().bias_rows(grown)
    assert (rows[30:] == -1).all()
    known = np.flatnonzero(rows >= 0)
    assert grown.ids[known].tolist() == model.prepared().known_ids[rows[known]].tolist()
    assert len(known) == len(model.prepared().known_ids)


def test_a_graph_that_training_never_saw(run_dir, tmp_path, capsys):
    make_graph(12, first=1000).save(tmp_path / "new.npz")
    assert embed(run_dir, tmp_path, f"--graph={tmp_path / 'new.npz'}") == 0
    assert "0 of them known" in capsys.readouterr().out
    embeddings, ids = read_embeddings(tmp_path)
    assert embeddings.shape == (12, 8)
    assert ids[0] == "n1000"
    first = embeddings.copy()
    assert embed(run_dir, tmp_path, f"--graph={tmp_path / 'new.npz'}") == 0
    np.testing.assert_array_equal(read_embeddings(tmp_path)[0], first)


@pytest.mark.parametrize(
    ("names", "message"),
    [
        (("alpha", "beta", "delta"), "Missing: gamma. Unknown: delta."),
        (("beta", "alpha", "gamma"), "Same names in another order: column 0 was alpha, is beta."),
        ((*NAMES, "delta"), "expected 3 of them, as in training, received 4. Unknown: delta."),
    ],
)
def test_other_features_are_refused_with_the_difference(run_dir, tmp_path, capsys, names, message):
    make_graph(12, names=names).save(tmp_path / "new.npz")
    assert embed(run_dir, tmp_path, f"--graph={tmp_path / 'new.npz'}") == 2
    assert message in capsys.readouterr().err


def test_features_without_names_need_the_width_only(run_dir, tmp_path):
    make_graph(12, names=None).save(tmp_path / "new.npz")
    assert embed(run_dir, tmp_path, f"--graph={tmp_path / 'new.npz'}") == 0


def test_a_model_of_degrees_takes_no_features(run_dir):
    model = dataclasses.replace(load_run_model(run_dir).prepared(), structural=True)
    with pytest.raises(InputError, match="trained on a graph without features, received 3"):
        model.features(make_graph())


def test_sparse_features_are_centred_as_the_dense_ones_of_training(run_dir):
    model, graph = load_run_model(run_dir).prepared(), make_graph()
    sparse = dataclasses.replace(graph, features=sp.csr_array(graph.features))
    np.testing.assert_array_equal(model.features(sparse), model.features(graph))


def test_every_format_can_be_asked_for():
    assert EmbedOptions.spec("output_format").choices == tuple(FORMATS)


def test_full_neighbourhoods_and_how_far_samples_are_from_them(run_dir, tmp_path, capsys):
    assert embed(run_dir, tmp_path, "--full_neighborhood", "--compare_sampled") == 0
    assert "Sampled against full neighbourhoods: mean cosine 0." in capsys.readouterr().out
    model = load_run_model(run_dir)
    want = model.embed_full(make_graph(), progress=False)
    np.testing.assert_allclose(read_embeddings(tmp_path)[0], want, rtol=1e-5, atol=1e-6)


def test_another_format(run_dir, tmp_path):
    assert embed(run_dir, tmp_path, "--full_neighborhood", "--output_format=tsv") == 0
    assert (tmp_path / "embeddings.tsv").read_text().startswith("node_id\tx0\t")


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--run_dir=nowhere"], "nowhere"),
        ([], "run_dir"),
        (["--run_dir=x", "word"], "flags only"),
        (["--run_dir=x", "--compare_sampled"], "--full_neighborhood together with it"),
        (["--run_dir=x", "--output_format=xml"], "output_format"),
    ],
)
def test_mistakes_are_named(flags, message, capsys):
    assert app.main(["embed", *flags]) == 2
    assert message in capsys.readouterr().err
