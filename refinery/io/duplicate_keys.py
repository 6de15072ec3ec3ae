"""JSON objects with a key twice: the last one counts, as for Python and every other reader of the line."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

_TOKEN = re.compile(rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"|[\[{\]},:]')

Span = tuple[int, int]


class _Object:
    """An open object: starts of its members, and the last member of each key."""

    def __init__(self) -> None:
        self.starts: list[int] = []
        self.last: dict[str, int] = {}
        self.key_is_due = True

    def add(self, start: int, key: bytes) -> int | None:
        """Add a key; returns the number of the earlier member of that name, or None."""
        name = json.loads(key)
        earlier = self.last.get(name)
        self.last[name] = len(self.starts)
        self.starts.append(start)
        self.key_is_due = False
        return earlier


def last_of_each(line: bytes) -> bytes:
    """A JSON object with only the last member of each name, at any depth; every other byte is unchanged."""
    drops = sorted(_earlier_members(line))
    if not drops:
        return line
    kept, at = [], 0
    for start, end in drops:
        if start >= at:
            kept.append(line[at:start])
        at = max(at, end)
    return b"".join([*kept, line[at:]])


def _earlier_members(line: bytes) -> Iterator[Span]:
    """Spans of members that a later member of the same name replaces, each up to the key of the next member."""
    open_now: list[_Object | None] = []  # None: an array
    for token in _TOKEN.finditer(line):
        first = line[token.start()]
        top = open_now[-1] if open_now else None
        if first in b"{[":
            open_now.append(_Object() if first == ord("{") else None)
        elif first in b"}]":
            open_now.pop()
        elif top is not None and first == ord(","):
            top.key_is_due = True
        elif top is not None and first == ord('"') and top.key_is_due:
            earlier = top.add(token.start(), token[0])
            if earlier is not None:
                yield top.starts[earlier], top.starts[earlier + 1]
