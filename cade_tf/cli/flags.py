"""absl flags made of an `Options` class, and the class made of parsed flags.

Each command has a `FlagValues` of its own, so that it knows its own flags and no others: neither
those of another command nor the many that absl and its users define globally.
"""

import difflib
import typing
from collections.abc import Sequence
from typing import Any, TypeVar

from absl import flags

from cade_tf.errors import InputError
from cade_tf.options import Options

AnyOptions = TypeVar("AnyOptions", bound=Options)


def define(options: type[Options]) -> flags.FlagValues:
    """Defines a flag for every field, with its default, bounds and choices."""
    values = flags.FlagValues()
    flags.DEFINE_string("flagfile", "", "File with one flag a line.", flag_values=values)
    flags.DEFINE_bool("help", False, "Show this help.", short_name="h", flag_values=values)
    for name in options.field_names():
        _define_one(options, name, values)
    return values


def _define_one(options: type[Options], name: str, values: flags.FlagValues) -> None:
    kind, _ = options.kind(name)
    spec = options.spec(name)
    default = options.__dataclass_fields__[name].default
    common = {"name": name, "default": default, "help": spec.help, "flag_values": values}
    if typing.get_origin(kind) is tuple:
        # absl's lists hold strings; the elements are typed when the dataclass is made.
        flags.DEFINE_list(**common | {"default": ",".join(map(str, default))})
    elif kind is bool:
        flags.DEFINE_bool(**common)
    elif kind is int:
        flags.DEFINE_integer(lower_bound=_whole(spec.minimum), **common)
    elif kind is float:
        flags.DEFINE_float(lower_bound=spec.minimum, upper_bound=spec.maximum, **common)
    elif spec.choices is not None:
        flags.DEFINE_enum(enum_values=list(spec.choices), **common)
    else:
        flags.DEFINE_string(**common)


def _whole(bound: float | None) -> int | None:
    return None if bound is None else int(bound)


def parse(options: type[AnyOptions], arguments: Sequence[str]) -> tuple[AnyOptions, list[str]]:
    """Parses a command's arguments.

    Args:
        options: Class of the command's options.
        arguments: What follows the command's name.

    Returns:
        The options, and what is left of the arguments (words without dashes).

    Raises:
        InputError: An unknown flag, or a value that does not fit.
        HelpRequested: `--help` was among the arguments.
    """
    values = define(options)
    values.set_gnu_getopt(True)
    try:
        rest = values(["cade", *arguments])[1:]
    except flags.UnrecognizedFlagError as error:
        raise _unknown_flag(error, options) from error
    except flags.Error as error:
        raise _bad_value(error) from error
    if values.help:
        raise HelpRequested
    given = {name: _typed(options, name, values[name].value) for name in options.field_names()}
    return options(**given), rest


class HelpRequested(Exception):  # noqa: N818 - not an error
    """The user asked for help instead of work."""


def _unknown_flag(error: flags.UnrecognizedFlagError, options: type[Options]) -> InputError:
    near = difflib.get_close_matches(error.flagname, options.field_names(), n=1)
    hint = f"Did you mean --{near[0]}?" if near else "See --help."
    return InputError("flags", "a known flag", f"--{error.flagname}", hint)


def _bad_value(error: flags.Error) -> InputError:
    text = " ".join(str(error).split())
    return InputError("flags", "values that fit their flags", text, "See --help.")


def _typed(options: type[Options], name: str, value: Any) -> Any:
    kind, _ = options.kind(name)
    if typing.get_origin(kind) is not tuple:
        return value
    element = typing.get_args(kind)[0]
    try:
        return tuple(element(v.strip()) for v in value or ())
    except ValueError as error:
        raise InputError(
            name, f"a list of {element.__name__}", ",".join(value), "Separate values by commas."
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
    lines.append("      Read flags from a file, one a line.")
    return "\n".join(lines)


def _describe(options: type[Options], name: str) -> list[str]:
    spec = options.spec(name)
    default = options.__dataclass_fields__[name].default
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
    return [head, *_wrapped(text)]


def _placeholder(kind: Any) -> str:
    if typing.get_origin(kind) is tuple:
        element = _placeholder(typing.get_args(kind)[0])
        return f"{element},{element},..."
    return {int: "N", float: "X", str: "TEXT"}[kind]


def _wrapped(text: str) -> list[str]:
    import textwrap

    return textwrap.wrap(text, width=92, initial_indent=" " * 6, subsequent_indent=" " * 6)
