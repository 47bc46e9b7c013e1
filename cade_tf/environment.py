"""What must be settled before TensorFlow is imported, which reads it only once."""

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import PureWindowsPath

PACKAGE = "cade_tf"
_WORKER = "--multiprocessing-fork"  # in the command line of a process that multiprocessing starts
BACKEND = "tensorflow"
# Windows puts a program or a script of these names before the console script.
_SCRIPTS = frozenset(("cade", "cade.exe", "cade-script.py", "cade-script.pyw"))


def started_as_command() -> bool:
    """Whether this process is `cade` or `python -m cade_tf`, and not somebody's own program.

    The commands answer help and mistakes before TensorFlow is imported, so that the package loads
    its heavy parts only where this is false. A process that a command starts to work for it has the
    command's arguments, and has no mistakes to answer.
    """
    if _WORKER in sys.orig_argv:
        return False
    if _module_of(sys.orig_argv) == PACKAGE:
        return True
    # The Windows flavour takes both kinds of slashes.
    return PureWindowsPath(sys.argv[0]).name.lower() in _SCRIPTS if sys.argv else False


def _module_of(command: Sequence[str]) -> str | None:
    """The module that `python ... -m MODULE` runs; None where Python runs anything else."""
    words = iter(command[1:])
    for word in words:
        if not word.startswith("-") or word == "-":
            return None
        if word.startswith("--"):
            if word == "--check-hash-based-pycs":
                next(words, None)
            continue
        for place, letter in enumerate(word[1:], start=1):
            if letter in "mcWX":
                value = word[place + 1 :] or next(words, None)
                if letter in "mc":
                    return value if letter == "m" else None
                break
    return None


def prepare() -> None:
    """Settings that TensorFlow and Keras read once; what the user has set stays.

    Raises:
        ImportError: Keras runs, or was told to run, on something else than TensorFlow.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    # Large tensors of every step would otherwise be mapped and unmapped by malloc, page by page;
    # TensorFlow's own pool keeps them and makes element-wise operations about three times faster.
    os.environ.setdefault("TF_CPU_ALLOCATOR_USE_BFC", "1")
    backend = _backend()
    if backend == BACKEND:
        return
    text = (
        f"KERAS_BACKEND: expected {BACKEND}, received {backend}. "
        f"Set it to {BACKEND}, or unset it, before Keras is imported."
    )
    if started_as_command():
        print(f"cade: {text}", file=sys.stderr)
        raise SystemExit(2)
    raise ImportError(text)


def _backend() -> str:
    """The backend of Keras; where nobody chose one, TensorFlow, whatever ~/.keras says."""
    keras = sys.modules.get("keras")
    if keras is not None and hasattr(keras, "config"):
        return str(keras.config.backend())
    return os.environ.setdefault("KERAS_BACKEND", BACKEND)


def quiet_import_tensorflow() -> None:
    """Imports TensorFlow without the lines that its native code writes to standard error.

    They are written before any level of logging is read. Where the import fails they are shown.
    """
    if "tensorflow" in sys.modules:
        return
    # A program of somebody else's may want Keras' wrappers of these; no command of ours does.
    unwanted = ("sklearn", "matplotlib") if started_as_command() else ()
    with _held_back_standard_error(), _hidden(unwanted):
        import tensorflow  # noqa: F401


@contextlib.contextmanager
def _hidden(packages: Sequence[str]) -> Iterator[None]:
    """Makes packages that were not imported yet seem not to be installed, for a while.

    Keras imports them where it finds them, which takes a fifth of the import of TensorFlow.
    """
    absent = [name for name in packages if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]


@contextlib.contextmanager
def _held_back_standard_error() -> Iterator[None]:
    """Drops what is written to the file of standard error; after an exception it is shown.

    The file is that of the process, number 2, which a notebook has as well, whatever object its
    `sys.stderr` is. A process without that file writes nothing there.
    """
    _flush()
    try:
        kept = os.dup(2)
    except OSError:
        yield
        return
    with os.fdopen(kept, "wb") as shown, tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        except BaseException:
            _flush()
            held.seek(0)
            shutil.copyfileobj(held, shown)
            raise
        finally:
            _flush()
            os.dup2(shown.fileno(), 2)


def _flush() -> None:
    # A process without a console has no standard error, or one that is closed.
    with contextlib.suppress(AttributeError, OSError, ValueError):
        sys.stderr.flush()
