"""Does the attention do anything, and does a pair's own dual score? Studied on hidden links."""

from typing import Any

from cade_tf.experiments.cells import LINKS
from cade_tf.experiments.entries import TITLES, Entry, Experiment
from cade_tf.experiments.methods import METHODS

HIDDEN = 0.1
_REFERENCE = "GraphSAGE: the recipe"
_UNIT = {"normalize": "both"}
_TANH = {"attention_score": "tanh"}


def _at(temperature: float) -> dict[str, Any]:
    return {"attention_temperature": temperature}


_VARIANTS: tuple[tuple[str, str, dict[str, Any]], ...] = (
    ("graphsage", "the recipe", {}),
    ("cade_ms", "K = 1", {"k": 1}),
    ("cade_ms", "K = 5 (the recipe)", {}),
    ("cade_ms", "K = 5, temperature 0.3", _at(0.3)),
    ("cade_ms", "K = 5, unit candidates", _UNIT),
    ("cade_ms", "K = 5, unit candidates, temperature 0.1", _UNIT | _at(0.1)),
    ("cade_ms", "K = 5, unit candidates, temperature 0.03", _UNIT | _at(0.03)),
    ("cade_ms", "K = 10", {"k": 10}),
    ("cade_ms", "K = 10, temperature 0.3", {"k": 10} | _at(0.3)),
    ("cade_ms", "K = 10, unit candidates, temperature 0.1", {"k": 10} | _UNIT | _at(0.1)),
    ("cade_ms", "K = 10, unit candidates, temperature 0.03", {"k": 10} | _UNIT | _at(0.03)),
    ("cade_ms", "K = 20", {"k": 20}),
    ("cade_ma", "K = 1", {"k": 1}),
    ("cade_ma", "K = 5 (the recipe)", {}),
    ("cade_ma", "K = 5, temperature 0.1", _at(0.1)),
    ("cade_ma", "K = 10", {"k": 10}),
    ("cade_ma", "K = 5, tanh score", _TANH),
    ("cade_ma", "K = 5, tanh score, temperature 0.1", _TANH | _at(0.1)),
    ("cade_ma", "K = 10, tanh score", {"k": 10} | _TANH),
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
            against=None if method == "graphsage" else _REFERENCE,
            quick=not changes,
        )
        for method, title, changes in _VARIANTS
    )
    title = "Attention, from flat to sharp, and the score of a pair by its own dual representations"
    return Experiment("attention", title, 3, entries, bars="dual")
