"""The study of the default: rows are kept, peers are scored, the report says what there is not."""

import numpy as np
import pytest

from cade_tf.experiments import default_study
from tests.presets.kinds import generated


@pytest.fixture
def study(monkeypatch, tmp_path):
    """A folder, and a way to run the study on one small graph."""
    monkeypatch.setattr(default_study, "SEEDS", (0,))
    monkeypatch.setattr(default_study, "_load", lambda name, data_dir: generated("binary"))

    def run(*methods):
        default_study.run(
            tmp_path / "default", tmp_path / "cells", graphs=["digits"], methods=methods
        )
        return default_study.read(tmp_path / "default")

    return run


def test_rows_are_computed_once_and_added_to(study, monkeypatch):
    raw, pca = study("raw_features", "smoothed_pca")
    assert {"all_labels", "few_labels", "nmi", "dot", "seconds"} <= set(raw)
    assert "dual" not in raw
    measured = []
    monkeypatch.setattr(
        default_study,
        "measure",
        lambda graph, name, method, seed, cells: (
            measured.append(method) or {"graph": name, "method": method, "seed": seed}
        ),
    )
    assert study("raw_features", "smoothed_pca", "positions")[:2] == [raw, pca]
    assert measured == ["positions"]


def test_a_model_is_scored_by_its_own_pairs_too(study, monkeypatch):
    options = {"dim": 8, "fanouts": (3, 2), "batch_size": 32, "steps": 3}
    complete = default_study.Config.from_given
    monkeypatch.setattr(
        default_study.Config, "from_given", lambda **given: complete(**options, **given)
    )
    (row,) = study("cade_ms")
    assert 0 < row["dual"] <= 1
    assert 0 < row["dot"] <= 1


def test_the_start_of_a_model_is_the_model_after_no_step(study, monkeypatch):
    trained = []
    given = default_study.Config.from_given
    monkeypatch.setattr(
        default_study.Config,
        "from_given",
        lambda **options: trained.append(options) or given(**{"dim": 8, **options}),
    )
    (row,) = study("cade_ms_start")
    assert "dual" not in row
    assert all(options["model"] == "cade_ms" for options in trained)
    assert {options.get("steps") for options in trained} == {0}


def test_peers_are_scored_where_their_embeddings_are_found(study, tmp_path):
    (tmp_path / "cells" / "peers").mkdir(parents=True)
    labels = generated("binary").labels
    np.save(tmp_path / "cells" / "peers" / "digits-dgi-0.npy", np.eye(5, dtype=np.float32)[labels])
    (row,) = study("dgi", "grace")
    assert (row["method"], row["all_labels"], row["nmi"]) == ("dgi", 1.0, 1.0)


def test_the_report_compares_with_smoothed_pca_and_leaves_open_what_is_missing(study, tmp_path):
    folder = tmp_path / "default"
    raw, pca = study("raw_features", "smoothed_pca")
    (folder / "findings.md").write_text("## What else was found\n")
    text = default_study.write(folder).read_text()
    difference = raw["all_labels"] - pca["all_labels"]
    assert f"| raw features | {difference:+.3f} |" in text
    assert f"| digits | raw features | {raw['all_labels']:.3f} |" in text
    assert "CADE-MS |" not in text
    assert text.endswith("## What else was found\n")
