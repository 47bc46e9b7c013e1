"""matplotlib figures: an optional package, whole files, pictures in notebooks."""

import io
import os
from pathlib import Path
from typing import Any

from cade_tf.errors import InputError


def require_matplotlib() -> Any:
    """matplotlib.figure, or a message that says how to get it.

    Raises:
        InputError: matplotlib is not installed.
    """
    try:
        import matplotlib.figure
    except ImportError as error:
        raise InputError(
            "plot",
            "the package matplotlib",
            "an installation without it",
            'Install it with pip install "cade_tf[plot]".',
        ) from error
    return matplotlib.figure


def save_figure(figure: Any, path: str | Path) -> None:
    """Writes a matplotlib figure as a whole or not at all; the suffix names the format."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.part")
    figure.savefig(part, format=path.suffix.lstrip(".") or "png", dpi=150, bbox_inches="tight")
    os.replace(part, path)


def shown_in_notebooks(figure: Any) -> Any:
    """A matplotlib figure that a notebook shows, also where pyplot was never imported."""

    def png() -> bytes:
        file = io.BytesIO()
        figure.savefig(file, format="png", dpi=80, bbox_inches="tight")
        return file.getvalue()

    figure._repr_png_ = png
    return figure
