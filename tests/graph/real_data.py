"""Where the tests find the public data sets."""

import os
from pathlib import Path

import pytest

DATA_DIR = os.environ.get("CADE_DATA_DIR")


def needs(name: str) -> pytest.MarkDecorator:
    """Skips a test where the files of a data set are absent."""
    absent = DATA_DIR is None or not (Path(DATA_DIR) / name).is_dir()
    return pytest.mark.skipif(absent, reason=f"needs CADE_DATA_DIR with {name}/")
