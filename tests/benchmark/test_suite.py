"""Every case measures what the targets bound; peers are heard; one failure does not stop all."""

import importlib
import json
import sys

import numpy as np
import pytest

from cade_tf.benchmark import cases, processes, suite
from cade_tf.benchmark.measure import Measurement
from cade_tf.benchmark.options import BenchOptions
from cade_tf.benchmark.processes import Job, JobFailed, run_job
from cade_tf.benchmark.report import TARGETS
from cade_tf.cli import app, bench
from cade_tf.errors import InputError

QUICK = BenchOptions(quick=True).sized().replace(fanouts=(2,))

PEER = """
import json, os, sys
print("some chatter")
with open({log!r}, "a") as log:
    log.write(json.dumps([sys.argv[1:], os.environ.get("PYTHONPATH")]) + "\\n")
speed = {{"nodes_per_s": 100.0}} if "--embed" in sys.argv else {{"steps_per_s": 4.0}}
print(json.dumps({{"peer": "fake 1.0", **speed}}))
"""


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


def with_peer(tmp_path, script):
    path = tmp_path / "fake_peer.py"
    path.write_text(script)
    return QUICK.replace(peer=str(path), peer_python=sys.executable, peer_pythonpath="/somewhere")


def names_of(title):
    """Names of what a part of the suite measures."""
    (work,) = [work for name, work in suite.parts_of(QUICK) if name == title]
    return {one.name for one in work()}


# --- cases -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("title", "names"),
    [
        (
            "steps cade_ms mean",
            {"step", "pairs", "products", "arithmetic_share", "peak_memory"},
        ),
        ("literal graphsage", {"step", "fast_step", "speedup"}),
        ("startup 1", {"first_step", "peak_memory"}),
        ("sizes growth", {"step", "over_500_nodes", "peak_memory"}),
    ],
)
def test_a_part_measures(title, names, here):
    # Tensors are counted where TensorFlow was told so before it was imported.
    assert {name.rsplit("/", 1)[1] for name in names_of(title)} - {"tensors"} == names


def test_embedding_is_measured_sampled_and_full(here, monkeypatch):
    monkeypatch.setattr(cases, "MODELS", ("graphsage",))
    columns = ("sampled", "of_40_walks", "full")
    assert names_of("embedding") == {f"embed/graphsage/{column}" for column in columns}


def test_every_target_bounds_something_that_a_full_run_measures():
    full = BenchOptions(dataset="pubmed", peer="a", peer_python="b")
    titles = [title for title, _ in suite.parts_of(full)]
    for target in TARGETS:
        group, *place, quantity = target.measurement.split("/")
        part = {
            "train": "steps " + " ".join(place).replace("-k10", ""),
            "literal": "literal " + " ".join(place).replace("-k10", ""),
            "embed": "embedding",
            "peer": f"peer {place[0]}",
            "sizes": "sizes Reddit" if "Reddit" in place[0] else "sizes growth",
            "startup": "startup 1",
        }[group]
        assert part in titles, target
        assert quantity
    assert len({target.measurement for target in TARGETS}) == len(TARGETS)


def test_whole_runs_go_from_files_to_embeddings(here, monkeypatch, tmp_path):
    monkeypatch.setattr(suite, "WHOLE_RUNS", ("graphsage", "smoothed_pca"))
    written = []
    monkeypatch.setattr(cases.np, "save", lambda path, rows: written.append(rows.shape))
    log = tmp_path / "log"
    options = with_peer(tmp_path, PEER.format(log=str(log))).replace(dim=4)
    found = {one.name: one for one in suite.whole_runs(options, generated=True)}
    place = "end_to_end/generated (2,000 nodes)"
    assert written == [(2000, 4), (2000, 4)]
    assert found[f"{place}/graphsage/steps"].values <= (150.0,)
    assert {f"{place}/{n}/whole_run" for n in ("graphsage", "smoothed_pca", "fake 1.0")} <= set(
        found
    )
    # Embedding 2,000 nodes at 100 per second takes the peer 20 of its seconds.
    assert found[f"{place}/fake 1.0/whole_run"].median >= 20
    said = log.read_text().splitlines()
    assert '"--steps", "150"' in said[0]
    assert "--embed" in said[1]


def test_a_peer_reads_the_graph_as_it_is(tmp_path):
    graph = cases.random_graph(QUICK, cases.SMALL)
    cases.write_for_peer(graph, tmp_path / "peer.npz")
    with np.load(tmp_path / "peer.npz") as read:
        assert read["num_nodes"] == graph.num_nodes
        np.testing.assert_array_equal(read["edges"], graph.edges())
        np.testing.assert_array_equal(read["x_data"].reshape(read["x_shape"]), graph.features)


# --- peers -----------------------------------------------------------------------------------


@pytest.mark.parametrize(("kind", "ratio"), [("train", 2.5), ("embed", 0.1)])
def test_rounds_of_ours_and_of_the_peer_alternate_and_give_ratios(
    kind, ratio, tmp_path, monkeypatch
):
    log = tmp_path / "log"
    order = []

    def ours(job, options):
        order.append((job.task, len(log.read_text().splitlines()) if log.exists() else 0))
        return [Measurement(f"peer/{kind}/ours", "steps/s", (10.0,))]

    monkeypatch.setattr(suite, "run_job", ours)
    options = with_peer(tmp_path, PEER.format(log=str(log))).replace(repeats=2)
    found = [one for one in suite.compare(options, kind) if one.name.endswith("ours_over_peer")]
    assert [one.values for one in found] == [(ratio,), (ratio,)]
    assert [rounds for task, rounds in order if "write" not in task] == [0, 1]


def test_the_peer_gets_the_sizes_of_the_work_and_its_own_path(tmp_path):
    log = tmp_path / "log"
    options = with_peer(tmp_path, PEER.format(log=str(log)))
    assert suite.run_peer(options, "folder", "nodes_per_s") == ("fake 1.0", 100.0)
    said = log.read_text()
    assert '"--dim", "16", "--fanouts", "2", "--batch", "32", "--negatives", "20"' in said
    assert '"--data", "folder/peer.npz"' in said
    assert "--embed" in said
    assert '"/somewhere"' in said


@pytest.mark.parametrize(
    ("script", "message"),
    [
        ("raise SystemExit('no module named dgl')", "exit code 1: no module named dgl"),
        ("", "nothing was printed"),
        ("print('hello')", "should print steps_per_s as JSON, printed hello"),
        ("""print('{"steps": 3}')""", "should print steps_per_s as JSON"),
        ("""print('{"steps_per_s": 0}')""", "steps_per_s = 0.0"),
    ],
)
def test_a_broken_peer_is_told(script, message, tmp_path):
    with pytest.raises(JobFailed, match=message):
        suite.run_peer(with_peer(tmp_path, script), "folder", "steps_per_s")


def test_without_a_peer_there_is_nothing_to_compare():
    assert not [title for title, _ in suite.parts_of(QUICK) if title.startswith("peer")]


@pytest.mark.parametrize("kind", suite.PEER_KINDS)
def test_ours_is_measured_as_the_peer_measures_itself(kind):
    assert run_here(suite.PEER_KINDS[kind][0], QUICK)[0].name == f"peer/{kind}/ours"


# --- processes and the command ---------------------------------------------------------------


def test_a_part_that_fails_does_not_stop_the_others(monkeypatch):
    kept = []

    def fails_once(job, options):
        if job.arguments["model"] == "cade_ms":
            raise JobFailed("out of memory")
        return [Measurement(job.task, "s", (1.0,))]

    monkeypatch.setattr(suite, "run_job", fails_once)
    results = suite.run(QUICK.replace(cases=("literal",)), kept.append)
    assert results.failures == {"literal cade_ms": "out of memory"}
    assert results.measurements == [Measurement("literal.speedup", "s", (1.0,) * 2)]
    assert len(kept) == 3


def test_a_job_runs_in_a_process_of_its_own(monkeypatch, tmp_path):
    # What is patched here is not patched there.
    monkeypatch.setattr(cases, "write_graph", None)
    job = Job("cases.write_graph", {"folder": str(tmp_path), "generated": False})
    assert run_job(job, QUICK) == [Measurement("nodes", "nodes", (1797.0,))]
    assert (tmp_path / "graph.npz").is_file()


def test_a_job_is_timed_from_the_start_of_its_process_to_the_end_of_its_work(monkeypatch):
    one = Measurement("a", "s", (1.0,))
    given = {}

    def output_lines(command, **arguments):
        given.update(arguments["environment"])
        return [json.dumps(one.record()), json.dumps({"finished": 107.5})]

    monkeypatch.setattr(processes, "output_lines", output_lines)
    monkeypatch.setattr(processes.time, "time", lambda: 100.0)
    found = run_job(Job("cases.embedding", timed_as="process"), QUICK.replace(device="cpu"))
    assert found == [one, Measurement("process", "s", (7.5,))]
    assert given == {"CUDA_VISIBLE_DEVICES": "-1"}


def test_the_error_of_a_process_is_its_last_words(tmp_path):
    code = "import sys; print('a\\nb\\nc\\nd', file=sys.stderr); sys.exit(3)"
    with pytest.raises(JobFailed, match=r"^exit code 3: b / c / d$"):
        processes.output_lines([sys.executable, "-c", code])
    with pytest.raises(JobFailed, match="No such file"):
        processes.output_lines([str(tmp_path / "none")])


def test_the_command_writes_the_report_and_tells_a_failure(tmp_path, monkeypatch, capsys):
    def measured(job, options):
        if job.task == "cases.reddit_size":
            raise JobFailed("out of memory")
        return [Measurement("sizes/a graph/step", "s", (0.5,))]

    monkeypatch.setattr(suite, "run_job", measured)
    flags = ["--quick", "--cases=sizes", f"--output={tmp_path}"]
    assert app.main(["bench", *flags]) == 1
    assert "| a graph | 500 ms |" in (tmp_path / "report.md").read_text()
    assert str(tmp_path) not in (tmp_path / "results.jsonl").read_text()
    printed = capsys.readouterr().out
    assert f"Report: {tmp_path / 'report.md'}" in printed
    assert "out of memory" in printed


def test_mistakes_are_told_before_anything_runs():
    with pytest.raises(InputError, match="peer: expected a script"):
        bench.run(BenchOptions(cases=("peer",)))
    with pytest.raises(InputError, match="device: expected a GPU"):
        bench.run(BenchOptions(quick=True, device="gpu"))
    with pytest.raises(InputError, match="peer_python: expected a path with --peer"):
        BenchOptions(peer="script.py")


def test_quick_sizes_leave_a_chosen_graph_alone():
    assert BenchOptions(quick=True).sized().dataset == "digits"
    assert BenchOptions(quick=True, dataset="pubmed").sized().dataset == "pubmed"
    assert BenchOptions(dataset="pubmed").sized().dim == 256
