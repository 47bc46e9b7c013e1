"""The one error that tells a user what to change."""

import importlib
from typing import Any

EXTRAS = {
    "faiss": "faiss",
    "matplotlib": "plot",
    "optuna": "tune",
    "pyarrow": "parquet",
    "umap": "umap",
}
"""Packages that are not always there, and the extra of cade_tf that brings each."""


class InputError(ValueError):
    """A mistake in what the user gave: an argument, a flag or a file.

    The command line prints it as one line and exits with code 2; every other exception is a bug
    and keeps its traceback.

    Args:
        argument: Name of the argument, flag or file that is wrong.
        expected: What would have been right.
        received: What was given instead.
        remedy: What to do about it.

    Example:

    >>> raise InputError("dim", "at least 1", "0", "Choose a width.")
    Traceback (most recent call last):
    cade_tf.errors.InputError: dim: expected at least 1, received 0. Choose a width.
    """

    def __init__(self, argument: str, expected: str, received: object, remedy: str) -> None:
        super().__init__(f"{argument}: expected {expected}, received {received}. {remedy}")
        self.argument = argument
        self.expected = expected
        self.received = received
        self.remedy = remedy

    def __reduce__(self) -> tuple[type["InputError"], tuple[str, str, str, str]]:
        """From one process to another; what was received goes as text."""
        return InputError, (self.argument, self.expected, str(self.received), self.remedy)

    def within(self, place: object) -> "InputError":
        """The same error, saying in which file the argument was found."""
        return InputError(f"{place}, {self.argument}", self.expected, self.received, self.remedy)


def missing_package(wanted_by: str, package: str) -> InputError:
    """The error of an argument, file or command that needs a package which is not there."""
    source = f'"cade_tf[{EXTRAS[package]}]"' if package in EXTRAS else package
    remedy = f"Install it with pip install {source}."
    return InputError(wanted_by, f"the package {package}", "an installation without it", remedy)


def require_module(name: str, wanted_by: str) -> Any:
    """A module of a package that is not always there.

    Args:
        name: Name of the module.
        wanted_by: The argument, file or command that needs it.

    Raises:
        InputError: Its package is not installed.
    """
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise missing_package(wanted_by, name.partition(".")[0]) from error
