"""One thing changed at a time, from the recipes."""

from typing import Any

from cade_tf.experiments.cells import CLASSIFICATION
from cade_tf.experiments.entries import PAPER_EQUATIONS, TITLES, Entry, Experiment
from cade_tf.experiments.methods import METHODS

_TRAINED = ("graphsage", "cade_ms", "cade_ma")
_VARIANTS: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "the recipe": (_TRAINED, {}),
    "not trained": (_TRAINED, {"steps": 0}),
    "the paper's equations, steps 200": (_TRAINED, {**PAPER_EQUATIONS, "steps": 200}),
    "the paper's equations, steps 200, pairs shuffled": (
        ("graphsage",),
        {**PAPER_EQUATIONS, "steps": 200, "pair_order": "shuffled"},
    ),
    "random start, not trained": (("graphsage",), {**PAPER_EQUATIONS, "steps": 0}),
    "as the paper describes, steps 400": (
        _TRAINED,
        {**PAPER_EQUATIONS, "learning_rate": 1e-4, "negative_weight": 20.0, "steps": 400},
    ),
    "pair loss": (("cade_ms",), {"loss": "pair", "temperature": 1.0}),
    "lr 3e-4": (("cade_ms",), {"learning_rate": 3e-4}),
    "steps x 8": (("cade_ms",), {"steps": 400}),
    "no global bias": (("cade_ms",), {"global_bias": False}),
    "bias learns 10 x as fast": (("cade_ms",), {"bias_learning_rate": 10.0}),
    "K = 1": (("cade_ms",), {"k": 1}),
    "K = 10": (("cade_ms",), {"k": 10}),
    "unit length before the attention": (("cade_ms",), {"normalize": "both"}),
    "sharp attention": (("cade_ms",), {"normalize": "both", "attention_temperature": 0.05}),
    "walks of 1 step": (("cade_ms",), {"walk_length": 1}),
    "1 walk in Algorithm 1": (("graphsage", "cade_ms"), {"embed_walks": 1}),
    "20 walks in Algorithm 1": (("graphsage", "cade_ms"), {"embed_walks": 20}),
    "all aggregators start alike": (("cade_ma",), {"self_weights": (0.7,)}),
    "tanh score": (("cade_ma",), {"attention_score": "tanh"}),
}
_RANDOM = "random start, elu, lr 3e-4, steps 100"
_RANDOM_OPTIONS: dict[str, Any] = {
    "initialization": "glorot",
    "activation": "elu",
    "learning_rate": 3e-4,
    "steps": 100,
}
_PAIR_LOSS: dict[str, Any] = {"loss": "pair", "temperature": 1.0}
# From a random start training does all there is to do, so that its options show.
_FROM_RANDOM: dict[str, tuple[str, dict[str, Any]]] = {
    "pair loss": ("cade_ms", _PAIR_LOSS),
    "pair loss, shared negatives": ("graphsage", _PAIR_LOSS),
    "pair loss, own negatives": ("graphsage", {**_PAIR_LOSS, "negative_sharing": "pair"}),
    "temperature 0.1": ("cade_ms", {"temperature": 0.1}),
    "temperature 0.5": ("cade_ms", {"temperature": 0.5}),
    "200 negatives": ("cade_ms", {"negatives": 200}),
    "fan-outs 10,5": ("cade_ms", {"fanouts": (10, 5)}),
    "fan-outs 30,20": ("cade_ms", {"fanouts": (30, 20)}),
    "walks of 1 step": ("cade_ms", {"walk_length": 1}),
    "walks of 8 steps": ("cade_ms", {"walk_length": 8}),
    "no global bias": ("cade_ms", {"global_bias": False}),
    "half of the bias dropped": ("cade_ms", {"bias_dropout": 0.5}),
    "bias learns 10 x as fast": ("cade_ms", {"bias_learning_rate": 10.0}),
    "unit length before the attention": ("cade_ms", {"normalize": "both"}),
    "sharp attention": ("cade_ms", {"normalize": "both", "attention_temperature": 0.05}),
}


def ablation() -> Experiment:
    """The recipes of Table 1 at 30 % unseen nodes, and what each change does to them."""
    recipe = "the recipe"
    variants = [
        (method, title, changes, None if title == recipe else recipe)
        for title, (methods, changes) in _VARIANTS.items()
        for method in methods
    ]
    variants += [(method, _RANDOM, _RANDOM_OPTIONS, recipe) for method in ("graphsage", "cade_ms")]
    variants += [
        (method, f"random start: {title}", _RANDOM_OPTIONS | changes, _RANDOM)
        for title, (method, changes) in _FROM_RANDOM.items()
    ]
    entries = tuple(
        Entry(
            row=f"{METHODS[method].title}: {title}",
            column=f"{TITLES[dataset]} 30 %",
            dataset=dataset,
            task=CLASSIFICATION,
            method=method,
            changes=changes,
            against=None if base is None else f"{METHODS[method].title}: {base}",
            quick=title == recipe,
        )
        for dataset in ("pubmed", "blogcatalog")
        for method, title, changes, base in variants
    )
    title = "The recipe, one thing changed at a time"
    return Experiment("ablation", title, 1, entries, bars="logreg")
