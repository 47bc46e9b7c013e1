"""Processes that are frozen, and clusters that are silent."""

import os
import signal
import subprocess
import sys
import time

import pytest

from cade_tf.scale import signs_of_life
from cade_tf.scale.signs_of_life import Watched

# Without the package around it, which takes seconds to import.
FOLDER = os.path.dirname(signs_of_life.__file__)
SENDER = f"""
import sys, time
sys.path.insert(0, {FOLDER!r})
import signs_of_life
signs_of_life.send()
print("sends", flush=True)
time.sleep(float(sys.argv[1]))
"""
WATCHER = f"""
import sys, time
sys.path.insert(0, {FOLDER!r})
from signs_of_life import AnswerWatch
with AnswerWatch(3) as watch:
    for _ in range(5):
        time.sleep(1)
        watch.heard()
    print("heard", flush=True)
    time.sleep(float(sys.argv[1]))
print("left", flush=True)
"""
# Standard error as it is where nobody reads it: a pipe that takes no more.
FULL = """
import os
os.set_blocking(2, False)
try:
    while True:
        os.write(2, bytes(4096))
except BlockingIOError:
    os.set_blocking(2, True)
"""


@pytest.fixture
def sender():
    watched = Watched(
        [sys.executable, "-c", SENDER, "600"], os.environ, stdout=subprocess.PIPE, text=True
    )
    assert watched.process.stdout.readline() == "sends\n"
    yield watched
    watched.end()
    watched.process.stdout.close()


def silent_within(watched, longest, seconds):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if watched.silent_for(longest):
            return True
        time.sleep(0.1)
    return False


def test_a_process_that_is_frozen_is_silent_and_one_that_sleeps_is_not(sender):
    assert not silent_within(sender, 30, 2)
    os.kill(sender.process.pid, signal.SIGSTOP)
    assert silent_within(sender, 2, 60)
    os.kill(sender.process.pid, signal.SIGCONT)
    time.sleep(3)
    assert not sender.silent_for(30)


def test_a_process_ends_with_the_one_that_watches_it(sender):
    reader = sender._reader
    sender._reader = os.open(os.devnull, os.O_RDONLY)
    os.close(reader)
    assert sender.process.wait(60) == 1


def test_a_process_that_is_about_to_end_may_be_quiet():
    watched = Watched([sys.executable, "-c", SENDER, "0"], os.environ, stdout=subprocess.DEVNULL)
    watched.process.wait(60)
    time.sleep(0.5)
    assert not watched.silent_for(0.1)
    watched.end()


@pytest.mark.parametrize(("sleep", "code", "last"), [(0, 0, "left"), (120, 1, "heard")])
def test_a_watch_ends_the_process_after_a_silence_and_not_before(sleep, code, last):
    command = [sys.executable, "-c", WATCHER, str(sleep)]
    result = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert result.returncode == code, result.stderr
    assert result.stdout.split()[-1] == last
    assert ("has answered for 3 s" in result.stderr) == bool(code)


def test_a_watch_ends_a_process_whose_messages_nobody_reads():
    command = [sys.executable, "-c", FULL + WATCHER, "120"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        try:
            assert process.wait(60) == 1
        finally:
            process.kill()
