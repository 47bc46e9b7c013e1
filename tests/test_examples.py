"""The programs and notebooks of cade_tf/examples run as they stand."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

import cade_tf
from cade_tf.cli import flags
from cade_tf.config import Config
from cade_tf.examples import __main__ as notebooks
from cade_tf.experiments.search_space import SearchSpace

FOLDER = Path(cade_tf.__file__).parent / "examples"
PROGRAMS = sorted(path.stem for path in FOLDER.glob("[a-z]*.py"))


def run(*words, cwd=None):
    command = [sys.executable, *map(str, words)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=1800, check=False, cwd=cwd
    )
    assert done.returncode == 0, done.stderr
    return done


@pytest.mark.parametrize("name", PROGRAMS)
def test_a_program_runs_and_prints_nothing_but_its_own_lines(name):
    done = run(FOLDER / f"{name}.py")
    assert done.stdout
    assert not done.stderr
    if name == "own_graph":
        assert "The same after loading: True" in done.stdout
    if name == "fine_tuning":
        frozen, tuned = map(float, re.findall(r"0\.\d+", done.stdout)[-2:])
        assert tuned > frozen
    if name == "sagb_layer":
        losses = [float(value) for value in re.findall(r"0\.\d+", done.stdout)]
        assert losses[-1] < losses[0] / 10


def test_the_code_of_the_notebooks_runs_and_shows_what_it_is_there_for(tmp_path):
    output = run("-m", "cade_tf.examples", "run", cwd=tmp_path).stdout
    assert (tmp_path / "embeddings.csv").is_file()
    assert (tmp_path / "served" / "1" / "saved_model.pb").is_file()
    assert output.count("digit 3\n") >= 3
    new, frozen, tuned = (
        float(re.search(f"{text}.*?(0\\.\\d+)", output)[1])
        for text in ("Accuracy on 297 new nodes", "Frozen encoder", "Fine-tuned")
    )
    assert new > 0.8
    assert tuned > frozen > 0.75
    assert float(re.search(r"dual  AUC (0\.\d+)", output)[1]) > 0.9


def test_every_notebook_is_in_the_transcript_and_the_transcript_is_up_to_date():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == set(notebooks.FROM_TO)
    text, pictures = notebooks.transcript()
    remedy = "run: python -m cade_tf.examples transcript"
    assert (FOLDER / "README.md").read_text() == text, remedy
    found = {path.name: path.read_bytes() for path in (FOLDER / notebooks.PICTURES).iterdir()}
    assert found == pictures, remedy


@pytest.mark.parametrize("name", notebooks.FROM_TO)
def test_a_notebook_was_run_from_top_to_bottom_without_a_complaint(name):
    assert (FOLDER / f"{name}.ipynb").stat().st_size < 300_000
    code = [cell for cell in notebooks.cells(name) if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert not [o for o in outputs if o["output_type"] == "error" or o.get("name") == "stderr"]


def test_the_search_space_is_one_of_cade_tune():
    space = SearchSpace.read(FOLDER / "search.flags")
    assert set(space.searched) == {"model", "k", "learning_rate"}
    some = {
        name: found.choices[0] if hasattr(found, "choices") else found.low
        for name, found in space.searched.items()
    }
    config, words = flags.parse(Config, space.flags(some))
    assert config.validate_every
    assert not words
