"""Completion scripts of shells, made of the commands' options."""

import dataclasses
import typing
from collections.abc import Callable, Sequence

from cade_tf.options import Options


@dataclasses.dataclass(frozen=True)
class Command:
    """What a shell has to know of a command.

    Args:
        name: Its name.
        title: What it does.
        options: Class of its options.
        words: Words that it takes, such as `list` of `cade data list`.
    """

    name: str
    title: str
    options: type[Options]
    words: Sequence[str] = ()

    def choices(self) -> dict[str, tuple[str, ...]]:
        """Values of the flags that have a fixed set of them."""
        specs = {name: self.options.spec(name) for name in self.options.field_names()}
        return {name: spec.choices for name, spec in specs.items() if spec.choices}

    def flags(self) -> list[str]:
        """All flags as they are typed, up to their values."""
        typed = []
        for name in self.options.field_names():
            if self.options.kind(name)[0] is bool:
                typed += [f"--{name}", f"--no{name}"]
            else:
                typed.append(f"--{name}=")
        return [*typed, "--flagfile=", "--help"]


def bash(commands: Sequence[Command]) -> str:
    """The script for bash."""
    cases = []
    for command in commands:
        cases.append(f"        {command.name})")
        cases.append(f'            words="{" ".join([*command.words, *command.flags()])}"')
        if command.choices():
            cases.append('            case "$flag" in')
            for name, choices in command.choices().items():
                cases.append(f'                --{name}) values="{" ".join(choices)}" ;;')
            cases.append("            esac")
        cases.append("            ;;")
    return _BASH.format(
        commands=" ".join(command.name for command in commands), cases="\n".join(cases)
    )


_BASH = """# Completion of cade in bash:  eval "$(cade completion bash)"
_cade() {{
    local current="${{COMP_WORDS[COMP_CWORD]}}" flag="" words="" values=""
    COMPREPLY=()
    if (( COMP_CWORD == 1 )); then
        COMPREPLY=($(compgen -W "{commands} --help --version" -- "$current"))
        return
    fi
    # bash cuts --name=value into three words.
    if [[ "$current" == "=" ]]; then
        flag="${{COMP_WORDS[COMP_CWORD-1]}}"
        current=""
    elif [[ "${{COMP_WORDS[COMP_CWORD-1]}}" == "=" ]]; then
        flag="${{COMP_WORDS[COMP_CWORD-2]}}"
    fi
    case "${{COMP_WORDS[1]}}" in
{cases}
    esac
    if [[ -z "$flag" ]]; then
        COMPREPLY=($(compgen -W "$words" -- "$current"))
        [[ "${{COMPREPLY[0]}}" == *= ]] && compopt -o nospace 2>/dev/null
    elif [[ -n "$values" ]]; then
        COMPREPLY=($(compgen -W "$values" -- "$current"))
    else
        compopt -o filenames 2>/dev/null
        COMPREPLY=($(compgen -f -- "$current"))
    fi
    return 0
}}
complete -F _cade cade
"""


def zsh(commands: Sequence[Command]) -> str:
    """The script for zsh."""
    described = [f"        {_quoted(f'{c.name}:{_plain(c.title)}')}" for c in commands]
    cases = []
    for command in commands:
        specs = [_quoted(spec) for spec in _specs(command)]
        cases.append(f"        {command.name})")
        cases.append("            _arguments " + " \\\n                ".join(specs))
        cases.append("            ;;")
    return _ZSH.format(commands="\n".join(described), cases="\n".join(cases))


def _specs(command: Command) -> list[str]:
    specs = []
    for name in command.options.field_names():
        spec, (kind, _) = command.options.spec(name), command.options.kind(name)
        text = _plain(spec.help)
        if kind is bool:
            specs += [f"--{name}[{text}]", f"--no{name}[Not: {text}]"]
        elif spec.choices and typing.get_origin(kind) is tuple:
            specs.append(f"--{name}=[{text}]:value: _values -s , value {' '.join(spec.choices)}")
        elif spec.choices:
            specs.append(f"--{name}=[{text}]:value:({' '.join(spec.choices)})")
        else:
            specs.append(f"--{name}=[{text}]:value:{'_files' if kind is str else ' '}")
    specs += ["--flagfile=[Read flags from a file.]:file:_files", "--help[Show the flags.]"]
    if command.words:
        specs.append(f"1:word:({' '.join(command.words)})")
    return specs


def _plain(text: str) -> str:
    """A help text without what zsh would read as its own signs."""
    return text.translate(str.maketrans("[]:\\", "(),/"))


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


_ZSH = """#compdef cade
# Completion of cade in zsh:  eval "$(cade completion zsh)"
_cade() {{
    local -a commands
    commands=(
{commands}
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    local command=$words[2]
    shift words
    (( CURRENT-- ))
    case $command in
{cases}
    esac
}}
if [[ $funcstack[1] == _cade ]]; then
    _cade "$@"
else
    compdef _cade cade
fi
"""

SCRIPTS: dict[str, Callable[[Sequence[Command]], str]] = {"bash": bash, "zsh": zsh}
"""What makes the script of each shell."""
