import re

import pytest
from hypothesis import HealthCheck, given, settings

from cade_tf.cli import flags
from cade_tf.config import Config
from cade_tf.errors import InputError
from tests.config_strategy import configs


def parse(*arguments):
    return flags.parse(Config, arguments)


def test_no_flags_give_the_defaults_and_leave_the_rest_to_the_recommended_preset():
    config, words = parse()
    assert (config.replace(preset=None), words) == (Config(), [])
    assert (config.preset, config.given) == ("recommended", frozenset())


def test_flags_and_words_may_be_mixed():
    config, words = parse("one", "--dim=8", "two", "--fanouts", "3, 2", "--densify_features")
    assert (config.dim, config.fanouts, config.densify_features) == (8, (3, 2), True)
    assert words == ["one", "two"]


def test_a_later_flag_wins():
    assert parse("--dim=8", "--dim=9")[0].dim == 9


@pytest.mark.parametrize(
    ("flag", "hint"),
    [
        ("--dmi=8", "Did you mean --dim?"),
        ("--learning_rat=1", "Did you mean --learning_rate?"),
        ("--flagfiel=x", "Did you mean --flagfile?"),
        ("--zzzzzz", "See --help."),
    ],
)
def test_an_unknown_flag_is_refused_with_a_hint(flag, hint):
    with pytest.raises(InputError, match=re.escape(hint)):
        parse(flag)


@pytest.mark.parametrize("flag", ["--logtostderr", "--alsologtostderr", "--pdb", "--helpfull"])
def test_flags_of_absl_itself_are_unknown(flag):
    with pytest.raises(InputError, match="a known flag"):
        parse(flag)


@pytest.mark.parametrize(
    ("flag", "argument", "expected"),
    [
        ("--dim=many", "dim", "a whole number"),
        ("--dim=1.5", "dim", "a whole number"),
        ("--learning_rate=fast", "learning_rate", "a number"),
        ("--learning_rate=0", "learning_rate", "a value above 0"),
        ("--learning_rate=nan", "learning_rate", "a finite number"),
        ("--k=0", "k", "at least 1"),
        ("--k=1000", "k", "at most 256"),
        ("--unseen_ratio=1.5", "unseen_ratio", "at most 0.95"),
        ("--model=gcn", "model", "one of cade_ms"),
        ("--fanouts=20,x", "fanouts", "a list, each element a whole number"),
        ("--fanouts=20,,10", "fanouts", "a list, each element a whole number"),
        ("--fanouts=", "fanouts", "1 to 8 numbers"),
        ("--compare=raw_features,gcn", "compare", "one of raw_features"),
        ("--densify_features=perhaps", "densify_features", "true or false"),
        ("--nodensify_features=true", "flags", "--name=value"),
        ("--dim", "flags", "--name=value"),
    ],
)
def test_a_bad_value_names_its_flag_and_what_would_fit(flag, argument, expected):
    with pytest.raises(InputError) as caught:
        parse(flag)
    assert caught.value.argument == argument
    assert expected in caught.value.expected


def test_steps_and_epochs_are_not_given_together_even_where_one_is_the_default():
    for steps in (10, Config.steps):
        with pytest.raises(InputError, match="either epochs or steps, received both"):
            parse("--epochs=2", f"--steps={steps}")
    assert parse("--epochs=2", "--preset=paper")[0].epochs == 2
    assert parse("--epochs=0", "--steps=10", "--preset=paper")[0].steps == 10


def test_a_flagfile_is_read_where_it_stands(tmp_path):
    path = tmp_path / "run.flags"
    path.write_text("# a comment\n--dim=8\n\n--k=3\n")
    config, _ = parse("--dim=4", f"--flagfile={path}", "--k=5")
    assert (config.dim, config.k) == (8, 5)


def test_a_mistake_in_a_flagfile_is_a_mistake(tmp_path):
    path = tmp_path / "run.flags"
    path.write_text("--dmi=8\n")
    with pytest.raises(InputError, match=re.escape("Did you mean --dim?")):
        parse(f"--flagfile={path}")


def test_a_flagfile_that_cannot_be_read_is_named(tmp_path):
    binary = tmp_path / "binary.flags"
    binary.write_bytes(b"--dim=\xff\xfe\n")
    for path in (tmp_path / "absent.flags", tmp_path, binary):
        with pytest.raises(InputError) as caught:
            parse(f"--flagfile={path}")
        assert caught.value.argument == "flagfile"


# The file is written again by every example, so the folder may be shared between them.
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(config=configs())
def test_a_configuration_survives_its_own_flagfile(tmp_path, config):
    path = tmp_path / "config.flags"
    path.write_text(config.to_flagfile(), encoding="utf-8")
    # A Config that names no preset is written as departures from the paper's.
    assert parse(f"--flagfile={path}") == (config.replace(preset=config.preset or "paper"), [])


@pytest.mark.parametrize("flag", ["--help", "-h"])
def test_help_is_asked_for_by_flag(flag):
    with pytest.raises(flags.HelpRequested):
        parse("--dim=8", flag)


def test_help_explains_every_flag_of_the_command_under_its_group_and_no_other():
    text = flags.help_text(Config)
    shown = re.findall(r"^  --(?:\[no\])?(\w+)", text, re.MULTILINE)
    grouped = [name for names in Config.groups().values() for name in names]
    assert shown == [*grouped, "flagfile"]
    assert re.findall(r"^(\S.*):$", text, re.MULTILINE) == [*Config.groups(), "General"]
    assert "--model=cade_ms|cade_ma" in text
    assert "--fanouts=N,N,..." in text
    assert "--[no]densify_features" in text
    assert "(default: 20,10)" in text
    assert max(map(len, text.splitlines())) <= 100
