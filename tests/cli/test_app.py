import importlib.metadata
import os
import subprocess
import sys
import textwrap
import types

import pytest

from cade_tf.cli import app
from cade_tf.config import Config
from cade_tf.errors import InputError

PROBE = """
    import sys, types
    from cade_tf.cli import app
    from cade_tf.config import Config

    def run(options):
        {body}

    app.COMMANDS["probe"] = "Probe."
    sys.modules["cade_tf.cli.probe"] = types.SimpleNamespace(OPTIONS=Config, run=run)
    sys.exit(app.main(sys.argv[1:]))
"""


def run_probe(body, *arguments, **keywords):
    """Runs a command with the given body in a process of its own."""
    code = textwrap.dedent(PROBE).format(body=body)
    return subprocess.run(
        [sys.executable, "-c", code, "probe", *arguments],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        **keywords,
    )


@pytest.fixture
def probe(monkeypatch):
    """A command that records what it is given."""
    calls = []
    module = types.SimpleNamespace(
        OPTIONS=Config, run=lambda options, *word: calls.append((options, *word))
    )
    monkeypatch.setitem(app.COMMANDS, "probe", "Records what it is given.")
    monkeypatch.setitem(sys.modules, "cade_tf.cli.probe", module)
    module.calls = calls
    return module


def test_a_command_gets_its_options(probe, capsys):
    assert app.main(["probe", "--dim=8"]) == 0
    assert probe.calls == [(Config.from_given(dim=8),)]
    assert app.main(["probe", "word"]) == 2
    assert "arguments: expected flags only, received word" in capsys.readouterr().err


def test_a_command_gets_one_of_its_words(probe, capsys):
    probe.WORD, probe.WORDS = "thing", ("this", "that")
    assert app.main(["probe", "that"]) == 0
    assert probe.calls == [(Config.from_given(), "that")]
    for words in ([], ["other"], ["this", "that"]):
        assert app.main(["probe", *words]) == 2
        assert "thing: expected one of this, that, received" in capsys.readouterr().err


def test_a_command_may_choose_its_exit_code(probe):
    probe.run = lambda options: 3
    assert app.main(["probe"]) == 3


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["help"]])
def test_help_lists_the_commands(arguments, capsys):
    assert app.main(arguments) == 0
    shown = capsys.readouterr().out
    for name, text in app.COMMANDS.items():
        assert name in shown
        assert text in shown


def test_no_command_shows_the_same_help_as_a_mistake(capsys):
    assert app.main([]) == 2
    assert "Usage: cade COMMAND" in capsys.readouterr().out


def test_version(capsys):
    assert app.main(["--version"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        f"{name} {importlib.metadata.version(name)}" for name in ("cade_tf", "tensorflow", "keras")
    ]


def test_help_of_a_command_starts_with_what_it_does(probe, capsys):
    assert app.main(["probe", "--help"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("Records what it is given.\n\nUsage: cade probe [--flags]\n")
    assert "--dim=N" in shown
    assert not probe.calls


def test_a_command_may_describe_its_usage(probe, capsys):
    probe.USAGE = "cade probe PATH"
    app.main(["probe", "--help"])
    assert "Usage: cade probe PATH\n" in capsys.readouterr().out


def test_an_unknown_command_names_the_known_ones(capsys):
    assert app.main(["trian"]) == 2
    shown = capsys.readouterr().err
    assert "trian" in shown
    assert "train" in shown


def test_an_input_error_is_one_line_and_code_2(probe, capsys):
    def run(options):
        raise InputError("graph", "a file", "two\nlines", "Change it.")

    probe.run = run
    assert app.main(["probe"]) == 2
    shown = capsys.readouterr()
    assert shown.err == "cade: graph: expected a file, received two lines. Change it.\n"
    assert shown.out == ""


def test_a_failure_of_the_machine_is_one_line_and_code_1(probe, capsys):
    def run(options):
        raise OSError(28, "No space left on device", "embeddings.npz")

    probe.run = run
    assert app.main(["probe"]) == 1
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1
    assert "embeddings.npz" in shown
    assert "Free some space" in shown


def test_interruption_is_one_line_and_code_130(probe, capsys):
    def run(options):
        raise KeyboardInterrupt

    probe.run = run
    assert app.main(["probe"]) == 130
    assert capsys.readouterr().err == "cade: stopped.\n"


def test_a_bug_keeps_its_traceback(probe):
    def run(options):
        raise KeyError("a bug")

    probe.run = run
    with pytest.raises(KeyError, match="a bug"):
        app.main(["probe"])


@pytest.mark.parametrize(
    "arguments",
    [
        ["--no_such_flag"],
        ["--dim=wide"],
        ["--k=0"],
        ["--flagfile=/no/such/file"],
        ["--dataset=a", "--graph=b"],
    ],
)
def test_in_a_process_a_mistake_is_one_line_on_stderr_and_exit_code_2(arguments):
    done = run_probe("print('ran')", *arguments)
    assert done.returncode == 2
    assert done.stdout == ""
    assert done.stderr.startswith("cade: ")
    assert done.stderr.count("\n") == 1


def test_a_reader_that_goes_away_is_no_mistake():
    reading, writing = os.pipe()
    os.close(reading)
    code = textwrap.dedent(PROBE).format(body="print('x' * 100)")
    buffered = {k: v for k, v in os.environ.items() if k != "PYTHONUNBUFFERED"}
    for arguments in (["probe"], ["probe", "--help"], ["--help"]):
        done = subprocess.run(
            [sys.executable, "-c", code, *arguments],
            stdout=writing,
            env=buffered,
            stderr=subprocess.PIPE,
            text=True,
            timeout=300,
            check=False,
        )
        assert (done.returncode, done.stderr) == (0, "")
    os.close(writing)
