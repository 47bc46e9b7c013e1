import pytest
from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

from cade_tf.errors import InputError
from cade_tf.experiments.search_space import SearchSpace


def test_ranges_choices_and_fixed_flags_are_told_apart():
    space = SearchSpace.parse(
        "# comment\n\n--dim=32\n--k=2..8\n--learning_rate=log:1e-5..1e-2\n"
        "--temperature=0.1..1\n--model=cade_ms|cade_ma\n--fanouts=5,3|10,5\n"
    )
    assert space.fixed == ("--dim=32",)
    assert space.searched == {
        "k": IntDistribution(2, 8),
        "learning_rate": FloatDistribution(1e-5, 1e-2, log=True),
        "temperature": FloatDistribution(0.1, 1.0),
        "model": CategoricalDistribution(("cade_ms", "cade_ma")),
        "fanouts": CategoricalDistribution(("5,3", "10,5")),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("--dim=32", "a flag with several values"),
        ("k=2..8", "two dashes"),
        ("--kk=2..8", "a flag of cade train"),
        ("--k=8..2", "low below high"),
        ("--learning_rate=log:0..1", "above 0 with log:"),
        ("--k=2..8e", "numbers as low..high"),
    ],
)
def test_a_wrong_line_is_named(text, message):
    with pytest.raises(InputError, match=message):
        SearchSpace.parse(text)


def test_a_file_that_cannot_be_read_is_named(tmp_path):
    with pytest.raises(InputError, match="a readable text file"):
        SearchSpace.read(tmp_path / "none")
    (tmp_path / "space").write_text("--k=8..2")
    with pytest.raises(InputError, match="space, k"):
        SearchSpace.read(tmp_path / "space")
