"""Collecting all mistakes of an input instead of stopping at the first.

Usually an `InputError` is raised. Inside `collected`, a mistake in one part of the input (`part`)
is noted, the part is left out, and reading goes on, so that a user learns everything at once.
"""

import contextlib
import contextvars
from collections.abc import Iterator

from cade_tf.errors import InputError

_found: contextvars.ContextVar[list[InputError] | None] = contextvars.ContextVar(
    "found", default=None
)


@contextlib.contextmanager
def collected() -> Iterator[list[InputError]]:
    """Notes mistakes instead of raising them.

    Yields:
        The list that fills with them.

    Example:

    >>> with collected() as found:
    ...     with part():
    ...         raise InputError("a", "1", "2", "Change it.")
    ...     with part():
    ...         raise InputError("b", "1", "3", "Change it.")
    >>> [error.argument for error in found]
    ['a', 'b']
    """
    found: list[InputError] = []
    token = _found.set(found)
    try:
        with part():
            yield found
    finally:
        _found.reset(token)


@contextlib.contextmanager
def part() -> Iterator[None]:
    """Holds the work on one part of an input, without which the rest can still be looked at."""
    try:
        yield
    except InputError as error:
        found = _found.get()
        if found is None:
            raise
        found.append(error)


@contextlib.contextmanager
def within(place: object) -> Iterator[None]:
    """Mistakes inside, raised or noted, say in which file they are, unless they do already."""
    found = _found.get()
    before = 0 if found is None else len(found)
    try:
        yield
    except InputError as error:
        if _names_a_file(error):
            raise
        raise error.within(place) from error
    finally:
        if found is not None:
            found[before:] = [e if _names_a_file(e) else e.within(place) for e in found[before:]]


def _names_a_file(error: InputError) -> bool:
    return not error.argument.replace(" ", "_").isidentifier()
