"""`cade train` and `cade embed` as a user runs them, each in a process of its own."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from cade_tf.config import Config
from cade_tf.graph.digits import digits
from tests.trained_runs import make_graph

TINY = (
    "--dataset=digits",
    "--model=cade_ma",
    "--k=2",
    "--dim=8",
    "--fanouts=3,2",
    "--steps=12",
    "--batch_size=64",
    "--checkpoint_every=5",
    "--embed_walks=1",
    "--embed_batch_size=1000",
    "--seed=3",
)


def cade(*arguments, cwd=None):
    return subprocess.run(
        [sys.executable, "-m", "cade_tf", *map(str, arguments)],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        cwd=cwd,
        env={**os.environ, "TF_CPP_MIN_LOG_LEVEL": "3"},
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """A finished run and what the command said."""
    run_dir = tmp_path_factory.mktemp("runs") / "first"
    finished = cade("train", *TINY, f"--run_dir={run_dir}")
    assert finished.returncode == 0, finished.stderr
    return run_dir, finished


def embeddings(folder):
    return np.load(folder / "embeddings.npy", allow_pickle=False)


def test_a_run_leaves_all_its_files(trained):
    run_dir, _ = trained
    for name in ("flags.txt", "config.json", "embeddings.npy", "node_ids.txt", "result.json"):
        assert (run_dir / name).is_file(), name
    assert any((run_dir / "checkpoints").iterdir())
    assert list(run_dir.rglob("events.out.tfevents.*"))
    leftovers = [p.name for p in run_dir.iterdir() if p.name.startswith(".") or "tmp" in p.name]
    assert not leftovers


def test_embeddings_are_float32_rows_in_the_order_of_the_input(trained):
    run_dir, _ = trained
    matrix = embeddings(run_dir)
    assert matrix.dtype == np.float32
    assert matrix.shape == (1797, 8)
    assert np.isfinite(matrix).all()
    ids = (run_dir / "node_ids.txt").read_text().splitlines()
    assert ids == [str(node) for node in digits().ids]


def test_the_result_tells_data_loss_scores_speed_versions_seed_and_time(trained):
    run_dir, _ = trained
    result = json.loads((run_dir / "result.json").read_text())
    assert result["data"]["nodes"] == 1797
    assert result["data"]["edges"] == 9787
    assert result["data"]["seen"] + result["data"]["unseen"] == 1797
    assert {"loss", "positive_affinity", "negative_affinity", "mrr", "mean_cosine"} <= set(
        result["metrics"]
    )
    assert set(result["scores"]) == {"sgd", "logreg"}
    assert 0.1 < result["scores"]["logreg"]["micro_f1"] <= 1.0
    assert result["seed"] == 3
    assert result["steps"] == 12
    assert result["pairs_per_second"] > 0
    assert result["total_seconds"] > 0
    assert {"python", "cade_tf", "tensorflow", "keras", "numpy"} <= set(result["versions"])


def test_the_options_are_kept_as_flags_and_as_json(trained):
    run_dir, _ = trained
    config = Config.from_json((run_dir / "config.json").read_text())
    assert (config.model, config.k, config.fanouts, config.seed) == ("cade_ma", 2, (3, 2), 3)
    assert "--fanouts=3,2" in (run_dir / "flags.txt").read_text().splitlines()


def test_the_command_prints_a_table_and_says_where_tensorboard_looks(trained):
    run_dir, finished = trained
    assert "cade_ma" in finished.stdout
    assert "logreg" in finished.stdout
    for method in ("raw features", "smoothed PCA"):
        assert method in finished.stdout
    assert f"tensorboard --logdir {run_dir}" in finished.stdout
    assert "Traceback" not in finished.stderr


def test_the_command_says_what_it_read_and_decided_and_how_nodes_are_scored(trained):
    run_dir, finished = trained
    said = finished.stderr
    assert "Training sees 1,258 of 1,797 nodes (unseen_ratio=0.3); the 539 unseen" in said
    assert "Read: 1,258 nodes" in said
    assert "Decided: standard_row scaling" in said
    flags = (run_dir / "flags.txt").read_text().splitlines()
    assert {"--preset=recommended", "--feature_scaling=standard_row", "--steps=12"} <= set(flags)


def test_the_same_command_finds_the_same_decisions_and_continues(trained):
    run_dir, _ = trained
    before = embeddings(run_dir)
    again = cade("train", *TINY, f"--run_dir={run_dir}")
    assert again.returncode == 0, again.stderr
    assert "at step 12" in again.stderr
    np.testing.assert_array_equal(embeddings(run_dir), before)


def test_a_run_can_be_repeated_from_its_own_flags(trained, tmp_path):
    run_dir, _ = trained
    again = cade("train", f"--flagfile={run_dir / 'flags.txt'}", f"--run_dir={tmp_path}")
    assert again.returncode == 0, again.stderr
    np.testing.assert_array_equal(embeddings(tmp_path), embeddings(run_dir))


def test_embed_reproduces_the_embeddings_of_the_run(trained, tmp_path):
    run_dir, _ = trained
    done = cade(
        "embed",
        f"--run_dir={run_dir}",
        f"--output={tmp_path}",
        "--embed_walks=1",
        "--embed_batch_size=1000",
        "--seed=3",
    )
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(embeddings(tmp_path), embeddings(run_dir))
    assert (tmp_path / "node_ids.txt").read_text() == (run_dir / "node_ids.txt").read_text()


def test_a_run_finds_its_graph_from_any_folder(tmp_path):
    here, elsewhere = tmp_path / "here", tmp_path / "elsewhere"
    here.mkdir()
    elsewhere.mkdir()
    make_graph().save(here / "ring.npz")
    flags = ("--graph=ring.npz", "--run_dir=run", *TINY[1:])
    finished = cade("train", *flags, cwd=here)
    assert finished.returncode == 0, finished.stderr
    config = Config.from_json((here / "run" / "config.json").read_text())
    assert config.graph == str(here / "ring.npz")
    assert f"--graph={here / 'ring.npz'}" in (here / "run" / "flags.txt").read_text().splitlines()
    done = cade("embed", f"--run_dir={here / 'run'}", f"--output={elsewhere}", cwd=elsewhere)
    assert done.returncode == 0, done.stderr
    np.testing.assert_array_equal(embeddings(elsewhere), embeddings(here / "run"))


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("train", "--stepz=3"), "stepz"),
        (("train", "--steps=many"), "steps"),
        (("train", "--model=gcn"), "model: expected one of cade_ms"),
        (("train", "--dim=0"), "dim: expected at least 1"),
        (("train", "--graph=missing.npz"), "missing.npz"),
        (("train", "--flagfile=missing.flags"), "missing.flags"),
        (("train", "word"), "arguments: expected flags only, received word"),
        (("embed",), "run_dir: expected the folder of a trained run"),
        (("embed", "--run_dir=missing"), "run_dir: expected the folder of a trained run"),
    ],
)
def test_a_mistake_is_one_line_and_exit_code_2(arguments, said, tmp_path):
    finished = cade(*arguments, cwd=tmp_path)
    assert finished.returncode == 2
    assert finished.stdout == ""
    assert len(finished.stderr.splitlines()) == 1, finished.stderr
    assert said in finished.stderr
    assert not list(tmp_path.iterdir())


def test_help_of_a_command_shows_its_own_flags_alone():
    shown = cade("train", "--help")
    assert shown.returncode == 0
    for flag in ("--dataset", "--fanouts", "--negative_weight", "--walks_per_node"):
        assert flag in shown.stdout
    assert "--pdb" not in shown.stdout
