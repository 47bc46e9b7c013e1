"""Hypothesis: any legal value of any option, and whole configurations of them."""

import typing
from typing import Any

from hypothesis import reject
from hypothesis import strategies as st

from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.options import Options

TEXT = st.text(st.characters(exclude_categories=("C", "Z")), max_size=20)


def _scalars(options: type[Options], name: str, kind: Any) -> st.SearchStrategy[Any]:
    spec = options.spec(name)
    if spec.choices is not None:
        return st.sampled_from(spec.choices)
    if kind is bool:
        return st.booleans()
    if kind is str:
        return TEXT
    low = spec.minimum if spec.minimum is not None else (0 if spec.positive else None)
    if kind is int:
        return st.integers(low, spec.maximum)
    return st.floats(
        low, spec.maximum, exclude_min=spec.positive, allow_nan=False, allow_infinity=False
    )


def values(options: type[Options], name: str) -> st.SearchStrategy[Any]:
    """Legal values of one field."""
    kind, optional = options.kind(name)
    if typing.get_origin(kind) is tuple:
        element = _scalars(options, name, typing.get_args(kind)[0])
        strategy = st.lists(element, min_size=1, max_size=4).map(tuple)
    else:
        strategy = _scalars(options, name, kind)
    return st.none() | strategy if optional else strategy


@st.composite
def configs(draw: st.DrawFn) -> Config:
    """A configuration with several fields away from their defaults."""
    names = [name for name in Config.field_names() if name != "graph"]  # excludes --dataset
    chosen = draw(st.lists(st.sampled_from(names), unique=True, max_size=8))
    given = {name: draw(values(Config, name)) for name in chosen}
    try:
        return Config(**given)
    except InputError:
        # Each value is legal by itself; a few do not go together.
        reject()
