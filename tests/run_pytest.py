"""Main program of every test rule in BUILD: runs the file given as argument."""

import sys

import pytest

if __name__ == "__main__":
    sys.exit(pytest.main(sys.argv[1:]))
