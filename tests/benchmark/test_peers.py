"""A peer runs in its own environment, in turn with ours; a broken one is told."""

import sys

import pytest

from cade_tf.benchmark import peers
from cade_tf.benchmark.measure import Measurement, joined
from cade_tf.benchmark.options import BenchOptions
from cade_tf.benchmark.processes import JobFailed
from cade_tf.errors import InputError

FAKE = """
import json, os, sys
print("some chatter")
with open({log!r}, "a") as log:
    log.write(json.dumps([sys.argv[1:], os.environ.get("PYTHONPATH")]) + "\\n")
speed = {{"nodes_per_s": 100.0}} if "--embed" in sys.argv else {{"steps_per_s": 4.0}}
print(json.dumps({{"peer": "fake 1.0", **speed}}))
"""


def options(tmp_path, script, **changes):
    path = tmp_path / "fake_peer.py"
    path.write_text(script)
    settings = {
        "peer": str(path),
        "peer_python": sys.executable,
        "peer_data": "data.npz",
        "dim": 8,
        "fanouts": (3, 2),
        **changes,
    }
    return BenchOptions(**settings)


def ours(calls, speed):
    def run(job, options):
        calls.append(job.task)
        other = Measurement(f"peer/{job.task}/other", "steps/s", (1.0,))
        return [Measurement(f"peer/{job.task}/ours", "steps/s", (speed,)), other]

    return run


def test_rounds_alternate_and_give_ratios(tmp_path):
    log = tmp_path / "log"
    made = options(tmp_path, FAKE.format(log=str(log)), peer_rounds=2)
    calls: list[str] = []
    order = []
    for one in peers.compare(made, "train", ours(calls, 10.0)):
        order.append((one.name, len(calls), len(log.read_text().splitlines())))
    assert [(mine, theirs) for _, mine, theirs in order] == [(1, 1)] * 4 + [(2, 2)] * 4
    found = {one.name: one for one in joined(list(peers.compare(made, "train", ours([], 10.0))))}
    assert found["peer/train/fake 1.0"].values == (4.0, 4.0)
    assert found["peer/train/ours_over_peer"].values == (2.5, 2.5)
    assert found["peer/training.as_peer/other"].values == (1.0, 1.0)


def test_the_peer_gets_the_sizes_of_the_work_and_its_own_path(tmp_path):
    log = tmp_path / "log"
    made = options(tmp_path, FAKE.format(log=str(log)), peer_pythonpath="/somewhere")
    assert peers.run_peer(made, "nodes_per_s", embed=True) == ("fake 1.0", 100.0)
    said = log.read_text()
    assert '"--dim", "8", "--fanouts", "3,2", "--batch", "512", "--negatives", "20"' in said
    assert '"--data", "data.npz"' in said
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
        peers.run_peer(options(tmp_path, script), "steps_per_s", embed=False)


def test_a_python_that_does_not_exist_is_told(tmp_path):
    made = options(tmp_path, "", peer_python=str(tmp_path / "none"))
    with pytest.raises(JobFailed, match="No such file"):
        peers.run_peer(made, "steps_per_s", embed=False)


def test_a_peer_needs_its_python_and_its_data():
    with pytest.raises(InputError, match="peer_python: expected a path with --peer"):
        BenchOptions(peer="script.py")
