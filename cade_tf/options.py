"""Frozen, validated dataclasses whose fields know how to become flags.

A field declared with `option` carries its help text, bounds and choices. The command line makes
absl flags of the fields (`cade_tf.cli.flags`); the library only ever sees the dataclass.
"""

import dataclasses
import functools
import inspect
import json
import math
import types
import typing
from collections.abc import Sequence
from typing import Any, Self

from cade_tf.errors import InputError


@dataclasses.dataclass(frozen=True)
class OptionSpec:
    """What a field of an `Options` class promises beyond its type."""

    help: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] | None = None
    positive: bool = False


def option(
    default: Any,
    help: str,
    *,
    minimum: float | None = None,
    maximum: float | None = None,
    choices: Sequence[str] | None = None,
    positive: bool = False,
) -> Any:
    """Declares a field of an `Options` class.

    Args:
        default: Value when nothing is said.
        help: One or two sentences for `--help`.
        minimum: Smallest legal value, included.
        maximum: Largest legal value, included.
        choices: Legal strings; for a list field, legal elements.
        positive: Whether the value must be greater than zero.

    Returns:
        A dataclass field.
    """
    spec = OptionSpec(help, minimum, maximum, tuple(choices) if choices else None, positive)
    return dataclasses.field(default=default, metadata={"option": spec})


@functools.cache
def _field_types(cls: type) -> dict[str, Any]:
    return typing.get_type_hints(cls)


def _split_optional(annotation: Any) -> tuple[Any, bool]:
    """`int | None` -> (int, True); `int` -> (int, False)."""
    if isinstance(annotation, types.UnionType):
        (inner,) = (a for a in typing.get_args(annotation) if a is not types.NoneType)
        return inner, True
    return annotation, False


@dataclasses.dataclass(frozen=True, kw_only=True)
class Options:
    """Base of all option classes: checks every field on construction.

    Subclasses combine by inheritance, so that a command takes exactly the groups it uses and one
    name has one meaning everywhere.
    """

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            value = self._checked(field.name, getattr(self, field.name))
            object.__setattr__(self, field.name, value)

    def _checked(self, name: str, value: Any) -> Any:
        kind, optional = self.kind(name)
        spec = self.spec(name)
        if value is None:
            if optional:
                return None
            raise InputError(name, kind.__name__, "None", "Give a value.")
        if typing.get_origin(kind) is tuple:
            element = typing.get_args(kind)[0]
            if isinstance(value, str) or not isinstance(value, Sequence):
                raise InputError(name, "a list", repr(value), "Give several values.")
            return tuple(_check_scalar(name, element, v, spec) for v in value)
        return _check_scalar(name, kind, value, spec)

    @classmethod
    def kind(cls, name: str) -> tuple[Any, bool]:
        """Type of a field, and whether it may be None."""
        # mypy takes the hash of the class for the hash of its instances.
        return _split_optional(_field_types(typing.cast(Any, cls))[name])

    @classmethod
    def spec(cls, name: str) -> OptionSpec:
        """Help, bounds and choices of a field."""
        spec: OptionSpec = cls.__dataclass_fields__[name].metadata["option"]
        return spec

    @classmethod
    def groups(cls) -> dict[str, list[str]]:
        """Field names by the class that first declared them, in the order classes combine."""
        names = {field.name for field in dataclasses.fields(cls)}
        # A subclass that declares a field anew, for another default, leaves it in its group.
        declared = {n: base for base in cls.__mro__ for n in inspect.get_annotations(base)}
        groups: dict[str, list[str]] = {}
        for base in cls.__mro__:
            own = [n for n in inspect.get_annotations(base) if n in names and declared[n] is base]
            if own:
                title = (base.__doc__ or base.__name__).strip().splitlines()[0].rstrip(".")
                groups[title] = own
        return groups

    @classmethod
    def field_names(cls) -> tuple[str, ...]:
        """Names of all fields, group by group."""
        return tuple(name for names in cls.groups().values() for name in names)

    def to_json(self) -> str:
        """The options as readable JSON; `from_json` reads it back."""
        return json.dumps({n: getattr(self, n) for n in self.field_names()}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Reads what `to_json` wrote.

        Raises:
            InputError: The text is not JSON of this class.
        """
        try:
            values = json.loads(text)
        except json.JSONDecodeError as error:
            raise InputError("config.json", "JSON", str(error), "Restore the file.") from error
        if not isinstance(values, dict):
            raise InputError("config.json", "a JSON object", repr(values), "Restore the file.")
        unknown = sorted(set(values) - set(cls.field_names()))
        if unknown:
            raise InputError(
                "config.json",
                f"the fields of {cls.__name__}",
                ", ".join(unknown),
                "It was written by another version of cade_tf; train again.",
            )
        return cls(**values)

    def to_flagfile(self) -> str:
        """The options as an absl flagfile, one flag a line; None is left out."""
        lines = []
        for name in self.field_names():
            value = getattr(self, name)
            if isinstance(value, bool):
                lines.append(f"--{name}" if value else f"--no{name}")
            elif isinstance(value, tuple):
                lines.append(f"--{name}=" + ",".join(map(str, value)))
            elif value is not None:
                lines.append(f"--{name}={value}")
        return "\n".join(lines) + "\n"

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed, checked anew."""
        return dataclasses.replace(self, **changes)


def _check_scalar(name: str, kind: Any, value: Any, spec: OptionSpec) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        raise InputError(name, f"a value of type {kind.__name__}", repr(value), "Change it.")
    if kind is float and not math.isfinite(value):
        raise InputError(name, "a finite number", value, "Change it.")
    if kind is str and (value != value.strip() or len(value.splitlines()) > 1):
        # A flagfile, which holds one flag a line, could not give it back.
        raise InputError(name, "one line without blanks around it", repr(value), "Rename it.")
    if spec.choices is not None and value not in spec.choices:
        raise InputError(name, "one of " + ", ".join(spec.choices), repr(value), "Choose one.")
    if spec.positive and not value > 0:
        raise InputError(name, "a value above 0", value, "Raise it.")
    if spec.minimum is not None and value < spec.minimum:
        raise InputError(name, f"at least {spec.minimum}", value, "Raise it.")
    if spec.maximum is not None and value > spec.maximum:
        raise InputError(name, f"at most {spec.maximum}", value, "Lower it.")
    return value
