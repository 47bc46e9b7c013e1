"""`cade reproduce` knows the experiments without loading them, and stays on one core."""

import os
import subprocess
import sys

import pytest

from cade_tf.cli import reproduce
from cade_tf.experiments import declarations

# NumPy counts the cores when it is imported, before the command reads its flags.
ON_ONE_CORE = """
import os
import numpy
import threadpoolctl
from cade_tf.cli import reproduce
reproduce._stay_on(min(os.sched_getaffinity(0)))
pools = threadpoolctl.threadpool_info()
print(len(os.sched_getaffinity(0)), *(pool["num_threads"] for pool in pools))
"""


def test_the_words_are_the_experiments():
    assert [*reproduce.WORDS] == [*declarations.EXPERIMENTS, "curve", "data", "default", "summary"]


@pytest.mark.skipif(not hasattr(os, "sched_setaffinity"), reason="this system pins no processes")
def test_a_command_on_one_core_keeps_the_threads_of_linear_algebra_there():
    free = {name: value for name, value in os.environ.items() if "NUM_THREADS" not in name}
    command = [sys.executable, "-c", ON_ONE_CORE]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=free)
    assert len(done.stdout.split()) > 1
    assert set(done.stdout.split()) == {"1"}
