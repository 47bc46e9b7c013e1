"""Does the attention do anything, and does a pair's own dual score? Studied on hidden links."""

from typing import Any

from cade_tf.experiments.cells import LINKS
from cade_tf.experiments.entries import TITLES, Entry, Experiment
from cade_tf.experiments.methods import METHODS

HIDDEN = 0.1
_SHARP = {"normalize": "both", "attention_temperature": 0.1}
_SHARPER = {"normalize": "both", "attention_temperature": 0.03}
_VARIANTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("graphsage", "the recipe", {}),
    ("cade_ms", "K = 1", {"k": 1}),
    ("cade_ms", "K = 5 (the recipe)", {}),
    ("cade_ms", "K = 5, unit length before the attention", {"normalize": "both"}),
    ("cade_ms", "K = 5, temperature 0.1", _SHARP),
    ("cade_ms", "K = 5, temperature 0.03", _SHARPER),
    ("cade_ms", "K = 10", {"k": 10}),
    ("cade_ms", "K = 10, temperature 0.1", {"k": 10, **_SHARP}),
    ("cade_ms", "K = 10, temperature 0.03", {"k": 10, **_SHARPER}),
    ("cade_ma", "K = 1", {"k": 1}),
    ("cade_ma", "K = 5 (the recipe)", {}),
    ("cade_ma", "K = 5, temperature 0.1", {"attention_temperature": 0.1}),
    ("cade_ma", "K = 10", {"k": 10}),
    ("cade_ma", "K = 5, tanh score", {"attention_score": "tanh"}),
    (
        "cade_ma",
        "K = 5, tanh score, temperature 0.1",
        {"attention_score": "tanh", "attention_temperature": 0.1},
    ),
    ("cade_ma", "K = 10, tanh score", {"k": 10, "attention_score": "tanh"}),
)


def attention() -> Experiment:
    """The recipes of Table 3 on Pubmed, with attentions from flat to sharp."""
    entries = tuple(
        Entry(
            row=f"{METHODS[method].title}: {title}",
            column=f"{TITLES['pubmed']} {100 * HIDDEN:.0f} %",
            dataset="pubmed",
            task=LINKS,
            method=method,
            changes=changes,
            hidden_ratio=HIDDEN,
            quick=not changes,
        )
        for method, title, changes in _VARIANTS
    )
    title = "Attention, from flat to sharp, and the score of a pair by its own dual representations"
    return Experiment("attention", title, 1, entries, bars="dual")
