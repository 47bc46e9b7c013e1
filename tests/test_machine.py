"""The memory of the machine, and of a container."""

import os

import pytest

from cade_tf import machine


@pytest.mark.parametrize(
    ("text", "expected"), [("1073741824\n", 2**30), ("max\n", None), ("1" + 18 * "0", None)]
)
def test_a_container_s_limit_counts_where_it_is_the_smaller_one(tmp_path, text, expected):
    limit = tmp_path / "memory.max"
    limit.write_text(text)
    found = machine.memory_bytes((str(tmp_path / "absent"), str(limit)))
    assert found == (expected or os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))


def test_a_system_that_does_not_tell(monkeypatch):
    monkeypatch.delattr(os, "sysconf")
    assert machine.memory_bytes() == 0
