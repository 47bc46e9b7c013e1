"""`cade COMMAND --flags`: finds the command, parses its flags, runs it, reports mistakes.

A command is a module `cade_tf.cli.COMMAND` with `OPTIONS`, the class of its options, and
`run(options)`; one that takes a word has `WORDS`, all there are, `WORD`, what they are, and
`run(options, word)`. It is imported only when called, and imports TensorFlow only when it runs, so
that help and mistakes are answered at once.
"""

import errno
import importlib
import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

from cade_tf.cli import flags
from cade_tf.errors import InputError

COMMANDS = {
    "train": "Train a model, embed the graph, score the embeddings.",
    "launch": "Train on a cluster of processes of this machine.",
    "embed": "Embed a graph with a trained run.",
    "export": "Write a trained run as a SavedModel for TensorFlow Serving.",
    "explain": "Show what the attention between two nodes chose.",
    "neighbors": "Find the nodes nearest to a node.",
    "links": "Predict links: hide edges, train and score; or rank the links a node lacks.",
    "evaluate": "Score a run or an embeddings file.",
    "tune": "Search for good flags on the validation nodes.",
    "reproduce": "Run an experiment of the paper and write its report.",
    "bench": "Measure speed and memory, and write the report.",
    "data": "List, describe, check, convert and download graphs.",
    "completion": "Print a script that completes commands and flags in a shell.",
}


def main(arguments: Sequence[str] | None = None) -> int:
    """Entry point of the console script.

    Args:
        arguments: Command and flags; by default those of the process.

    Returns:
        Exit code: 0, 1 for a failure of the machine, 2 for a mistake of the user.
    """
    arguments = list(sys.argv[1:] if arguments is None else arguments)
    return _guarded(lambda: _dispatch(arguments))


def _dispatch(arguments: list[str]) -> int:
    if not arguments or arguments[0] in ("help", "-h", "--help", "-help"):
        print(_overview())
        return 0 if arguments else 2
    if arguments[0] in ("-v", "--version"):
        for package in ("cade_tf", "tensorflow", "keras"):
            print(package, version(package))
        return 0
    name, *rest = arguments
    if name not in COMMANDS:
        raise InputError("command", "one of " + ", ".join(COMMANDS), name, "See cade --help.")
    return _run(name, rest)


def _run(name: str, arguments: list[str]) -> int:
    module = module_of(name)
    try:
        options, words = flags.parse(module.OPTIONS, arguments)
    except flags.HelpRequested:
        usage = getattr(module, "USAGE", f"cade {name} [--flags]")
        print(f"{COMMANDS[name]}\n\nUsage: {usage}\n{flags.help_text(module.OPTIONS)}")
        return 0
    known, remedy = getattr(module, "WORDS", None), f"See cade {name} --help."
    if known is None and words:
        raise InputError("arguments", "flags only", " ".join(words), remedy)
    if known is not None and (len(words) != 1 or words[0] not in known):
        received = " ".join(words) or "none"
        raise InputError(module.WORD, "one of " + ", ".join(known), received, remedy)
    return module.run(options, *words) or 0


def module_of(name: str) -> Any:
    """The module of a command."""
    return importlib.import_module(f"cade_tf.cli.{name}")


def _guarded(work: Callable[[], int]) -> int:
    """Runs a command; what the user or the machine did wrong becomes one line and a code."""
    try:
        code = work()
        # Here rather than at exit, where a reader that went away could no longer be excused.
        sys.stdout.flush()
        return code
    except InputError as error:
        return _fail(error)
    except BrokenPipeError:
        # The reader of our output (head, less) went away; that is no mistake.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (OSError, FloatingPointError) as error:
        return _fail(error, code=1)
    except KeyboardInterrupt as error:
        # A run that was asked to stop says what it has saved, and by which signal.
        print(f"cade: {str(error) or 'stopped.'}", file=sys.stderr)
        return getattr(error, "exit_code", 130)


def _fail(error: Exception, code: int = 2) -> int:
    text = " ".join(str(error).split())
    if isinstance(error, OSError) and error.errno == errno.ENOSPC:
        text += ". Free some space; what was complete before is intact."
    print(f"cade: {text}", file=sys.stderr)
    return code


def _overview() -> str:
    width = max(map(len, COMMANDS))
    lines = [f"  {name:<{width}}  {text}" for name, text in COMMANDS.items()]
    return "\n".join(
        [
            "CADE: unsupervised, inductive, context-aware node embeddings.",
            "",
            "Usage: cade COMMAND [--flags]",
            "",
            *lines,
            "",
            "cade COMMAND --help explains the flags of a command.",
        ]
    )
