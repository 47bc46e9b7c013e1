"""The README's test command is what the continuous integration runs."""

import os
import re
import shutil
import stat
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent


def marked_command(name):
    blocks = re.findall(
        rf"^<!-- {name} -->\n```sh\n(.*?)\n```$",
        (ROOT / "README.md").read_text(),
        re.MULTILINE | re.DOTALL,
    )
    assert len(blocks) == 1, f"README.md has {len(blocks)} blocks marked {name}"
    return blocks[0]


@pytest.fixture
def clone(tmp_path):
    """A repository of nothing but .ci/run and a README with the given test command."""

    def make(readme):
        (tmp_path / ".ci").mkdir()
        shutil.copy(ROOT / ".ci" / "run", tmp_path / ".ci" / "run")
        (tmp_path / "README.md").write_text(readme)
        return tmp_path

    return make


def run(folder, **environment):
    return subprocess.run(
        [str(folder / ".ci" / "run")],
        cwd="/",
        env={"PATH": os.environ["PATH"], "CI": "true", **environment},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )


def test_both_commands_are_one_line():
    for name in ("quickstart-command", "test-command"):
        assert len(marked_command(name).splitlines()) == 1


def test_lint_format_and_types_are_checked_before_the_tests_run():
    command = marked_command("test-command")
    steps = ["ruff check", "ruff format --check", "mypy", "pytest"]
    assert sorted(steps, key=command.index) == steps


def test_ci_runs_the_command_of_the_readme_and_nothing_else(clone):
    folder = clone(
        "# Title\n```sh\ntouch other\n```\n<!-- test-command -->\n```sh\n"
        'pwd > ran && echo "$CADE_DATA_DIR" >> ran\n```\n```sh\ntouch another\n```\n'
    )
    done = run(folder, CADE_DATA_DIR="/some/data")
    assert done.returncode == 0, done.stderr
    assert (folder / "ran").read_text().splitlines() == [str(folder), "/some/data"]
    assert sorted(path.name for path in folder.iterdir()) == [".ci", "README.md", "ran"]


def test_ci_runs_the_real_command_and_fails_with_it(clone):
    folder = clone((ROOT / "README.md").read_text())
    stub = folder / "bin" / "python3"
    stub.parent.mkdir()
    stub.write_text('#!/bin/sh\necho "$@" > called\nexit 7\n')
    stub.chmod(stub.stat().st_mode | stat.S_IXUSR)
    done = run(folder, PATH=f"{stub.parent}:{os.environ['PATH']}")
    assert done.returncode == 7
    assert (folder / "called").read_text() == "-m venv .venv\n"
    assert done.stdout == f"+ {marked_command('test-command')}\n"


def test_ci_says_so_when_the_readme_has_no_test_command(clone):
    done = run(clone("# Title\n"))
    assert done.returncode == 1
    assert "test-command" in done.stderr
