"""Whatever happens to a file, a reader gives a valid graph or an InputError that names a file.

300 damaged files over every format, and 450 that are well-formed with an odd content; the
environment variable CADE_ATTACKS multiplies them.
"""

import contextlib
import dataclasses
import shutil
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

from cade_tf.errors import InputError
from cade_tf.graph import description, readers
from cade_tf.graph.graph import Graph
from tests.attacks.damage import damaged, tries
from tests.attacks.graph_files import KINDS
from tests.attacks.odd_values import make_odd

TRIES, ODD_TRIES = 300, 450
IN_C = ("parquet",)
"""Formats whose parser is not Python, which are read in a process of their own."""


def read(name: str, folder: Path, verify: bool) -> Graph:
    kind = KINDS[name]
    tables = {argument: folder / file for argument, file in kind.tables.items()}
    return readers.read(folder / kind.path, verify=verify, **tables)


def survives(name: str, folder: Path) -> str:
    """What became of a reading; any other exception than InputError ends the test."""
    with contextlib.suppress(InputError):
        read(name, folder, verify=False)
    try:
        graph = read(name, folder, verify=True)
    except InputError as error:
        return f"InputError: {error}"
    # What a damaged file gives must be a graph as good as any.
    dataclasses.replace(graph)
    description.notes(graph)
    return repr(graph)


def damage(path: Path, rng: np.random.Generator) -> None:
    path.write_bytes(damaged(path.read_bytes(), rng))


def attacks(name: str, folder: Path, change=damage, count: int = TRIES):
    """Copies of a good graph, one of whose files is changed, one by one."""
    good, bad = folder / "good", folder / "bad"
    good.mkdir()
    KINDS[name].write(good)
    files = sorted(path.relative_to(good) for path in good.rglob("*") if path.is_file())
    for number in range(tries(count / len(KINDS))):
        rng = np.random.default_rng([number, zlib.crc32(name.encode())])
        file = files[rng.integers(len(files))]
        shutil.copytree(good, bad)
        change(bad / file, rng)
        yield number, bad, file
        shutil.rmtree(bad)


@pytest.mark.parametrize("name", KINDS)
def test_the_undamaged_files_are_read(name, tmp_path):
    KINDS[name].write(tmp_path)
    graph = read(name, tmp_path, verify=True)
    assert graph.num_nodes in (12, 24)
    assert graph.features is not None
    assert graph.labels is not None


@pytest.mark.parametrize("name", [name for name in KINDS if name not in IN_C])
def test_a_damaged_file_gives_a_graph_or_an_input_error(name, tmp_path, record_property):
    record_property("tries", tries(TRIES / len(KINDS)))
    check(name, attacks(name, tmp_path))


@pytest.mark.parametrize("name", KINDS)
def test_a_damaged_meaning_gives_a_graph_or_an_input_error(name, tmp_path, record_property):
    record_property("tries", tries(ODD_TRIES / len(KINDS)))
    check(name, attacks(name, tmp_path, make_odd, ODD_TRIES))


def check(name: str, changed):
    """Reads copies of a graph: each gives a graph or an error, and some of them an error."""
    refused = []
    for number, folder, file in changed:
        try:
            outcome = survives(name, folder)
        except Exception as error:
            raise AssertionError(f"try {number}, {file}: {error!r}") from error
        if outcome.startswith("InputError"):
            refused.append(outcome)
            assert str(folder) in outcome, f"try {number}, {file} names no file: {outcome}"
    # The damage is real: most of it is noticed.
    assert refused


@pytest.mark.parametrize("name", IN_C)
def test_a_damaged_file_does_not_end_the_process(name, tmp_path, record_property):
    record_property("tries", tries(TRIES / len(KINDS)))
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from tests.attacks import test_damaged_files as attack\n"
        "name, folder = sys.argv[1], Path(sys.argv[2])\n"
        "for number, bad, file in attack.attacks(name, folder):\n"
        "    print(number, file, flush=True)\n"
        "    attack.survives(name, bad)\n"
        "print('survived')\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code, name, str(tmp_path)], capture_output=True, text=True
    )
    assert result.stdout.endswith("survived\n"), result.stdout[-100:] + result.stderr
