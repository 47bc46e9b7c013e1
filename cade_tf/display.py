"""How things are shown: tables in notebooks, and matplotlib figures, whose package is optional."""

import html
import io
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from cade_tf.errors import require_module
from cade_tf.files import atomic_write

_SMALLEST_SPREAD = 1e-18
"""The square of less is 0 in float32."""

LONGEST = 60
"""Longer values are cut, so that a repr stays a line."""


def can_be_drawn(points: np.ndarray) -> bool:
    """Whether t-SNE can place rows in the plane: all finite, and not all equal.

    On others scikit-learn's t-SNE ends the process by a segmentation fault.

    Example:

    >>> can_be_drawn(np.eye(3)), can_be_drawn(np.ones((3, 2)))
    (True, False)
    """
    spread = points.std(axis=0, dtype=np.float64) if np.isfinite(points).all() else np.zeros(1)
    return bool(spread.max() > _SMALLEST_SPREAD)


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


def require_matplotlib() -> Any:
    """matplotlib.figure, or a message that says how to get it.

    Raises:
        InputError: matplotlib is not installed.
    """
    return require_module("matplotlib.figure", "plot")


def save_figure(figure: Any, path: str | Path) -> None:
    """Writes a matplotlib figure as a whole or not at all; the suffix names the format."""
    kind = Path(path).suffix.lstrip(".") or "png"
    with atomic_write(path) as file:
        figure.savefig(file, format=kind, dpi=150, bbox_inches="tight")


def shown_in_notebooks(figure: Any) -> Any:
    """A matplotlib figure that a notebook shows, also where pyplot was never imported."""

    def png() -> bytes:
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=80, bbox_inches="tight")
        return file.getvalue()

    figure._repr_png_ = png
    return figure
