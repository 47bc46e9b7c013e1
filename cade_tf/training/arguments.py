"""What a training is given: options in one of two forms, and what is refused or warned of."""

import difflib
import logging
from collections.abc import Mapping
from typing import Any

from cade_tf import presets
from cade_tf.config import Config, DataOptions, SplitOptions
from cade_tf.errors import InputError
from cade_tf.graph import description
from cade_tf.graph.graph import Graph
from cade_tf.models.dual_encoder import DualEncoder
from cade_tf.training.validation import PAIRS

SMALLEST_FEATURE = 1e-12
"""What is smaller is lost where the length of a vector is computed in float32."""

_log = logging.getLogger(__name__)
_OF_COMMANDS = (
    *DataOptions.field_names(),
    *SplitOptions.field_names(),
    "cluster",
    "memory_map",
    "silence_seconds",
    "fresh",
    "compare",
    "held_out_edges",
    "verbosity",
)


def one_config(config: Config | None, options: Mapping[str, Any]) -> Config:
    """Options that are given as a Config, or some of them by name.

    Raises:
        InputError: Both are given, or there is no option of a name.
    """
    for name in options:
        if name not in Config.field_names():
            near = difflib.get_close_matches(name, Config.field_names(), n=3)
            remedy = f"Did you mean {' or '.join(near)}?" if near else "See cade_tf.Config."
            raise InputError("options", "options of cade_tf.Config", name, remedy)
    if config is None:
        return Config.from_given(**options)
    if options:
        raise InputError(
            "options",
            "a Config or options by name",
            f"a Config and {', '.join(options)}",
            "Put them into the Config.",
        )
    return config


def check_arguments(graph: Any, config: Config, *, validates: bool) -> None:
    """Refuses what `train` cannot take.

    Args:
        graph: What is given as the training graph.
        config: Options.
        validates: Whether something is given that scores a model.

    Raises:
        InputError: No graph, an option of commands, or options that do not go together.
    """
    if not isinstance(graph, Graph):
        raise InputError(
            "graph",
            "a cade_tf.Graph",
            type(graph).__name__,
            "Make one with Graph.from_edges, from_pandas, from_networkx and the like.",
        )
    _refuse_unused(config)
    _refuse_preset_by_name(config, graph)
    if config.validate_every and not validates and config.stop_on != PAIRS:
        raise InputError(
            "validate_every", "0 without validate", config.validate_every, "Pass both."
        )


def _refuse_unused(config: Config) -> None:
    """Options that say what a command reads and writes would be ignored here, which is worse."""
    for name in _OF_COMMANDS:
        if getattr(config, name) != Config.default(name):
            raise InputError(
                name,
                f"{Config.default(name)!r} in Python, where it is for commands",
                repr(getattr(config, name)),
                "Pass the training graph itself, and leave this out.",
            )


def _refuse_preset_by_name(config: Config, graph: Graph) -> None:
    """A Config that names a preset but has none of its values was not made by `from_given`."""
    if config.preset is None or config.given is not None:
        return
    values = presets.options_of(config.preset, config.model, lambda: graph, {})
    own = {n: v for n, v in values.items() if n not in ("preset", "model")}
    if not any(getattr(config, n) == v != Config.default(n) for n, v in own.items()):
        raise InputError(
            "preset",
            f"Config.from_given(preset={config.preset!r})",
            "a Config with the preset's name and none of its values",
            "Or leave the preset out.",
        )


def warn_of_scaling(model: DualEncoder, graph: Graph) -> None:
    """Says where features told nodes apart before scaling and no longer do."""
    if graph.features is None or description.same_features(graph.features):
        return
    some = model.prepared().transform.apply(graph.features[:1000])
    if abs(some).max() < SMALLEST_FEATURE and abs(graph.features).max() < SMALLEST_FEATURE:
        _log.warning(
            "No feature is larger than %g: numbers so small are lost. Multiply them all.",
            abs(graph.features).max(),
        )
    # Of most graphs a few nodes say enough.
    if description.same_features(some) and description.same_features(
        model.prepared().features(graph)
    ):
        _log.warning(
            "The scaling %s makes the features of all nodes equal; choose another feature_scaling.",
            model.feature_options.feature_scaling,
        )


def require_edges(graph: Graph, steps: int) -> None:
    """Refuses to train on a graph without edges.

    Raises:
        InputError: There is nothing to learn from, and there are steps to do.
    """
    if steps and not graph.num_edges:
        raise InputError("graph", "at least one edge between training nodes", "none", "Add edges.")
