import pytest

from cade_tf.config import Config
from cade_tf.errors import InputError


def test_the_defaults_are_legal():
    assert Config().replace() == Config()


def test_every_option_explains_itself():
    for name in Config.field_names():
        assert Config.spec(name).help.endswith("."), name


def test_a_data_set_and_a_graph_exclude_each_other():
    with pytest.raises(InputError, match="either --dataset or --graph"):
        Config(dataset="pubmed", graph="mine.npz")


@pytest.mark.parametrize("fanouts", [(), (2,) * 9])
def test_fanouts_give_one_number_a_layer(fanouts):
    with pytest.raises(InputError, match="1 to 8 numbers"):
        Config(fanouts=fanouts)


def test_a_fanout_is_at_least_one():
    with pytest.raises(InputError, match="at least 1"):
        Config(fanouts=(20, 0))


@pytest.mark.parametrize("name", ["seed", "split_seed"])
def test_seeds_fit_every_generator_they_are_given_to(name):
    assert getattr(Config(**{name: 2**31 - 1}), name) == 2**31 - 1
    with pytest.raises(InputError, match="at most 2147483647"):
        Config(**{name: 2**31})
