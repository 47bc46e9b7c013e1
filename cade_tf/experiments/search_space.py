"""A search space as a flagfile: some flags fixed, some with several values."""

import dataclasses
import re
from pathlib import Path
from typing import Any

from cade_tf.config import Config
from cade_tf.errors import InputError

_RANGE = re.compile(r"(log:)?([-+.\deE]+)\.\.([-+.\deE]+)")
_FORM = "--name=low..high, --name=log:low..high, --name=one|another, or any flag of cade train"


@dataclasses.dataclass(frozen=True)
class Range:
    """Numbers between two, both included.

    Attributes:
        low: Smallest.
        high: Largest.
        whole: Whether only whole numbers.
        log: Whether small and large ones are tried equally often by order of magnitude.
    """

    low: float
    high: float
    whole: bool
    log: bool


@dataclasses.dataclass(frozen=True)
class Choices:
    """Some values, as they stand after `--name=`."""

    values: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class SearchSpace:
    """What is tried.

    Attributes:
        fixed: Flags that are the same in every trial.
        searched: Flags that differ, by name.

    Example:

    >>> space = SearchSpace.parse("--dim=32\\n--k=2..10\\n--model=cade_ms|cade_ma\\n")
    >>> space.searched["k"]
    Range(low=2.0, high=10.0, whole=True, log=False)
    >>> space.flags({"k": 4, "model": "cade_ma"})
    ['--dim=32', '--k=4', '--model=cade_ma']
    """

    fixed: tuple[str, ...]
    searched: dict[str, Range | Choices]

    @classmethod
    def read(cls, path: str | Path) -> "SearchSpace":
        """Reads a file.

        Raises:
            InputError: It cannot be read, or a line is wrong.
        """
        try:
            text = Path(path).read_text()
        except (OSError, UnicodeDecodeError) as error:
            raise InputError("search", "a readable text file", error, "Give its path.") from error
        try:
            return cls.parse(text)
        except InputError as error:
            raise error.within(path) from error

    @classmethod
    def parse(cls, text: str) -> "SearchSpace":
        """Reads lines; blank ones and comments (#) are skipped.

        Raises:
            InputError: A line is wrong, or nothing is searched.
        """
        fixed: list[str] = []
        searched: dict[str, Range | Choices] = {}
        for line in (line.strip() for line in text.splitlines()):
            if not line or line.startswith("#"):
                continue
            name, _, value = line.removeprefix("--").partition("=")
            if not line.startswith("--"):
                raise InputError("search", _FORM, repr(line), "Begin the line with two dashes.")
            found = _searched(name, value)
            if found is None:
                fixed.append(line)
            elif name not in Config.field_names():
                raise InputError("search", "a flag of cade train", f"--{name}", "See its --help.")
            else:
                searched[name] = found
        if not searched:
            raise InputError("search", f"a flag with several values ({_FORM})", "none", "Add one.")
        return cls(tuple(fixed), searched)

    def flags(self, values: dict[str, Any]) -> list[str]:
        """Flags of a trial."""
        return [*self.fixed, *(f"--{name}={value}" for name, value in values.items())]


def _searched(name: str, value: str) -> Range | Choices | None:
    if "|" in value:
        return Choices(tuple(part.strip() for part in value.split("|")))
    match = _RANGE.fullmatch(value)
    if match is None:
        return None
    try:
        low, high = float(match[2]), float(match[3])
    except ValueError as error:
        raise InputError(name, "numbers as low..high", value, "Correct it.") from error
    log = match[1] is not None
    if not low < high or (log and low <= 0):
        raise InputError(name, "low below high, above 0 with log:", value, "Correct the bounds.")
    kind = Config.kind(name)[0] if name in Config.field_names() else None
    return Range(low, high, whole=kind is int, log=log)
