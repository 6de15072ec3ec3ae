"""Lists for filters of addresses: files with an entry a line, and a search for all entries of a list at once.

Needs only the standard library, so a recipe is checked without Arrow.
"""

from __future__ import annotations

import gzip
import tarfile
import zlib
from collections.abc import Iterable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any

from refinery.kernels.core.file_state import state_of

_FEW = 300  # entries that are faster looked for one by one


class UrlListError(ValueError):
    """A list cannot be read; the message names the file."""


def entries(path: str) -> tuple[str, ...]:
    """Lines of a list that are not blank, plain or gzip; read once per state of the file. Raises UrlListError."""
    try:
        return _entries(path, state_of(path))
    except OSError as error:
        raise UrlListError(f"{path}: {error.strerror or error}") from None


@lru_cache(maxsize=32)
def _entries(path: str, state: tuple[int, ...]) -> tuple[str, ...]:
    try:
        raw = Path(path).read_bytes()
        return _lines(gzip.decompress(raw) if raw[:2] == b"\x1f\x8b" else raw, path)
    except (EOFError, zlib.error) as error:
        raise UrlListError(f"{path}: damaged gzip data: {error}") from None


def member_entries(path: str, name: str) -> tuple[str, ...]:
    """Lines of a file in a tar archive; none if it is not there. Raises UrlListError."""
    return _member_entries(path, name, state_of(path))


@lru_cache(maxsize=4)
def _member_entries(path: str, name: str, state: tuple[int, ...]) -> tuple[str, ...]:
    try:
        with tarfile.open(path) as archive:
            members = [member for member in archive if member.isfile() and Path(member.name).name == name]
            streams = [archive.extractfile(member) for member in members]
            return tuple(line for stream in streams if stream for line in _lines(stream.read(), f"{path}: {name}"))
    except (OSError, EOFError, tarfile.TarError, zlib.error) as error:
        raise UrlListError(f"{path}: {error}") from None


def _lines(raw: bytes, where: str) -> tuple[str, ...]:
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw[: error.start].count(b"\n") + 1
        raise UrlListError(f"{where}: line {line} is not UTF-8") from None
    lines: Iterable[str] = text.split("\n")
    # Lists have millions of lines, most of them without white space at their ends.
    if not text.isascii() or any(space in text for space in " \t\r\v\f\x1c\x1d\x1e\x1f"):
        lines = map(str.strip, lines)
    return tuple(filter(None, lines))


class Trie:
    """Entries as nested dictionaries by character; `""` ends an entry. Empty entries are left out."""

    def __init__(self, words: Iterable[str]) -> None:
        words = tuple(words)
        self.root: dict[str, Any] = {}
        self.few = tuple(filter(None, words)) if len(words) <= _FEW else None
        for word in words:
            place = self.root
            for char in word:
                place = place.setdefault(char, {})
            if word:
                place[""] = {}

    def ends(self, text: str, start: int) -> Iterator[int]:
        """Ends of the entries that begin at `start`, the shortest first."""
        place = self.root
        for at in range(start, len(text)):
            child = place.get(text[at])
            if child is None:
                return
            place = child
            if "" in place:
                yield at + 1

    def is_in(self, text: str) -> bool:
        """True if any entry occurs in the text."""
        if self.few is not None:
            return any(word in text for word in self.few)
        root = self.root
        return any(True for start, char in enumerate(text) if char in root for _ in self.ends(text, start))
