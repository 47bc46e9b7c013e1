"""Help and mistakes are answered at once: before TensorFlow is loaded."""

import os
import tomllib
from pathlib import Path

import numpy as np
import pytest

from cade_tf.cli import app, checks
from cade_tf.config import Config, DataOptions
from cade_tf.errors import EXTRAS, InputError
from tests.cli.processes import cade

ROOT = Path(__file__).resolve().parents[2]

# Less than one second where nothing else runs; importing TensorFlow would cost several.
GENEROUS_SECONDS = 3


def answered_at_once(done):
    assert "cade_tf" in done.imported
    assert "tensorflow" not in done.imported
    assert done.seconds < GENEROUS_SECONDS


@pytest.mark.parametrize("name", app.COMMANDS)
def test_every_command_answers_help_and_unknown_flags_before_tensorflow_is_loaded(name):
    shown = cade(name, "--help")
    answered_at_once(shown)
    assert (shown.code, shown.errors) == (0, "")
    assert shown.output.startswith(app.COMMANDS[name])
    wrong = cade(name, "--no_such_flag")
    answered_at_once(wrong)
    assert (wrong.code, wrong.output) == (2, "")
    assert wrong.errors.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [["--help"], ["--version"], ["completion", "bash"], ["data", "list"], ["data", "describe"]],
    ids=" ".join,
)
def test_what_needs_no_tensorflow_loads_none(arguments):
    done = cade(*arguments)
    assert done.code == 0
    assert "cade_tf" in done.imported
    assert "tensorflow" not in done.imported


@pytest.fixture
def folder(tmp_path):
    """A graph, a run without an encoder, and a file where a folder is wanted."""
    (tmp_path / "edges.csv").write_text("a,b\nb,c\n")
    (tmp_path / "run").mkdir()
    config = Config(graph=str(tmp_path / "gone.npz"))
    (tmp_path / "run" / "config.json").write_text(config.to_json())
    (tmp_path / "plain").write_text("a file")
    (tmp_path / "no_data.flags").write_text("--k=1..3\n--validate_every=5\n--graph=gone.csv\n")
    (tmp_path / "space.flags").write_text("--k=1..3\n--validate_every=5\n")
    np.save(tmp_path / "vectors.npy", np.eye(3))
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["train", "--dim=wide"], "dim: expected a whole number"),
        (["train", "--epochs=2", "--steps=10"], "either epochs or steps"),
        (["train", "--graph=gone.csv"], "--graph: expected an existing file or folder"),
        (["train", "--graph=edges.csv", "--features=gone.npy"], "--features: expected an existing"),
        (["train", "--graph=edges.csv", "--labels=gone.csv"], "--labels: expected an existing"),
        (["train", "--labels=edges.csv"], "labels: expected one graph together with it"),
        (["train", "--graph=edges.csv,gone.csv"], "received gone.csv"),
        (["train", "--graph=edges.csv,plain", "--labels=edges.csv"], "labels: expected one"),
        (["train", "--dataset=pubmed", "--data_dir=run"], "dataset: expected the files of pubmed"),
        (["train", "--dataset=nothing"], "dataset: expected one of digits"),
        (["train", "--run_dir=plain/run"], "--run_dir: expected a folder to write to"),
        (["links", "--run_dir=plain/run"], "--run_dir: expected a folder to write to"),
        (["links", "--graph=gone.csv"], "--graph: expected an existing"),
        (["launch", "--graph=gone.csv"], "--graph: expected an existing"),
        (["launch", "--run_dir=plain"], "--run_dir: expected a folder to write to"),
        (["embed", "--run_dir=gone"], "--run_dir: expected the folder of a trained run"),
        (["embed", "--run_dir=."], "a run directory with config.json"),
        (["embed", "--run_dir=run"], "gone.npz"),
        (["embed", "--run_dir=run", "--graph=edges.csv", "--output=plain"], "--output: expected"),
        (["export", "--run_dir=gone", "--export_dir=out"], "the folder of a trained run"),
        (["export", "--run_dir=run", "--graph=edges.csv", "--export_dir=o"], "a finished run"),
        (["explain", "--run_dir=gone", "--pair=a,b"], "the folder of a trained run"),
        (["explain", "--run_dir=run", "--graph=edges.csv", "--pair=a"], "pair: expected two ids"),
        (["neighbors", "--run_dir=gone", "--node=a"], "the folder of a trained run"),
        (["neighbors", "--embeddings=gone.npy", "--node=a"], "--embeddings: expected an existing"),
        (["evaluate", "--embeddings=gone.npy"], "--embeddings: expected an existing"),
        (["evaluate", "--embeddings=vectors.npy", "--plot=plain/a.png"], "--plot: expected"),
        (["evaluate", "--run_dir=gone"], "the folder of a trained run"),
        (["tune", "--search=gone.flags"], "a readable text file"),
        (["tune", "--search=no_data.flags"], "--graph: expected an existing"),
        (["tune", "--search=space.flags", "--study=plain"], "--study: expected a folder"),
        (["reproduce", "table9"], "experiment: expected one of table1"),
        (["bench", "--graph=gone.csv"], "--graph: expected an existing"),
        (["bench", "--quick", "--output=plain"], "--output: expected a folder to write to"),
        (["data", "check", "--graph=gone.csv"], "gone.csv"),
        (["data", "convert", "--dataset=digits", "--output=plain/x.npz"], "--output: expected"),
    ],
    ids=" ".join,
)
def test_a_mistake_in_a_path_is_told_before_tensorflow_is_loaded(arguments, said, folder):
    done = cade(*arguments, cwd=folder)
    assert said in done.errors + done.output, done.errors
    assert done.code == 2
    assert "Traceback" not in done.errors
    answered_at_once(done)


@pytest.mark.parametrize(
    ("arguments", "package", "extra"),
    [
        (["evaluate", "--embeddings=vectors.npy", "--plot=a.png"], "matplotlib", "plot"),
        (["tune", "--search=space.flags"], "optuna", "tune"),
        (["neighbors", "--run_dir=run", "--node=a", "--method=faiss"], "faiss", "faiss"),
        (
            ["embed", "--run_dir=run", "--graph=edges.csv", "--output_format=parquet"],
            "pyarrow",
            "parquet",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else value[0],
)
def test_a_missing_extra_is_told_before_tensorflow_is_loaded(
    arguments, package, extra, folder, tmp_path_factory
):
    done = cade(*arguments, cwd=folder, without=[package], folder=tmp_path_factory.mktemp("site"))
    assert f"expected the package {package}" in done.errors
    assert f'pip install "cade_tf[{extra}]"' in done.errors
    assert done.code == 2
    answered_at_once(done)


def test_a_folder_that_may_not_be_written_to_is_named(tmp_path, monkeypatch):
    monkeypatch.setattr(checks.os, "access", lambda path, mode: mode == os.R_OK)
    with pytest.raises(InputError, match="no permission to write in"):
        checks.writable_folder("run_dir", tmp_path / "new" / "run")


def test_a_file_that_may_not_be_read_is_named(tmp_path, monkeypatch):
    (tmp_path / "edges.csv").write_text("a,b\n")
    monkeypatch.setattr(checks.os, "access", lambda path, mode: False)
    with pytest.raises(InputError, match="no permission"):
        checks.data(DataOptions(graph=str(tmp_path / "edges.csv")))


def test_a_folder_that_can_be_made_is_not_made_by_looking(tmp_path):
    assert checks.writable_folder("run_dir", tmp_path / "new" / "run") == tmp_path / "new" / "run"
    assert not (tmp_path / "new").exists()


def test_the_present_folder_is_a_folder_to_write_to(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    checks.writable_file("plot", "picture.png")


def test_every_extra_is_one_of_the_package():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert set(EXTRAS.values()) <= set(project["optional-dependencies"])
