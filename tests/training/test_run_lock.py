"""One writer per run directory, and what a finished run consists of."""

import json
import os
import subprocess
import sys
import threading

import pytest

from cade_tf.errors import InputError
from cade_tf.training import manifest, run_lock

HOLDER = """
import sys, time
from cade_tf.training.run_lock import hold
with hold(sys.argv[1]):
    print("held", flush=True)
    time.sleep(600)
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the folder."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout.readline() == "held\n"
    yield process
    process.kill()
    process.wait()
    process.stdout.close()


def test_a_second_process_is_told_who_holds_the_folder_and_touches_nothing(holder, tmp_path):
    part = tmp_path / ".result.json.abcd1234.part"
    part.touch()
    before = (tmp_path / run_lock.LOCK_FILE).read_bytes()
    held = pytest.raises(InputError, match=f"held by process {holder.pid} on ")
    with held, run_lock.hold(tmp_path):
        pass
    assert part.exists()
    assert (tmp_path / run_lock.LOCK_FILE).read_bytes() == before


def test_a_lock_dies_with_its_holder_and_leftovers_are_removed(holder, tmp_path):
    (tmp_path / "encoder" / ".saving-abcd1234").mkdir(parents=True)
    (tmp_path / "train").mkdir()
    for part in (".embeddings.npy.abcd1234.part", "train/.projector.bytes.abcd1234.part"):
        (tmp_path / part).touch()
    (tmp_path / ".mine.part").touch()
    holder.kill()
    holder.wait()
    with run_lock.hold(tmp_path):
        assert json.loads((tmp_path / run_lock.LOCK_FILE).read_text())["pid"] == os.getpid()
    assert sorted(path.name for path in tmp_path.rglob("*")) == [".mine.part", "encoder", "train"]


def test_the_same_thread_may_hold_a_folder_again_and_another_may_not(tmp_path):
    refused = []

    def other():
        try:
            with run_lock.hold(tmp_path):
                pass
        except InputError as error:
            refused.append(str(error))

    with run_lock.hold(tmp_path), run_lock.hold(tmp_path):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert "another thread" in refused[0]
    assert not list(tmp_path.iterdir())


def test_a_process_that_does_not_write_needs_no_lock(holder, tmp_path):
    with run_lock.hold(tmp_path, needed=False):
        pass


def test_a_manifest_notices_each_change_and_can_be_withdrawn(tmp_path):
    for name in ("a", "b"):
        (tmp_path / name).write_bytes(b"content")
    manifest.record(tmp_path, ("a", "b", "missing"))
    manifest.check(tmp_path, "a", "b", "missing")
    (tmp_path / "a").write_bytes(b"longer content")
    (tmp_path / "b").write_bytes(b"Content")
    with pytest.raises(InputError, match=r"7 bytes.*14 bytes"):
        manifest.check(tmp_path, "a")
    with pytest.raises(InputError, match="SHA-256"):
        manifest.check(tmp_path, "b")
    manifest.withdraw(tmp_path, ["a"])
    manifest.check(tmp_path, "a")
    manifest.record(tmp_path, ["b"])
    manifest.check(tmp_path, "b")
    (tmp_path / manifest.MANIFEST_FILE).write_bytes(b'{"files": [')
    with pytest.raises(InputError, match="damaged content"):
        manifest.check(tmp_path, "b")
    manifest.withdraw(tmp_path)
    assert not manifest.exists(tmp_path)
