"""A search space as a flagfile: some flags fixed, some with several values.

It is read, and its mistakes are told, before TensorFlow is loaded.
"""

import dataclasses
import re
from pathlib import Path
from typing import Any

from optuna.distributions import (
    BaseDistribution,
    CategoricalDistribution,
    FloatDistribution,
    IntDistribution,
)

from cade_tf.config import Config
from cade_tf.errors import InputError

_RANGE = re.compile(r"(log:)?([-+.\deE]+)\.\.([-+.\deE]+)")
_FORM = "--name=low..high, --name=log:low..high, --name=one|another, or any flag of cade train"


@dataclasses.dataclass(frozen=True)
class SearchSpace:
    """What is tried: a flagfile in which some flags have several values.

    Attributes:
        fixed: Flags that are the same in every trial.
        searched: Values of the flags that differ, by name.

    Example:

    >>> space = SearchSpace.parse("--dim=32\\n--k=2..10\\n--model=cade_ms|cade_ma\\n")
    >>> space.searched["k"]
    IntDistribution(high=10, log=False, low=2, step=1)
    >>> space.flags({"k": 4, "model": "cade_ma"})
    ['--dim=32', '--k=4', '--model=cade_ma']
    """

    fixed: tuple[str, ...]
    searched: dict[str, BaseDistribution]

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
        searched: dict[str, BaseDistribution] = {}
        for line in (line.strip() for line in text.splitlines()):
            if not line or line.startswith("#"):
                continue
            name, _, value = line.removeprefix("--").partition("=")
            if not line.startswith("--"):
                raise InputError("search", _FORM, repr(line), "Begin the line with two dashes.")
            found = _several(name, value)
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

    def any_flags(self) -> list[str]:
        """Flags of some trial, to see whether they fit at all before anything is trained."""
        first = {
            name: found.choices[0] if isinstance(found, CategoricalDistribution) else found.low
            for name, found in self.searched.items()
        }
        return self.flags(first)


def _several(name: str, value: str) -> Any:
    """The values that are tried; None for a flag with one value."""
    if "|" in value:
        return CategoricalDistribution([part.strip() for part in value.split("|")])
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
    if name in Config.field_names() and Config.kind(name)[0] is int:
        return IntDistribution(round(low), round(high), log=log)
    return FloatDistribution(low, high, log=log)
