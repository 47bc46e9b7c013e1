"""absl flags made of an `Options` class, and the class made of parsed flags.

Each command has a `FlagValues` of its own, so that it knows its own flags and no others: neither
those of another command nor the many that absl and its users define globally.
"""

import difflib
import re
import textwrap
import typing
from collections.abc import Sequence
from typing import Any, TypeVar

from absl import flags

from cade_tf.errors import InputError
from cade_tf.options import Options, either

AnyOptions = TypeVar("AnyOptions", bound=Options)


KIND_NAMES = {int: "a whole number", float: "a number", bool: "true or false", str: "text"}


def define(options: type[Options]) -> flags.FlagValues:
    """Defines a flag for every field; the dataclass checks bounds and choices, once for all."""
    values = flags.FlagValues()
    flags.DEFINE_string("flagfile", "", "File with one flag per line.", flag_values=values)
    flags.DEFINE_bool("help", False, "Show this help.", short_name="h", flag_values=values)
    for name in options.field_names():
        _define_one(options, name, values)
    return values


def _define_one(options: type[Options], name: str, values: flags.FlagValues) -> None:
    kind, _ = options.kind(name)
    default = options.default(name)
    if typing.get_origin(kind) is tuple:
        # absl's lists hold strings; the elements are typed when the dataclass is made.
        define_kind, default = flags.DEFINE_list, ",".join(map(str, default))
    else:
        define_kind = {
            bool: flags.DEFINE_bool,
            int: flags.DEFINE_integer,
            float: flags.DEFINE_float,
            str: flags.DEFINE_string,
        }[kind]
    define_kind(name, default, options.spec(name).help, flag_values=values)


def parse(options: type[AnyOptions], arguments: Sequence[str]) -> tuple[AnyOptions, list[str]]:
    """Parses a command's arguments.

    Returns:
        The options, and what is left of the arguments (words without dashes).

    Raises:
        InputError: An unknown flag, a value that does not fit, or a flagfile that cannot be read.
        HelpRequested: `--help` was among the arguments.
    """
    values = define(options)
    try:
        rest = values(["cade", *arguments])[1:]
    except flags.UnrecognizedFlagError as error:
        raise _unknown_flag(error, options) from error
    except (flags.CantOpenFlagFileError, UnicodeDecodeError) as error:
        raise InputError(
            "flagfile", "a readable text file", error, "Give the path of an existing file."
        ) from error
    except (flags.Error, ValueError) as error:
        raise _bad_value(error, options) from error
    if values.help:
        raise HelpRequested
    given = {
        name: _typed(options, name, values[name].value)
        for name in options.field_names()
        if values[name].present
    }
    for name, other in options.alternatives().items():
        # Only here is a default that was given distinguished from one that was not.
        if name in given and other in given and given[name] != options.default(name):
            raise either(name, other)
    return options.from_given(**given), rest


class HelpRequested(Exception):
    """The user asked for help instead of work."""


def _unknown_flag(error: flags.UnrecognizedFlagError, options: type[Options]) -> InputError:
    known = (*options.field_names(), "flagfile", "help")
    near = difflib.get_close_matches(error.flagname, known, n=1)
    hint = f"Did you mean --{near[0]}?" if near else "See --help."
    return InputError("flags", "a known flag", f"--{error.flagname}", hint)


def _bad_value(error: Exception, options: type[Options]) -> InputError:
    text = str(error)
    illegal = re.match(r"flag --(\w+)=(.*?): ", text, re.DOTALL)
    if illegal and illegal[1] in options.field_names():
        kind, _ = options.kind(illegal[1])
        return InputError(
            illegal[1], KIND_NAMES.get(kind, "a list"), repr(illegal[2]), "See --help."
        )
    return InputError("flags", "--name=value", text, "See --help.")


def _typed(options: type[Options], name: str, value: Any) -> Any:
    kind, _ = options.kind(name)
    if typing.get_origin(kind) is not tuple:
        return value
    element = typing.get_args(kind)[0]
    try:
        return tuple(element(v) for v in value)
    except ValueError as error:
        raise InputError(
            name,
            f"a list, each element {KIND_NAMES[element]}",
            repr(",".join(value)),
            "Separate values by commas.",
        ) from error


def help_text(options: type[Options]) -> str:
    """The flags of a command, grouped and explained."""
    lines = []
    for title, names in options.groups().items():
        lines.append(f"\n{title}:")
        for name in names:
            lines.extend(_describe(options, name))
    lines.append("\nGeneral:")
    lines.append("  --flagfile=PATH")
    lines.append("      Read flags from a file, one per line.")
    return "\n".join(lines)


def _describe(options: type[Options], name: str) -> list[str]:
    spec = options.spec(name)
    default = options.default(name) if spec.in_commands is None else spec.in_commands
    kind, _ = options.kind(name)
    if kind is bool:
        head = f"  --[no]{name}"
    elif spec.choices is not None:
        joint = "," if typing.get_origin(kind) is tuple else "|"
        head = f"  --{name}=" + joint.join(spec.choices)
    else:
        head = f"  --{name}={_placeholder(kind)}"
    text = spec.help
    if default not in (None, (), ""):
        shown = ",".join(map(str, default)) if isinstance(default, tuple) else default
        text += f" (default: {shown})"
    indent = " " * 6
    return [head, *textwrap.wrap(text, 92, initial_indent=indent, subsequent_indent=indent)]


def _placeholder(kind: Any) -> str:
    if typing.get_origin(kind) is tuple:
        element = _placeholder(typing.get_args(kind)[0])
        return f"{element},{element},..."
    return {int: "N", float: "X", str: "TEXT"}[kind]
