"""The mutants of the long form still fit the package."""

from tests.attacks import mutants


def test_every_mutant_has_its_place():
    mutants.check_places()
