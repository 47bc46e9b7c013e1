"""The processes that compute cells."""

import os
import subprocess
import sys
import time

_COMMAND = """
import concurrent.futures, multiprocessing, os, time
from cade_tf.experiments.runner import end_with_parent

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(
        1, mp_context=context, initializer=end_with_parent
    ) as pool:
        print(pool.submit(os.getpid).result(), flush=True)
        pool.submit(time.sleep, 600).result()
"""


def alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def test_a_process_ends_with_the_command_that_started_it(tmp_path):
    (tmp_path / "command.py").write_text(_COMMAND)
    with subprocess.Popen(
        [sys.executable, tmp_path / "command.py"], stdout=subprocess.PIPE, text=True
    ) as command:
        worker = int(command.stdout.readline())
        assert alive(worker)
        command.kill()
    waited = time.monotonic() + 60
    while alive(worker) and time.monotonic() < waited:
        time.sleep(0.1)
    assert not alive(worker)
