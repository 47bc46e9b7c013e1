"""How often a chief is started again; the processes here are small programs."""

import sys

import pytest

from cade_tf.scale.local_cluster import LocalCluster

# The chief counts its starts, writes a checkpoint in some of them, and ends well in the last.
PROGRAM = """
import json, os, pathlib, sys, time
folder, codes, saves = pathlib.Path(sys.argv[1]), json.loads(sys.argv[2]), json.loads(sys.argv[3])
if json.loads(os.environ["TF_CONFIG"])["task"]["type"] != "chief":
    time.sleep(600)
starts = len(list(folder.glob("start-*")))
(folder / f"start-{starts}").touch()
if starts in saves:
    (folder / f"checkpoint-{starts}").touch()
sys.exit(codes[starts])
"""


@pytest.mark.parametrize(
    ("codes", "saves", "restarts", "starts", "code"),
    [
        ([1, 1, 0], [], 2, 3, 0),
        ([1, 1, 1, 0], [], 2, 3, 1),
        ([1, 1, 1, 1, 1, 0], [0, 2, 4], 2, 6, 0),
        ([1, 1, 1, 1, 1, 0], [0], 2, 3, 1),
        ([1, 0], [0], 0, 1, 1),
        ([2, 0], [], 2, 1, 2),
    ],
    ids=["recovers", "hopeless", "progresses", "progressed once", "never again", "user's mistake"],
)
def test_a_chief_is_started_again_as_long_as_it_gets_on(
    tmp_path, caplog, codes, saves, restarts, starts, code
):
    cluster = LocalCluster(
        [sys.executable, "-c", PROGRAM, str(tmp_path), str(codes), str(saves)],
        workers=1,
        servers=1,
        folder=tmp_path,
        restarts=restarts,
        progress=lambda: sorted(tmp_path.glob("checkpoint-*")),
        frozen_seconds=60,
    )
    assert cluster.run() == code
    assert len(list(tmp_path.glob("start-*"))) == starts
    assert ("giving up" in caplog.text) == (code == 1)
