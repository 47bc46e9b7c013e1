import dataclasses
import json
import shutil
import subprocess

import numpy as np
import pytest

from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.evaluation.design import as_dense
from cade_tf.experiments import cells
from cade_tf.experiments.cells import CLASSIFICATION, LINKS, Cell
from cade_tf.experiments.methods import METHODS, Embedded
from cade_tf.graph.splits import split_nodes


def cell(method="raw_features", task=CLASSIFICATION, hidden=None, **changes):
    return Cell("digits", task, method, 0.3, hidden, 0, Config(**changes))


def test_a_cell_is_computed_once_and_then_read(tmp_path):
    result = cells.compute(cell(), tmp_path)
    assert cells.cached(cell(), tmp_path) == json.loads(json.dumps(result))
    assert result["scores"]["logreg"]["micro_f1"] > 0.8
    assert set(result["scores"]) == {"sgd", "logreg", "kmeans"}
    assert {"seconds", "flags", "versions", "commit", "split_seed"} <= set(result)
    assert [path.suffix for path in tmp_path.iterdir()] == [".json"]


def test_a_damaged_cell_is_computed_again(tmp_path):
    (tmp_path / f"{cell().key()}.json").write_text("{")
    assert cells.cached(cell(), tmp_path) is None


def test_a_cell_of_other_options_under_the_same_key_is_computed_again(tmp_path, monkeypatch):
    def with_width(dim):
        changed = dataclasses.replace(METHODS["smoothed_pca"], options={"dim": dim})
        monkeypatch.setitem(METHODS, "smoothed_pca", changed)
        return cell("smoothed_pca", dim=dim)

    before = with_width(8)
    cells.compute(before, tmp_path)
    assert cells.cached(before, tmp_path) is not None
    key = before.key()
    after = with_width(9)  # as another version of the package may have it
    assert after.key() == key
    assert cells.cached(after, tmp_path) is None


@pytest.mark.parametrize(
    "change",
    [
        {"dataset": "pubmed"},
        {"task": LINKS},
        {"method": "smoothed_pca"},
        {"unseen_ratio": 0.5},
        {"hidden_ratio": 0.1},
        {"split_seed": 1},
        {"validating": True},
    ],
)
def test_what_determines_a_score_changes_the_key(change):
    assert dataclasses.replace(cell(), **change).key() != cell().key()


@pytest.mark.parametrize(
    ("method", "option", "matters"),
    [
        ("raw_features", {"steps": 7}, False),
        ("smoothed_pca", {"steps": 7}, False),
        ("smoothed_pca", {"dim": 7}, True),
        ("smoothed_pca", {"feature_scaling": "row"}, True),
        ("graph2gauss", {"steps": 7}, True),
        ("graph2gauss", {"k": 7}, False),
        ("graphsage", {"k": 7}, False),
        ("graphsage", {"steps": 7}, True),
        ("untrained", {"steps": 7}, False),
        ("untrained", {"fanouts": (3, 3)}, True),
        ("cade_ms", {"k": 7}, True),
        ("cade_ms", {"data_dir": "elsewhere"}, False),
        ("cade_ma", {"checkpoint_every": 7}, False),
        ("cade_ma", {"precision": "bfloat16"}, True),
        ("cade_ma", {"embed_walks": 7}, True),
    ],
)
def test_a_changed_flag_recomputes_only_what_it_touches(method, option, matters):
    assert (cell(method, **option).key() != cell(method).key()) == matters


def spy(monkeypatch, seen):
    """Lets raw features note what they were shown."""

    def embed(graph, positions, config, run_dir):
        seen.append((graph, positions))
        return Embedded(graph.features)

    method = dataclasses.replace(METHODS["raw_features"], embed=embed)
    monkeypatch.setitem(METHODS, "raw_features", method)


def test_while_validating_test_nodes_are_not_even_in_the_graph(tmp_path, monkeypatch):
    shown = []
    spy(monkeypatch, shown)
    cells.compute(dataclasses.replace(cell(), validating=True), tmp_path)
    cells.compute(cell(), tmp_path)
    (validating, trained), (final, seen) = shown
    whole = cells.load_graph("digits", None)
    split = split_nodes(whole, 0.3, 0)
    assert set(validating.ids) == set(split.train) | set(split.validation)
    assert set(validating.ids[trained]) == set(split.train)
    assert final.num_nodes == whole.num_nodes
    assert set(seen) == set(split.seen)


def test_hidden_edges_are_hidden_from_the_method(tmp_path, monkeypatch):
    shown = []
    spy(monkeypatch, shown)
    result = cells.compute(cell(task=LINKS, hidden=0.2), tmp_path)
    graph, seen = shown[0]
    whole = cells.load_graph("digits", None)
    assert graph.num_edges == whole.num_edges - round(0.2 * whole.num_edges)
    assert len(seen) == whole.num_nodes - round(0.3 * whole.num_nodes)
    assert {"paper", "strong", "dot"} <= set(result["scores"])
    assert result["scores"]["strong"]["auc"] > 0.8


def test_missing_labels_are_said(tmp_path, monkeypatch):
    graph = dataclasses.replace(cells.load_graph("digits", None), labels=None, class_names=None)
    monkeypatch.setattr(cells, "load_graph", lambda *_: graph)
    with pytest.raises(InputError, match="labels of digits"):
        cells.compute(cell(), tmp_path)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("method", list(METHODS))
def test_every_method_embeds_all_nodes_of_a_graph_it_saw_a_part_of(method, tmp_path):
    graph = cells.load_graph("digits", None).subgraph(np.arange(200))
    config = Config(
        dim=8, k=2, fanouts=(3, 2), steps=2, batch_size=16, embed_walks=1, feature_scaling="row"
    )
    if method in ("graphsage", "cade_gb", "cade_ms", "cade_ma"):
        config = config.replace(model=method)
    embedded = METHODS[method].embed(graph, np.arange(150), config, tmp_path)
    embeddings = as_dense(embedded.embeddings)
    assert embeddings.shape[0] == 200
    assert np.isfinite(embeddings).all()
    distinct = len(np.unique(embeddings.round(6), axis=0))
    expected = {
        "degree": len(np.unique(graph.degrees)),
        "components": len(np.unique(graph.components())),
    }
    assert distinct == expected.get(method, distinct)
    assert distinct > 150 or method in expected


def test_link_cells_score_pairs_by_their_own_dual_representations(tmp_path):
    small = {"k": 2, "dim": 8, "fanouts": (3, 2), "steps": 2, "batch_size": 16, "embed_walks": 1}
    dual = cells.compute(cell("cade_ms", LINKS, 0.2, model="cade_ms", **small), tmp_path)
    assert 0.5 < dual["scores"]["dual"]["auc"] <= 1.0
    assert 0.0 < dual["scores"]["attention"]["flatness"] < 1.0
    assert not {"dual", "attention"} & set(
        cells.compute(cell("degree", LINKS, 0.2), tmp_path)["scores"]
    )


SMALL = {"k": 2, "dim": 8, "fanouts": (3, 2), "batch_size": 16, "embed_walks": 1}


def test_a_cell_that_is_killed_goes_on_within_its_training(tmp_path, monkeypatch):
    one = cell("cade_ms", model="cade_ms", steps=12, **SMALL)
    whole = cells.compute(one, tmp_path / "whole")
    # The first attempt ends after five steps, as if the machine had been switched off.
    method = METHODS["cade_ms"]

    def stopped(graph, seen, config, run_dir):
        method.embed(graph, seen, config.replace(steps=5), run_dir)
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setitem(METHODS, "cade_ms", dataclasses.replace(method, embed=stopped))
        with pytest.raises(KeyboardInterrupt):
            cells.compute(one, tmp_path / "parts")
    (run_dir,) = (tmp_path / "parts").iterdir()
    assert (run_dir / "checkpoints" / "step-5.index").is_file()
    resumed = cells.compute(one, tmp_path / "parts")
    assert resumed["scores"] == whole["scores"]
    assert resumed["details"]["steps"] == 12
    assert [path.suffix for path in (tmp_path / "parts").iterdir()] == [".json"]


def test_an_option_that_an_older_cell_did_not_know_keeps_it_if_it_is_off(tmp_path):
    one = cell("graphsage", steps=0, **SMALL)
    result = cells.compute(one, tmp_path / "cells")
    del result["flags"]["warmup_steps"]
    results = {"entries": [{"cells": [result]}]}
    assert cells.restore(results, tmp_path / "clone") == 1
    assert cells.cached(one, tmp_path / "clone") is not None
    assert cells.cached(cell("graphsage", steps=0, warmup_steps=3, **SMALL), tmp_path) is None


@pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")
def test_a_cell_knows_the_commit_of_its_code_and_whether_the_code_was_changed(tmp_path):
    package = tmp_path / "package"
    package.mkdir()
    code, report = package / "code.py", tmp_path / "report.md"
    code.write_text("one")
    report.write_text("one")
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.org"]
    for arguments in (["init", "-q"], ["add", "."], [*identity, "commit", "-qm", "first"]):
        subprocess.run(["git", *arguments], cwd=tmp_path, check=True)

    head = cells.commit(package)
    assert len(head) == 12
    cells.commit.cache_clear()
    report.write_text("two")
    assert cells.commit(package) == head
    cells.commit.cache_clear()
    code.write_text("two")
    assert cells.commit(package) == f"{head}-dirty"
    cells.commit.cache_clear()
    assert cells.commit(tmp_path.parent / "nowhere") is None
    cells.commit.cache_clear()
