"""Which columns of a table of edges hold source, target and weight."""

import dataclasses
from collections.abc import Sequence

from cade_tf.errors import InputError

SOURCES = ("source", "src", "from", "u", "node1", "id1", "head", "start", "sourceid", "fromid")
TARGETS = ("target", "dst", "to", "v", "node2", "id2", "tail", "end", "targetid", "toid")
WEIGHTS = ("weight", "weights", "w", "value")
INDEX = ("", "index", "unnamed: 0", "indexlevel0")
"""Names under which pandas and R write the number of a row as a column of its own."""


@dataclasses.dataclass(frozen=True)
class EdgeColumns:
    """Positions of the columns that are read, and names of those that are not.

    Args:
        source: Column of the first node.
        target: Column of the second node.
        weight: Column of the weight; None without.
        ignored: Names of the other columns, an index without a name left out.
        named: Whether source and target were found by their names.
    """

    source: int
    target: int
    weight: int | None = None
    ignored: tuple[str, ...] = ()
    named: bool = False

    def note(self, place: object) -> tuple[str, ...]:
        """A sentence on the columns that are not read; nothing where all are."""
        if not self.ignored:
            return ()
        names = ", ".join(repr(name) for name in self.ignored)
        verb = "columns {} are" if len(self.ignored) > 1 else "column {} is"
        return (
            f"{place}: the {verb.format(names)} not read; weights of edges must be in a column "
            "named weight.",
        )


def plain_name(name: object) -> str:
    """A column's name in small letters without marks, as the lists above have it.

    Example:

    >>> plain_name("Node_1")
    'node1'
    """
    return str(name).strip().lower().replace("_", "").replace("-", "")


def edge_columns(header: Sequence[object]) -> EdgeColumns:
    """Finds the columns by their names; what has no known name comes in its order.

    Raises:
        InputError: There are fewer than two columns of ids.

    Example:

    >>> edge_columns(["", "from", "to", "type"])
    EdgeColumns(source=1, target=2, weight=None, ignored=('type',), named=True)
    """
    names = [plain_name(name) for name in header]
    weight = next((i for i, name in enumerate(names) if name in WEIGHTS), None)
    free = [i for i, name in enumerate(names) if i != weight and not (i == 0 and name in INDEX)]
    if len(free) < 2:
        raise InputError(
            "edges",
            "two columns of ids",
            ", ".join(map(str, header)) or "none",
            "Name the columns source and target.",
        )
    source = next((i for i in free if names[i] in SOURCES), None)
    target = next((i for i in free if names[i] in TARGETS), None)
    others = [i for i in free if i not in (source, target)]
    named = source is not None and target is not None
    if source is None:
        source = others.pop(0)
    if target is None:
        target = others.pop(0)
    return EdgeColumns(source, target, weight, tuple(str(header[i]) for i in others), named)
