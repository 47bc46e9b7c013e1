import io
import logging
import subprocess
import sys

import pytest

from cade_tf.cli import logs


@pytest.fixture(autouse=True)
def restored():
    logger = logging.getLogger("cade_tf")
    before = logger.level, list(logger.handlers), logger.propagate
    yield
    logger.setLevel(before[0])
    logger.handlers[:] = before[1]
    logger.propagate = before[2]


def test_messages_below_the_level_are_not_told(capsys):
    logs.configure("warning")
    logger = logging.getLogger("cade_tf.training")
    logger.info("unimportant")
    logger.warning("important")
    assert capsys.readouterr().err == "cade: important\n"


def test_a_second_call_replaces_the_first(capsys):
    logs.configure("error")
    logs.configure("info")
    logging.getLogger("cade_tf").info("once")
    assert capsys.readouterr().err == "cade: once\n"


def test_messages_follow_standard_error_wherever_it_goes(monkeypatch):
    logs.configure("info")
    above_the_bar = io.StringIO()
    monkeypatch.setattr(sys, "stderr", above_the_bar)
    logging.getLogger("cade_tf").info("told")
    assert above_the_bar.getvalue() == "cade: told\n"


def test_tensorflow_is_silent_unless_asked():
    code = (
        "from cade_tf.cli import logs; logs.configure('info'); import tensorflow as tf; "
        "tf.constant(1); print('done')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=300, check=False
    )
    assert (done.stdout, done.stderr) == ("done\n", "")
