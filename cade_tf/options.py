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

from cade_tf.display import html_table, short
from cade_tf.errors import InputError

LONGEST_REPR = 190
"""Letters of a repr; what does not fit is counted."""


@dataclasses.dataclass(frozen=True)
class OptionSpec:
    """What a field of an `Options` class promises beyond its type.

    Args:
        help: One or two sentences for `--help`.
        minimum: Smallest legal value, included.
        maximum: Largest legal value, included.
        choices: Legal strings; for a list field, legal elements.
        positive: Whether the value must be greater than zero.
        instead_of: Name of another field, which this one replaces: of the two only one may differ
            from its default.
        in_commands: Value on the command line when nothing is said, where it is not the default.
    """

    help: str
    minimum: float | None = None
    maximum: float | None = None
    choices: tuple[str, ...] | None = None
    positive: bool = False
    instead_of: str | None = None
    in_commands: Any = None


def option(default: Any, help: str, **promises: Any) -> Any:
    """Declares a field of an `Options` class, by the fields of `OptionSpec`."""
    return dataclasses.field(default=default, metadata={"option": OptionSpec(help, **promises)})


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

    def __init_subclass__(cls) -> None:
        # In the class itself before `dataclass` looks for it, and writes its own of all fields.
        if "__repr__" not in cls.__dict__:
            cls.__repr__ = Options.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        """The options that differ from their defaults, cut to one line."""
        shown: list[str] = []
        left = self.changed()
        length = len(type(self).__name__) + len("(, ... and 99 more)")
        for name, value in left.items():
            part = f"{name}={short(value)}"
            length += len(part) + 2
            if length > LONGEST_REPR:
                shown.append(f"... and {len(left) - len(shown)} more")
                break
            shown.append(part)
        return f"{type(self).__name__}({', '.join(shown)})"

    def _repr_html_(self) -> str:
        """What a notebook shows: the options that differ, and how many do not."""
        changed = self.changed()
        rows: dict[str, object] = {name: repr(value) for name, value in changed.items()}
        rows["..."] = f"{len(self.field_names()) - len(changed)} options at their defaults"
        return html_table(type(self).__name__, rows)

    def changed(self) -> dict[str, Any]:
        """The options that differ from their defaults, by name."""
        return {n: getattr(self, n) for n in self.field_names() if self._differs(n)}

    def __post_init__(self) -> None:
        for name in self._declared():
            object.__setattr__(self, name, self._checked(name, getattr(self, name)))
        for name, other in self.alternatives().items():
            # Another one of 0 or nothing asks for nothing.
            if self._differs(name) and self._differs(other) and getattr(self, other):
                raise either(name, other)

    @classmethod
    def _declared(cls) -> list[str]:
        """Fields that are options, in the order of the dataclass."""
        return [field.name for field in dataclasses.fields(cls) if "option" in field.metadata]

    def _differs(self, name: str) -> bool:
        return bool(getattr(self, name) != self.default(name))

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
    def from_given(cls, **given: Any) -> Self:
        """Options of which some are given; a class may complete them otherwise than by defaults."""
        return cls(**given)

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
    def default(cls, name: str) -> Any:
        """Value of a field where nothing is said."""
        return cls.__dataclass_fields__[name].default

    @classmethod
    def alternatives(cls) -> dict[str, str]:
        """Fields that replace another one, and which."""
        specs = {name: cls.spec(name) for name in cls._declared()}
        return {name: spec.instead_of for name, spec in specs.items() if spec.instead_of}

    @classmethod
    def groups(cls) -> dict[str, list[str]]:
        """Field names by the class that first declared them, in the order classes combine."""
        names = set(cls._declared())
        # A subclass that declares a field again, for another default, leaves it in its group.
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
    def from_json(cls, text: str | bytes) -> Self:
        """Reads what `to_json` wrote.

        Raises:
            InputError: The text is not JSON of this class.
        """
        try:
            values = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InputError("options", "JSON", str(error), "Restore the file.") from error
        if not isinstance(values, dict):
            raise InputError("options", "a JSON object", repr(values), "Restore the file.")
        unknown = sorted(set(values) - set(cls.field_names()))
        if unknown:
            raise InputError(
                "options",
                f"the fields of {cls.__name__}",
                ", ".join(unknown),
                "It was written by another version of cade_tf; train again.",
            )
        for name, other in cls.alternatives().items():
            # Earlier versions wrote both and read the first.
            if values.get(name, cls.default(name)) != cls.default(name):
                values.pop(other, None)
        return cls(**values)

    def to_flagfile(self) -> str:
        """The options as an absl flagfile, one flag per line, without None and what is replaced."""
        replaced = {other for name, other in self.alternatives().items() if self._differs(name)}
        lines = []
        for name in self.field_names():
            value = getattr(self, name)
            if name in replaced:
                continue
            if isinstance(value, bool):
                lines.append(f"--{name}" if value else f"--no{name}")
            elif isinstance(value, tuple):
                lines.append(f"--{name}=" + ",".join(map(str, value)))
            elif value is not None:
                lines.append(f"--{name}={value}")
        return "\n".join(lines) + "\n"

    def replace(self, **changes: Any) -> Self:
        """A copy with some fields changed, checked again."""
        return dataclasses.replace(self, **changes)


def either(name: str, other: str) -> InputError:
    """The mistake of giving two options of which one replaces the other."""
    return InputError(name, f"either {name} or {other}", "both", "Leave one of them out.")


def _check_scalar(name: str, kind: Any, value: Any, spec: OptionSpec) -> Any:
    if kind is float and isinstance(value, int) and not isinstance(value, bool):
        value = float(value)
    if not isinstance(value, kind) or (kind is not bool and isinstance(value, bool)):
        raise InputError(name, f"a value of type {kind.__name__}", repr(value), "Change it.")
    if kind is float and not math.isfinite(value):
        raise InputError(name, "a finite number", value, "Change it.")
    if kind is str and (value != value.strip() or len(value.splitlines()) > 1):
        # A flagfile, which holds one flag per line, could not give it back.
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
