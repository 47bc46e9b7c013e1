import dataclasses
import json

import pytest
from hypothesis import given

from cade_tf.config import Config
from cade_tf.errors import InputError
from cade_tf.options import Options, option
from tests.config_strategy import configs


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sizes(Options):
    """Sizes."""

    width: int = option(4, "Width.", minimum=1, maximum=8)
    rate: float = option(0.5, "Rate.", positive=True)
    path: str | None = option(None, "Path.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Colours(Options):
    """Colours."""

    colour: str = option("red", "Colour.", choices=("red", "blue"))
    mix: tuple[str, ...] = option((), "Mix.", choices=("red", "blue"))
    bright: bool = option(False, "Bright.")


@dataclasses.dataclass(frozen=True, kw_only=True)
class Both(Sizes, Colours):
    """Both."""


@pytest.mark.parametrize(
    ("field", "value", "expected"),
    [
        ("width", 0, "at least 1"),
        ("width", 9, "at most 8"),
        ("width", 2.0, "type int"),
        ("width", True, "type int"),
        ("width", "4", "type int"),
        ("width", None, "int"),
        ("rate", 0.0, "above 0"),
        ("rate", float("nan"), "finite"),
        ("rate", float("inf"), "finite"),
        ("path", "two\nlines", "one line"),
        ("path", " padded", "one line"),
        ("colour", "green", "one of red, blue"),
        ("mix", "red", "a list"),
        ("mix", ["red", "green"], "one of red, blue"),
        ("bright", 1, "type bool"),
    ],
)
def test_a_value_that_does_not_fit_names_the_field_and_what_was_expected(field, value, expected):
    with pytest.raises(InputError, match=expected) as caught:
        Both(**{field: value})
    assert caught.value.argument == field


def test_whole_numbers_become_floats_and_lists_become_tuples():
    options = Both(rate=2, mix=["red"])
    assert isinstance(options.rate, float)
    assert options.mix == ("red",)


def test_options_cannot_be_changed_and_replace_checks_anew():
    options = Both()
    with pytest.raises(dataclasses.FrozenInstanceError):
        options.width = 5
    assert options.replace(width=5).width == 5
    with pytest.raises(InputError, match="at most 8"):
        options.replace(width=50)


def test_groups_list_every_field_once_under_the_class_that_declares_it():
    assert list(Both.groups().items()) == [
        ("Sizes", ["width", "rate", "path"]),
        ("Colours", ["colour", "mix", "bright"]),
    ]
    # What is no option says which of them were given, and what was decided about the others.
    fields = {field.name for field in dataclasses.fields(Config)} - {"given", "decided"}
    assert set(Config.field_names()) == fields
    assert next(iter(Config.groups())) == "Data"


def test_a_field_declared_anew_stays_in_its_group():
    @dataclasses.dataclass(frozen=True, kw_only=True)
    class Wide(Both):
        """Wide."""

        width: int = option(8, "Width.")
        deep: bool = option(False, "Deep.")

    assert Wide.groups() == {"Wide": ["deep"], **Both.groups()}
    assert Wide().width == 8


@given(configs())
def test_json_gives_back_an_equal_configuration(config):
    assert Config.from_json(config.to_json()) == config


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "expected JSON"),
        ("5", "a JSON object"),
        ('["width"]', "a JSON object"),
        ("null", "a JSON object"),
        ('{"width": 2, "depth": 3}', "received depth"),
        ('{"width": 200}', "at most 8"),
        ('{"rate": NaN}', "finite"),
    ],
)
def test_json_that_is_not_these_options_is_refused(text, message):
    with pytest.raises(InputError, match=message):
        Both.from_json(text)


def test_json_is_readable():
    assert json.loads(Both(mix=("red", "blue")).to_json())["mix"] == ["red", "blue"]


def test_a_flagfile_has_one_flag_a_line_and_leaves_none_out():
    assert Both(mix=("red", "blue"), bright=True).to_flagfile().splitlines() == [
        "--width=4",
        "--rate=0.5",
        "--colour=red",
        "--mix=red,blue",
        "--bright",
    ]
