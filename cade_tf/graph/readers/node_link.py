"""GraphSAGE's G.json, read without a Python object per link.

The links of Reddit are 11.6 million small JSON objects. All are written alike: without their
digits the text is one phrase, repeated. A block of the file that passes this test is turned into
numbers by NumPy; a block that does not is decoded object by object, which takes longer but reads
any JSON.
"""

import json
import mmap
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from cade_tf.errors import InputError

BLOCK = 1 << 22
"""Bytes of links read at a time."""

_LINKS = re.compile(rb'"links"\s*:\s*\[')
_GAP = re.compile(r"[ \t\r\n,]*")
_DIGITS = b"0123456789"
_ONLY_NUMBERS = bytes(c if c in _DIGITS else 0x20 for c in range(256))

Progress = Callable[[int], None]


def read_node_link(
    path: Path, progress: Progress = lambda _: None
) -> tuple[dict[str, Any], np.ndarray]:
    """Reads node-link JSON.

    Args:
        path: The file.
        progress: Called with the number of bytes of links read since the last call.

    Returns:
        The document with an empty list of links, and the links, int64 [links, 2].

    Raises:
        InputError: The file is empty, truncated, not JSON, or not of this form.
    """
    if path.stat().st_size == 0:
        raise InputError(str(path), "JSON", "an empty file", "Copy it again.")
    with open(path, "rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        mistake = None
        for match in _LINKS.finditer(content):
            # A key of this name deeper in the document is not the one.
            try:
                links, end = _Links(content, path, progress).read(match.end())
                document = _document(content[: match.end()] + content[end:], path)
            except InputError as error:
                mistake = mistake or error
                continue
            if document.get("links") == []:
                return document, links
        if mistake is not None:
            raise mistake
        _document(content[:], path)
    raise InputError(
        str(path),
        'an object with a list "links"',
        "none",
        "Write it in GraphSAGE's form; a NetworkX graph can be given to from_networkx instead.",
    )


def _document(content: bytes, path: Path) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _malformed(path, error) from error
    if not isinstance(document, dict):
        raise InputError(
            str(path), "a JSON object", type(document).__name__, "Write node-link JSON."
        )
    return document


def _malformed(path: Path, error: object) -> InputError:
    return InputError(
        str(path), "complete JSON", f"damaged or truncated ({error})", "Copy it again."
    )


class _Links:
    """Reads the list of links that begins at a position of a file."""

    def __init__(self, content: mmap.mmap, path: Path, progress: Progress) -> None:
        self.content = content
        self.path = path
        self.progress = progress
        self.parts: list[np.ndarray] = []
        self.phrase: bytes | None = None
        self.order = [0, 1]

    def read(self, start: int) -> tuple[np.ndarray, int]:
        """The links, and where their closing bracket is."""
        position, size, ended = start, BLOCK, False
        while not ended:
            block = self.content[position : position + size]
            gap = len(block) - len(block.lstrip(b" \t\r\n,"))
            if gap:
                position += gap
                continue
            used = self._uniform(block)
            if not used:
                used, ended = self._any(block, complete=position + size >= len(self.content))
            # An object longer than the block: look at more of it.
            size = BLOCK if used else 2 * size
            position += used
            self.progress(used)
        links = np.concatenate(self.parts) if self.parts else np.zeros((0, 2), np.int64)
        return links, position

    def _uniform(self, block: bytes) -> int:
        """Reads whole links written like the first; returns the bytes read, 0 where it cannot."""
        end = block.rfind(b"{")
        if end <= 0 or (self.phrase is None and not self._learn(block)):
            return 0
        text = block[:end].translate(None, _DIGITS)
        phrase = self.phrase or b"?"
        count, rest = divmod(len(text), len(phrase))
        if rest or text != phrase * count:
            return 0
        numbers = np.fromstring(block[:end].translate(_ONLY_NUMBERS), np.int64, sep=" ")
        if len(numbers) != 2 * count:
            return 0
        self.parts.append(numbers.reshape(-1, 2)[:, self.order])
        return end

    def _learn(self, block: bytes) -> bool:
        """Takes the phrase from the first link; whether it holds two plain numbers and no more."""
        second = block.find(b"{", 1)
        if not block.startswith(b"{") or second < 0:
            return False
        first = block[:second]
        try:
            link = json.loads(first[: first.rindex(b"}") + 1])
        except ValueError:
            return False
        numbers = [int(n) for n in first.translate(_ONLY_NUMBERS).split()]
        if not isinstance(link, dict) or len(numbers) != 2 or b"-" in first or b"." in first:
            return False
        ends = [key for key in link if key in ("source", "target")]
        if [link[key] for key in ends] != numbers:
            return False
        self.order = [ends.index("source"), ends.index("target")]
        self.phrase = first.translate(None, _DIGITS)
        return True

    def _any(self, block: bytes, complete: bool) -> tuple[int, bool]:
        """Decodes object by object; returns the bytes read and whether the list has ended."""
        # Cut after a bracket, never within a character of several bytes.
        cut = len(block) if complete else max(block.rfind(b"}"), block.rfind(b"]")) + 1
        try:
            text = block[:cut].decode()
        except UnicodeDecodeError as error:
            raise _malformed(self.path, error) from error
        decoder = json.JSONDecoder()
        pairs: list[tuple[int, int]] = []
        position, ended = 0, False
        while True:
            begin = _GAP.match(text, position).end()  # type: ignore[union-attr]
            if begin < len(text) and text[begin] == "]":
                position, ended = begin, True
                break
            try:
                link, position = decoder.raw_decode(text, begin)
            except (ValueError, RecursionError) as error:
                if complete or isinstance(error, RecursionError):
                    raise _malformed(self.path, error) from error
                break
            pairs.append(self._pair(link))
        if pairs:
            self.parts.append(np.array(pairs, np.int64))
        return len(text[:position].encode()), ended

    def _pair(self, link: Any) -> tuple[int, int]:
        ends = (link.get("source"), link.get("target")) if isinstance(link, dict) else (None, None)
        if not all(isinstance(e, int) and not isinstance(e, bool) and abs(e) < 2**62 for e in ends):
            raise InputError(
                f"{self.path}, links",
                'objects with integers "source" and "target"',
                json.dumps(link)[:80],
                "Links hold positions in the list of nodes, not ids.",
            )
        return ends  # type: ignore[return-value]
