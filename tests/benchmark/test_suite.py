"""Every case measures what the targets bound; one that fails does not stop the others."""

import importlib
import json

import numpy as np
import pytest
import scipy.sparse as sp

from cade_tf.benchmark import peers, processes, suite, workloads
from cade_tf.benchmark.measure import Measurement
from cade_tf.benchmark.options import BenchOptions
from cade_tf.benchmark.processes import Job, JobFailed, run_job
from cade_tf.benchmark.targets import targets
from cade_tf.cli import app, bench
from cade_tf.errors import InputError
from cade_tf.graph.graph import Graph

QUICK = BenchOptions(quick=True).sized().replace(repeats=1)


def run_here(job, options):
    """A job in this process, which is faster than starting TensorFlow again."""
    module, function = job.task.rsplit(".", 1)
    task = getattr(importlib.import_module(f"cade_tf.benchmark.{module}"), function)
    found = list(task(options, **job.arguments))
    if job.timed_as is not None:
        found.append(Measurement(job.timed_as, "s", (1.0,)))
    return found


@pytest.fixture
def here(monkeypatch):
    monkeypatch.setattr(suite, "run_job", run_here)


def part(title, **changes):
    """A part of the suite by its title; one layer, which compiles fast."""
    options = QUICK.replace(**{"fanouts": (2,), **changes})
    (found,) = [one for one in suite.parts_of(options) if one.title == title]
    return found


@pytest.mark.parametrize(
    ("title", "bounded"),
    [
        ("steps", 4),
        ("memory cade_ms 2", 1),
        ("literal graphsage", 1),
        ("startup 1", 1),
        ("growth cade_gb", 1),
        ("reddit_size", 1),
    ],
)
def test_a_part_measures_what_the_targets_bound(title, bounded, here):
    found = part(title).work()
    names = {target.measurement: target.unit for target in targets(QUICK.k)}
    assert len([one for one in found if names.get(one.name) == one.unit]) == bounded


def test_embedding_is_measured_sampled_and_full(here, monkeypatch):
    monkeypatch.setattr(workloads, "MODELS", ("graphsage",))
    names = [one.name for one in part("embedding").work()]
    assert names == ["embed/graphsage/sampled", "embed/graphsage/full"]


def test_ours_is_measured_as_the_peer_measures_itself():
    found = {
        kind: [one.name for one in run_here(job, QUICK.replace(fanouts=(2,)))]
        for kind, (job, _) in peers.KINDS.items()
    }
    assert found == {
        "train": ["peer/train/ours"],
        "embed": ["peer/embed/ours", "peer/embed/ours_first_call"],
    }


def test_every_model_is_measured_with_every_aggregator():
    parts = list(suite.parts_of(QUICK.replace(cases=("aggregators",))))
    assert len({part.title for part in parts}) == len(parts) == 2 * 4


def test_an_aggregator_is_measured(here):
    names = [one.name for one in part("aggregators pool graphsage").work()]
    assert "train/graphsage/pool/step" in names
    assert "train/graphsage/pool/arithmetic_share" in names
    assert "train/graphsage/pool/peak_memory" in names


def test_sparse_features_have_no_share_of_dense_products(here, tmp_path):
    path = tmp_path / "sparse.npz"
    features = sp.csr_array(np.eye(30, dtype=np.float32))
    edges = np.stack([np.arange(29), np.arange(1, 30)], axis=1)
    Graph.from_edges(edges, features=features).save(path)
    sparse = part(
        "aggregators pool graphsage", graph=str(path), dataset=None, densify_features=False
    )
    names = [one.name for one in sparse.work()]
    assert "train/graphsage/pool/step" in names
    assert "train/graphsage/pool/arithmetic_share" not in names


def test_without_a_peer_there_is_nothing_to_compare():
    assert not [p for p in suite.parts_of(QUICK) if p.title.startswith("peer")]


def test_a_part_that_fails_does_not_stop_the_others(monkeypatch):
    kept = []

    def fails_once(job, options):
        if job.arguments.get("model") == "cade_ms":
            raise JobFailed("out of memory")
        return [Measurement(job.task, "s", (1.0,))]

    monkeypatch.setattr(suite, "run_job", fails_once)
    results = suite.run(QUICK.replace(cases=("memory",)), kept.append)
    assert results.failures == {"memory cade_ms 2": "out of memory"}
    assert results.measurements == [Measurement("training.memory", "s", (1.0,) * 3)]
    assert len(kept) == 4


def test_a_job_runs_in_a_process_of_its_own(monkeypatch):
    # What is patched here is not patched there.
    monkeypatch.setattr(workloads, "load", None)
    (files,) = run_job(Job("workloads.load", most_repeats=2), QUICK.replace(repeats=4))
    assert (files.name, files.unit) == ("load/digits/files", "s")
    assert len(files.values) == 2


def test_a_job_is_timed_from_the_start_of_its_process_to_the_end_of_its_work(monkeypatch):
    one = Measurement("a", "s", (1.0,))
    lines = [json.dumps(one.record()), json.dumps({"finished": 107.5})]
    monkeypatch.setattr(processes, "output_lines", lambda *_, **__: lines)
    monkeypatch.setattr(processes.time, "time", lambda: 100.0)
    found = run_job(Job("workloads.load", timed_as="process"), QUICK)
    assert found == [one, Measurement("process", "s", (7.5,))]


def test_a_job_that_fails_says_why():
    missing = QUICK.replace(dataset=None, graph="nowhere.txt")
    with pytest.raises(JobFailed, match=r"exit code 1: .*nowhere\.txt"):
        run_job(Job("workloads.load"), missing)


def test_the_command_writes_the_report(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(suite, "run_job", run_here)
    flags = ["--quick", "--cases=walks,loading", f"--output={tmp_path}"]
    assert app.main(["bench", *flags]) == 0
    assert "| digits | " in (tmp_path / "report.md").read_text()
    assert str(tmp_path) not in (tmp_path / "results.jsonl").read_text()
    assert f"Report: {tmp_path / 'report.md'}" in capsys.readouterr().out


def test_the_command_fails_where_a_part_failed(tmp_path, monkeypatch, capsys):
    def fails(job, options):
        raise JobFailed("out of memory")

    monkeypatch.setattr(suite, "run_job", fails)
    flags = ["--quick", "--cases=walks", f"--output={tmp_path}"]
    assert app.main(["bench", *flags]) == 1
    assert "out of memory" in capsys.readouterr().out


def test_mistakes_are_told_before_anything_runs():
    with pytest.raises(InputError, match="peer: expected a script"):
        bench.run(BenchOptions(cases=("peer",)), [])
    with pytest.raises(InputError, match="arguments: expected flags only"):
        bench.run(BenchOptions(), ["fast"])


def test_quick_sizes_leave_a_chosen_graph_alone():
    assert BenchOptions(quick=True).sized().dataset == "digits"
    assert BenchOptions(quick=True, dataset="pubmed").sized().dataset == "pubmed"
    assert BenchOptions(dataset="pubmed").sized().dim == 256


def test_the_error_of_a_process_is_its_last_words():
    code = "import sys; print('a\\nb\\nc\\nd', file=sys.stderr); sys.exit(3)"
    with pytest.raises(JobFailed, match=r"^exit code 3: b / c / d$"):
        processes.output_lines([processes.sys.executable, "-c", code])
