"""`cade completion`: print a script that completes commands and flags in a shell."""

import dataclasses

from cade_tf.cli import app, shells
from cade_tf.options import Options

WORD, WORDS = "shell", tuple(shells.SCRIPTS)
USAGE = (
    f"cade completion {'|'.join(WORDS)}\n"
    '       bash: add  eval "$(cade completion bash)"  to ~/.bashrc\n'
    '       zsh:  add  eval "$(cade completion zsh)"   to ~/.zshrc, after compinit'
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class CompletionOptions(Options):
    """Completion."""


OPTIONS = CompletionOptions


def run(options: CompletionOptions, shell: str) -> int:
    """Runs the command."""
    commands = [
        shells.Command(name, title, module.OPTIONS, getattr(module, "WORDS", ()))
        for name, title in app.COMMANDS.items()
        for module in [app.module_of(name)]
    ]
    print(shells.SCRIPTS[shell](commands), end="")
    return 0
