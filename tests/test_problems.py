"""Mistakes are raised one by one, or collected all at once."""

import pickle

import pytest

from cade_tf import problems
from cade_tf.errors import InputError


def mistake(name: str) -> InputError:
    return InputError(name, "1", "2", "Change it.")


def two_parts() -> str:
    for name in ("first", "second"):
        with problems.part():
            raise mistake(name)
    return "rest"


def test_outside_the_first_mistake_is_raised():
    with pytest.raises(InputError, match="first"):
        two_parts()


def test_inside_all_are_collected_and_the_rest_is_done():
    with problems.collected() as found:
        assert two_parts() == "rest"
    assert [error.argument for error in found] == ["first", "second"]


def test_a_mistake_outside_every_part_ends_the_work_and_is_collected():
    with problems.collected() as found:
        raise mistake("fatal")
    assert [error.argument for error in found] == ["fatal"]


def test_afterwards_mistakes_are_raised_again():
    with problems.collected():
        pass
    with pytest.raises(InputError, match="first"):
        two_parts()


def test_a_bug_is_no_mistake_of_the_user():
    with pytest.raises(ZeroDivisionError), problems.collected():
        _ = 1 // 0


def test_collected_mistakes_say_where_they_are():
    with problems.collected() as found, problems.within("/data/x.csv"):
        two_parts()
    assert [error.argument for error in found] == ["/data/x.csv, first", "/data/x.csv, second"]


def test_a_raised_mistake_says_where_it_is_once():
    with (
        pytest.raises(InputError, match=r"^/data/x\.csv, first: expected 1, received 2"),
        problems.within("/data"),
        problems.within("/data/x.csv"),
    ):
        raise mistake("first")


def test_a_mistake_travels_from_one_process_to_another():
    error = InputError("dim", "at least 1", 0, "Raise it.")
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.argument, again.remedy) == (str(error), "dim", "Raise it.")
