"""The flagfiles that come with the code name flags that exist and values that fit."""

import importlib
import re
from pathlib import Path

import pytest

from cade_tf.cli import app, flags
from cade_tf.errors import InputError

ROOT = Path(__file__).resolve().parents[2]
FLAGFILES = sorted((ROOT / "flags").rglob("*.flags"))


def complaint_of(command, path):
    """What the command has to say against a flagfile; nothing where it fits."""
    options = importlib.import_module(f"cade_tf.cli.{command}").OPTIONS
    try:
        _, words = flags.parse(options, [f"--flagfile={path}"])
    except InputError as error:
        return str(error)
    return "" if not words else f"words without dashes: {words}"


@pytest.mark.parametrize("path", FLAGFILES, ids=lambda path: path.stem)
def test_a_flagfile_fits_one_of_the_commands(path):
    assert any(complaint_of(name, path) == "" for name in app.COMMANDS), complaint_of("train", path)


def test_flagfiles_named_in_the_readme_fit_the_command_they_are_given_to():
    uses = re.findall(r"cade (\w+)[^\n]*?--flagfile=(\S+)", (ROOT / "README.md").read_text())
    assert uses
    complaints = {use: complaint_of(use[0], ROOT / use[1]) for use in uses}
    assert not any(complaints.values()), complaints
