"""Damage to files, repeatable by its seed."""

import os
from collections.abc import Callable

import numpy as np

Damage = Callable[[bytearray, np.random.Generator], bytearray]

MULTIPLIER = float(os.environ.get("CADE_ATTACKS", "1"))
"""How many times as many attacks are tried as by default."""


def tries(number: int) -> int:
    """A number of tries, scaled by the environment variable CADE_ATTACKS."""
    return max(1, round(number * MULTIPLIER))


def _span(content: bytearray, rng: np.random.Generator, longest: int) -> tuple[int, int]:
    start = int(rng.integers(len(content)))
    return start, min(len(content), start + int(rng.integers(1, longest + 1)))


def flip_bits(content: bytearray, rng: np.random.Generator) -> bytearray:
    for _ in range(int(rng.integers(1, 5))):
        content[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
    return content


def cut(content: bytearray, rng: np.random.Generator) -> bytearray:
    return content[: rng.integers(len(content))]


def drop_block(content: bytearray, rng: np.random.Generator) -> bytearray:
    start, end = _span(content, rng, 64)
    return content[:start] + content[end:]


def repeat_block(content: bytearray, rng: np.random.Generator) -> bytearray:
    start, end = _span(content, rng, 256)
    return content[:end] + content[start:]


def overwrite_field(content: bytearray, rng: np.random.Generator) -> bytearray:
    """Four or eight bytes become an extreme number."""
    extreme = (0, 1, -1, 2**31 - 1, -(2**31), 2**63 - 1, int(rng.integers(-(2**63), 2**63 - 1)))
    size = int(rng.choice([4, 8]))
    number = extreme[rng.integers(len(extreme))] % 2 ** (8 * size)
    start = int(rng.integers(max(1, len(content) - size)))
    content[start : start + size] = number.to_bytes(size, "little")
    return content


def overwrite_text(content: bytearray, rng: np.random.Generator) -> bytearray:
    """Some characters become others that mean something to parsers."""
    words = (b"-1", b"1e999", b"nan", b'"', b"\n", b",", b"\xff", b"{", b"]", b"9" * 25, b"null")
    start, end = _span(content, rng, 8)
    content[start:end] = words[rng.integers(len(words))]
    return content


KINDS: tuple[Damage, ...] = (
    flip_bits,
    cut,
    drop_block,
    repeat_block,
    overwrite_field,
    overwrite_text,
)


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """A copy with one or two kinds of damage."""
    result = bytearray(content)
    for _ in range(int(rng.integers(1, 3))):
        if result:
            result = KINDS[rng.integers(len(KINDS))](result, rng)
    return bytes(result)
