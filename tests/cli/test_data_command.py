"""`cade data` as a user meets it."""

import json
import subprocess
import sys

import numpy as np
import pytest

from cade_tf.cli import app
from cade_tf.graph import datasets
from cade_tf.graph.graph import Graph
from tests.graph.real_data import DATA_DIR, needs


@pytest.fixture
def cade(capsys, monkeypatch, tmp_path):
    """Runs `cade data ...` in this process; returns exit code, output and errors."""
    monkeypatch.chdir(tmp_path)

    def run(*arguments, data_dir=None):
        if data_dir is None:
            monkeypatch.delenv("CADE_DATA_DIR", raising=False)
        else:
            monkeypatch.setenv("CADE_DATA_DIR", str(data_dir))
        code = app.main(["data", *arguments])
        output, errors = capsys.readouterr()
        return code, output, errors

    return run


def write_broken(folder):
    """A GraphSAGE graph with a mistake in every file."""
    nodes = [{"id": "a"}, {"id": "b"}]
    links = [{"source": 0, "target": 1}, {"source": 0, "target": 9}]
    (folder / "x-G.json").write_text(json.dumps({"nodes": nodes, "links": links}))
    (folder / "x-id_map.json").write_text('{"a": 0}')
    (folder / "x-class_map.json").write_text('{"a": [0, 1], "b": [1]}')
    np.save(folder / "x-feats.npy", np.array([[1.0], [np.nan]]))


def test_list_names_data_sets_and_formats(cade, tmp_path):
    code, output, _ = cade("list", data_dir=tmp_path)
    assert code == 0
    for name in (*datasets.DATASETS, "planetoid", "edge_list"):
        assert name in output
    assert "absent" in output
    assert str(tmp_path) in output


def test_list_without_a_folder_says_so(cade):
    assert "set --data_dir or CADE_DATA_DIR" in cade("list")[1]


@needs("pubmed")
def test_list_sees_what_is_present(cade):
    lines = cade("list", data_dir=DATA_DIR)[1].splitlines()
    assert any("pubmed" in line and "present" in line for line in lines)


def test_describe_tells_the_numbers(cade):
    code, output, _ = cade("describe", "--unseen_ratio=0.5")
    rows = dict(line.split("  ", 1) for line in output.splitlines() if "  " in line)
    rows = {name.strip(): value.strip() for name, value in rows.items()}
    assert code == 0
    assert rows["nodes"] == "1,797"
    assert rows["edges"] == "9,787"
    assert rows["density"] == "0.61 %"
    assert rows["classes"] == "10"
    assert rows["components"].startswith("1 ")
    assert rows["isolated nodes"] == "0"
    assert rows["split"].startswith("809 train / 90 validation / 898 test")


@needs("ppi")
def test_describe_ppi(cade):
    _, output, _ = cade("describe", "--dataset=ppi", data_dir=DATA_DIR)
    for expected in (
        "793,632",
        "25,084 self-loops",
        "295 (largest",
        "44,906 train / 6,514 validation / 5,524 test (of the data)",
        "0: 256",
    ):
        assert expected in output


@pytest.mark.parametrize("suffix", ["png", "svg"])
def test_describe_draws_a_picture(cade, tmp_path, suffix):
    code, output, _ = cade("describe", f"--plot={tmp_path}/x.{suffix}")
    assert code == 0
    assert (tmp_path / f"x.{suffix}").stat().st_size > 1000
    assert f"x.{suffix}" in output


def test_check_of_a_good_graph(cade):
    code, output, _ = cade("check", "--dataset=digits")
    assert code == 0
    assert "is in order" in output
    assert "note: 1 features are zero at all nodes." in output


def test_check_explains_every_problem(cade, tmp_path):
    write_broken(tmp_path)
    code, output, _ = cade("check", f"--graph={tmp_path}")
    assert code == 2
    assert "4 problems found" in output
    for expected in ("x-id_map.json", "x-class_map.json", "x-feats.npy", "x-G.json"):
        assert sum(expected in line for line in output.splitlines()) == 1


def test_check_of_a_hopeless_file(cade, tmp_path):
    (tmp_path / "x.npz").write_bytes(b"")
    code, output, _ = cade("check", f"--graph={tmp_path}/x.npz")
    assert code == 2
    assert "an empty file" in output
    assert "1 problem found" in output


def test_check_proves_our_own_files_anew(cade, tmp_path):
    Graph.from_edges([[0, 1]], features=np.eye(2)).save(tmp_path / "g.npz")
    content = (tmp_path / "g.npz").read_bytes()
    one, nan = np.float32(1).tobytes(), np.float32(np.nan).tobytes()
    damaged = content.replace(one + bytes(8) + one, nan + bytes(8) + one)
    (tmp_path / "g.npz").write_bytes(damaged)
    code, output, _ = cade("check", f"--graph={tmp_path}/g.npz")
    assert code == 2
    assert "damaged" in output


def test_convert_and_read_back(cade, tmp_path):
    (tmp_path / "e.csv").write_text("a,b\nb,c\n")
    code, output, _ = cade("convert", f"--graph={tmp_path}/e.csv", f"--output={tmp_path}/g.npz")
    assert code == 0
    assert "g.npz" in output
    assert Graph.load(tmp_path / "g.npz").node_ids.tolist() == ["a", "b", "c"]


def test_a_converted_data_set_takes_the_place_of_the_original(cade, tmp_path):
    folder = tmp_path / "ppi"
    folder.mkdir()
    nodes = [{"id": 0, "val": False, "test": False}, {"id": 1, "val": False, "test": True}]
    document = {"nodes": nodes, "links": [{"source": 0, "target": 1}]}
    (folder / "ppi-G.json").write_text(json.dumps(document))
    assert cade("convert", "--dataset=ppi", data_dir=tmp_path)[0] == 0
    (folder / "ppi-G.json").unlink()
    assert datasets.load_dataset("ppi", tmp_path).split.tolist() == [0, 2]


def test_convert_needs_to_know_where(cade, tmp_path):
    code, _, errors = cade("convert", "--dataset=digits")
    assert code == 2
    assert "output: expected a file to write" in errors


def test_download_of_what_is_built_in(cade):
    code, output, _ = cade("download", "--dataset=digits")
    assert code == 0
    assert "nothing to download" in output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "sub-command: expected one of list, describe"),
        (["frobnicate"], "received frobnicate"),
        (["list", "describe"], "received list describe"),
        (["download"], "dataset: expected the data set to download"),
        (["download", "--dataset=pubmed"], "data_dir: expected a folder"),
        (["describe", "--dataset=nothing"], "dataset: expected one of digits"),
        (["describe", "--dataset=pubmed"], "cade data download --dataset=pubmed"),
        (["describe", "--graph=/nowhere"], "an existing file or folder"),
        (["describe", "--dataset=digits", "--graph=x"], "either graph or dataset"),
    ],
)
def test_mistakes_are_one_line_and_exit_code_2(cade, arguments, message):
    code, output, errors = cade(*arguments)
    assert code == 2
    assert output == ""
    assert message in errors
    assert len(errors.splitlines()) == 1


def test_as_a_module_and_without_tensorflow():
    code = (
        "import runpy, sys\n"
        "sys.argv = ['cade', 'data', 'list']\n"
        "try:\n"
        "    runpy.run_module('cade_tf', run_name='__main__')\n"
        "except SystemExit as end:\n"
        "    print('exit', end.code, 'tensorflow' in sys.modules)\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    )
    assert result.stdout.splitlines()[-1] == "exit 0 False"


def test_help_explains_the_sub_commands(capsys):
    assert app.main(["data", "--help"]) == 0
    output = capsys.readouterr().out
    assert "cade data list|describe|check|convert|download" in output
    assert "--plot" in output


def test_describe_and_check_tell_what_was_not_read(cade, tmp_path):
    (tmp_path / "e.csv").write_text("source,target,type\n1,2,x\n2,1,x\n2,3,y\n")
    for command in ("describe", "check"):
        _, output, _ = cade(command, f"--graph={tmp_path}/e.csv", "--unseen_ratio=0")
        assert "note: e.csv: the column 'type' is not read" in output
        assert "note: 1 of 2 edges are given in one direction only" in output


def test_check_tells_of_features_that_are_all_the_same(cade, tmp_path):
    (tmp_path / "e.csv").write_text("0,1\n1,2\n")
    np.save(tmp_path / "f.npy", np.ones((3, 4)))
    _, output, _ = cade("check", f"--graph={tmp_path}/e.csv", f"--features={tmp_path}/f.npy")
    assert "note: All nodes have the same features" in output


def test_a_problem_with_features_is_not_told_as_their_absence(cade, tmp_path):
    (tmp_path / "e.csv").write_text("0,1\n1,2\n")
    np.save(tmp_path / "f.npy", np.full((3, 4), np.nan))
    code, output, _ = cade("check", f"--graph={tmp_path}/e.csv", f"--features={tmp_path}/f.npy")
    assert code == 2
    assert "12 NaN" in output
    assert "no features" not in output


@pytest.mark.parametrize("name", ["features", "labels"])
def test_a_missing_table_is_blamed_itself(cade, tmp_path, name):
    (tmp_path / "e.csv").write_text("0,1\n1,2\n")
    code, _, errors = cade("describe", f"--graph={tmp_path}/e.csv", f"--{name}=gone.npy")
    assert code == 2
    assert f"{name}: expected an existing file, received gone.npy" in errors
