"""Presets: named sets of options. A preset replaces defaults; what a user gives replaces a preset.

A preset is a module of this package: `paper` is the paper's own method, the same on every graph;
`recommended` reads the graph.
"""

from collections.abc import Callable, Mapping
from typing import Any

from cade_tf.errors import InputError
from cade_tf.presets import paper

PRESETS = ("paper", "recommended")
TITLES = {
    "paper": "the paper's method",
    "recommended": "recommended",
}


def complete(given: Mapping[str, Any], default_model: str) -> dict[str, Any]:
    """Options that are given, and a preset's values of those that are not.

    Args:
        given: Values by name of option; `preset` among them names the preset.
        default_model: Model where `given` has none.

    Returns:
        Values by name; what neither the preset nor `given` has keeps its default.

    Example:

    >>> options = complete({"preset": "paper", "k": 5}, "cade_ms")
    >>> options["k"], options["learning_rate"], options["epochs"]
    (5, 0.0001, 1)
    >>> complete({"preset": "paper", "steps": 300}, "cade_ms")["epochs"]
    0
    """
    if given.get("preset") != "paper":
        # The recommended preset looks at the graph, which is not loaded yet.
        return dict(given)
    values = paper.options(given.get("model", default_model))
    if "steps" in given:
        values["epochs"] = 0
    return values | dict(given)


def options_of(
    preset: str, model: str, load: Callable[[], Any], given: Mapping[str, Any]
) -> dict[str, Any]:
    """Values of a preset for a model on a graph, and options that replace some of them.

    Args:
        preset: One of `PRESETS`.
        model: Name of a model.
        load: Gives the training graph; called by presets that read it.
        given: Options that do not come from the preset.

    Raises:
        InputError: There is no such preset.
    """
    if preset not in PRESETS:
        raise InputError("preset", "one of " + ", ".join(PRESETS), preset, "Choose one.")
    if preset == "paper":
        return paper.options(model) | dict(given)
    # These read options, whose module reads this one.
    from cade_tf.config import Config
    from cade_tf.presets import recommended

    config = Config(**{"model": model, **given})
    decided = recommended.recommend(load(), config, given).changes
    return {**decided, **given, "preset": preset, "model": model}
