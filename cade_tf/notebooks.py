"""What objects of cade_tf look like in a notebook."""

import html
from collections.abc import Mapping

LONGEST = 60
"""Longer values are cut, so that a repr stays a line."""


def html_table(title: str, rows: Mapping[str, object]) -> str:
    """A small table of names and values, HTML.

    Example:

    >>> html_table("Graph", {"nodes": 3})
    '<table><caption>Graph</caption><tr><th>nodes</th><td>3</td></tr></table>'
    """
    lines = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(str(value))}</td></tr>"
        for name, value in rows.items()
    )
    return f"<table><caption>{html.escape(title)}</caption>{lines}</table>"


def short(value: object, longest: int = LONGEST) -> str:
    """The repr of a value, cut where it is long.

    Example:

    >>> short("abcdefgh", 7)
    "'abc..."
    """
    text = repr(value)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."
