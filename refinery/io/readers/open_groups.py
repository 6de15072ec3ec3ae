"""Groups of rows of Parquet that are cut: a reader of a later piece goes on where an earlier one has stopped.

A group can only be decompressed from its beginning. So the threads of a process leave the readers that they have opened to each other, at the
row where their piece ends: however many pieces a group has, each thread decompresses it once at most.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

# Most readers that wait for the next piece.
_IDLE = 8


@dataclass(frozen=True)
class Group:
    """A group of rows: its number in the file, and its first row and the one after its last."""

    number: int
    first: int
    end: int


class GroupReader:
    """Rows of a group, read in order. file: closed with the reader. step: most rows that are decoded at a time."""

    def __init__(self, file: Any, group: Group, step: int) -> None:
        self._file, self.row = file, group.first
        self._batches = file.iter_batches(step, row_groups=[group.number], use_threads=False)
        self._rest: pa.Table | None = None

    def until(self, end: int) -> Iterator[pa.Table]:
        """The next rows, up to `end`, in small tables."""
        while self.row < end:
            table = self._rest if self._rest is not None else self._next()
            some = table.slice(0, end - self.row)
            self._rest = table.slice(len(some)) if len(some) < len(table) else None
            self.row += len(some)
            yield some

    def _next(self) -> pa.Table:
        batch = next(self._batches, None)
        if batch is None:
            raise pa.ArrowInvalid(f"the group of rows ends before row {self.row}")
        return pa.Table.from_batches([batch])

    def close(self) -> None:
        """Close the file."""
        self._rest = None
        self._file.close()


@dataclass
class OpenGroups:
    """Readers that wait for the next piece of their group, the last one at the end. Safe for threads."""

    _idle: list[tuple[Hashable, GroupReader]] = field(default_factory=list)
    _lock: threading.Lock = field(default_factory=threading.Lock)

    def rows(
        self, key: Hashable, group: Group, start: int, end: int, opened: Callable[[], GroupReader]
    ) -> Iterator[pa.Table]:
        """Rows [start, end) of a group. key: of the file in its present state, and of how it is read."""
        reader = self._nearest((key, group), start) or opened()
        try:
            for _ in reader.until(start):
                pass
            yield from reader.until(end)
        except BaseException:
            reader.close()
            raise
        if end < group.end:
            self._keep((key, group), reader)
        else:
            reader.close()

    def _nearest(self, key: Hashable, start: int) -> GroupReader | None:
        """The reader of the group that is nearest before a row."""
        with self._lock:
            fit = [item for item in self._idle if item[0] == key and item[1].row <= start]
            if not fit:
                return None
            found = max(fit, key=lambda item: item[1].row)
            self._idle.remove(found)
            return found[1]

    def _keep(self, key: Hashable, reader: GroupReader) -> None:
        with self._lock:
            self._idle.append((key, reader))
            late = self._idle[:-_IDLE]
            del self._idle[:-_IDLE]
        for _, old in late:
            old.close()

    def close(self) -> None:
        """Close all readers."""
        with self._lock:
            idle, self._idle = self._idle, []
        for _, reader in idle:
            reader.close()


open_groups = OpenGroups()
