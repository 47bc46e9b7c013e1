"""`cade completion`: what bash and zsh complete."""

import shutil
import subprocess

import pytest

from cade_tf.cli import app, shells
from cade_tf.cli.completion import WORDS
from cade_tf.config import MODELS, Config


def script_of(shell, capsys):
    assert app.main(["completion", shell]) == 0
    return capsys.readouterr().out


def completed(script, *words):
    """What bash offers after these words, the last of which is being typed."""
    typed = " ".join(f"'{word}'" for word in words)
    code = (
        f"{script}\nCOMP_WORDS=({typed}); COMP_CWORD={len(words) - 1}; _cade; "
        'printf "%s\\n" "${COMPREPLY[@]}"'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", code], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stderr == ""
    return done.stdout.split()


@pytest.fixture
def bash(capsys):
    if shutil.which("bash") is None:
        pytest.skip("bash is not installed")
    script = script_of("bash", capsys)
    return lambda *words: completed(script, *words)


def test_bash_completes_commands(bash):
    assert bash("cade", "t") == ["train", "tune"]
    assert {*app.COMMANDS} <= {*bash("cade", "")}


def test_bash_completes_the_flags_of_the_command(bash):
    assert bash("cade", "train", "--embed_") == ["--embed_walks=", "--embed_batch_size="]
    assert bash("cade", "tune", "--embed_") == []
    assert set(bash("cade", "train", "--densify", "--nodens")) == {"--nodensify_features"}


def test_bash_completes_values(bash):
    assert bash("cade", "train", "--model", "=") == [*MODELS]
    assert bash("cade", "train", "--model", "=", "cade_m") == ["cade_ms", "cade_ma"]


def test_bash_completes_words(bash):
    assert bash("cade", "data", "d") == ["describe", "download"]


def test_bash_completes_paths(bash, tmp_path):
    (tmp_path / "edges.csv").write_text("")
    assert bash("cade", "train", "--graph", "=", f"{tmp_path}/e") == [f"{tmp_path}/edges.csv"]


def test_zsh_knows_commands_flags_and_values(capsys):
    script = script_of("zsh", capsys)
    assert script.startswith("#compdef cade\n")
    for name in app.COMMANDS:
        assert f"        {name})\n" in script
    assert f":value:({' '.join(MODELS)})'" in script
    assert "'1:word:(list describe check convert download)'" in script
    if shutil.which("zsh"):
        done = subprocess.run(["zsh", "-n"], input=script, text=True, timeout=60, check=False)
        assert done.returncode == 0


def test_every_flag_is_completed():
    flags = shells.Command("train", "Train.", Config).flags()
    for name in Config.field_names():
        assert {f"--{name}=", f"--{name}"} & set(flags)


@pytest.mark.parametrize("words", [[], ["fish"], [*WORDS]])
def test_another_shell_is_refused(words, capsys):
    assert app.main(["completion", *words]) == 2
    assert "shell: expected one of bash, zsh" in capsys.readouterr().err
