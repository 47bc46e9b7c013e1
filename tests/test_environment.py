"""What is settled before TensorFlow is imported, and who started the process."""

import os
import subprocess
import sys
import types

import pytest

from cade_tf import environment


@pytest.mark.parametrize(
    ("command", "script"),
    [
        (["python", "-m", "cade_tf", "train"], "-m"),
        (["python", "-m", "cade_tf"], "/site-packages/cade_tf/__main__.py"),
        (["python3.12", "-X", "importtime", "-W", "error", "-m", "cade_tf"], "-m"),
        (["python", "-Im", "cade_tf", "-m", "other"], "-m"),
        (["python", "-mcade_tf"], "-m"),
        (["python", "--check-hash-based-pycs", "never", "-m", "cade_tf"], "-m"),
        (["python", "/usr/bin/cade", "--help"], "/usr/bin/cade"),
        (["python.exe", r"C:\Python\Scripts\cade.exe"], r"C:\Python\Scripts\cade.exe"),
        (["python.exe", r"C:\Scripts\cade-script.py"], r"C:\Scripts\cade-script.py"),
        (["python.exe", r"C:\Scripts\CADE.EXE"], r"C:\Scripts\CADE.EXE"),
    ],
)
def test_commands_are_recognised(command, script, monkeypatch):
    monkeypatch.setattr(sys, "orig_argv", command)
    monkeypatch.setattr(sys, "argv", [script, "train"])
    assert environment.started_as_command()


@pytest.mark.parametrize(
    ("command", "script"),
    [
        (["python"], ""),
        (["python", "-m", "pytest", "-m", "cade_tf"], "/site-packages/pytest/__main__.py"),
        (["python", "/usr/bin/pytest", "tests/cli"], "/usr/bin/pytest"),
        (["python", "-m", "cade_tf.benchmark.processes"], "-m"),
        (["python", "-m", "ipykernel_launcher"], "/site-packages/ipykernel_launcher.py"),
        (["python", "-c", "import cade_tf", "-m", "cade_tf"], "-c"),
        (["python", "-", "-m", "cade_tf"], "-"),
        (["python", "-c", "spawn_main()", "--multiprocessing-fork"], "/usr/bin/cade"),
        (["python", "cade.py"], "cade.py"),
        (["python", "my_cade"], "my_cade"),
        (["python", "/home/cade/train.py", "-m", "cade_tf"], "/home/cade/train.py"),
    ],
)
def test_programs_of_others_are_not(command, script, monkeypatch):
    monkeypatch.setattr(sys, "orig_argv", command)
    monkeypatch.setattr(sys, "argv", [script])
    assert not environment.started_as_command()


def test_an_embedded_python_without_arguments_is_no_command(monkeypatch):
    monkeypatch.setattr(sys, "orig_argv", [])
    monkeypatch.setattr(sys, "argv", [])
    assert not environment.started_as_command()


def python(code, **changes):
    """Runs code in a process of its own; None unsets a variable."""
    variables = {**os.environ, **changes}
    return subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={name: value for name, value in variables.items() if value is not None},
    )


def test_what_is_imported_afterwards_gets_the_fast_allocator_and_is_quiet():
    code = (
        "import cade_tf, os; "
        "print(os.environ['TF_CPU_ALLOCATOR_USE_BFC'], os.environ['TF_CPP_MIN_LOG_LEVEL'])"
    )
    unset = dict.fromkeys(("TF_CPU_ALLOCATOR_USE_BFC", "TF_CPP_MIN_LOG_LEVEL"))
    assert python(code, **unset).stdout == "1 3\n"
    chosen = {"TF_CPU_ALLOCATOR_USE_BFC": "0", "TF_CPP_MIN_LOG_LEVEL": "1"}
    assert python(code, **chosen).stdout == "0 1\n"


def test_another_backend_of_keras_is_refused_with_the_remedy():
    done = python("import cade_tf", KERAS_BACKEND="jax")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1] == (
        "ImportError: KERAS_BACKEND: expected tensorflow, received jax. "
        "Set it to tensorflow, or unset it, before Keras is imported."
    )


def test_a_command_refuses_it_in_one_line():
    done = subprocess.run(
        [sys.executable, "-m", "cade_tf", "--help"],
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
        env={**os.environ, "KERAS_BACKEND": "torch"},
    )
    assert done.returncode == 2
    assert done.stderr.startswith("cade: KERAS_BACKEND: expected tensorflow, received torch.")
    assert done.stderr.count("\n") == 1


def test_keras_that_already_runs_on_something_else_is_refused(monkeypatch):
    config = types.SimpleNamespace(backend=lambda: "jax")
    monkeypatch.setitem(sys.modules, "keras", types.SimpleNamespace(config=config))
    with pytest.raises(ImportError, match="received jax"):
        environment.prepare()


def test_where_nobody_chose_a_backend_it_is_tensorflow(tmp_path):
    (tmp_path / ".keras").mkdir()
    (tmp_path / ".keras" / "keras.json").write_text('{"backend": "jax"}')
    code = "import cade_tf, os; print(os.environ['KERAS_BACKEND'])"
    done = python(code, KERAS_BACKEND=None, KERAS_HOME=str(tmp_path / ".keras"))
    assert done.stdout == "tensorflow\n"


# The module by itself: importing its package would import TensorFlow.
QUIET = (
    f"import runpy; quiet = runpy.run_path({environment.__file__!r})['quiet_import_tensorflow']; "
)


def test_tensorflow_is_imported_without_its_lines():
    code = (
        "import cade_tf, os, tensorflow as tf; tf.config.list_physical_devices(); tf.constant(1); "
        "os.write(2, b'seen again'); print('done')"
    )
    done = python(code, TF_CPP_MIN_LOG_LEVEL=None, CUDA_VISIBLE_DEVICES=None)
    assert (done.stdout, done.stderr) == ("done\n", "seen again")


@pytest.mark.parametrize(
    "before", ["import os; os.close(2); ", "import sys; sys.stderr = None; ", ""]
)
def test_a_process_may_have_no_standard_error(before, tmp_path):
    (tmp_path / "tensorflow.py").write_text("import os, sys\nprint('imported')\n")
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); " + before + QUIET
    assert python(code + "quiet(); print('done')").stdout == "imported\ndone\n"


def test_what_was_held_back_is_shown_where_the_import_fails(tmp_path):
    (tmp_path / "tensorflow.py").write_text(
        "import os\nos.write(2, b'the native reason\\n')\nraise ImportError('broken')\n"
    )
    code = f"import sys; sys.path.insert(0, {str(tmp_path)!r}); " + QUIET + "quiet()"
    done = python(code)
    assert "the native reason" in done.stderr
    assert "ImportError: broken" in done.stderr
