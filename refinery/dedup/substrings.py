"""The driver's part of the search for repeated substrings: hands out tasks, round by round.

A round finds items (`refinery.kernels.dedup.substrings`) that are equal. In the first round an item has all windows of an anchor.
Items that only share a key go to the next round, cut into cells of fewer windows; in the last round an item is one window. So
an anchor that occurs millions of times is never compared with itself pair by pair, and tasks see no texts but the parts of them
that such items have, which are read again once.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from refinery.dedup import limits
from refinery.dedup.exchange import Exchange, Share
from refinery.dedup.model import DedupInput
from refinery.dedup.partitions import Partitions
from refinery.dedup.recomputed import computed_again
from refinery.dedup.tasks import substrings as tasks
from refinery.kernels.dedup.substring_cells import widths
from refinery.kernels.dedup.substrings import gram_of
from refinery.workers.executor import Executor

# Most items of a task, on average; least ones for which another task pays off; bytes of memory for each while a task has them.
_MOST, _LEAST, _BYTES = 1_000_000, 100_000, 256
# Files of match keys that a task looks at.
_FILES = 100
# Cells of an open item, about.
_CELLS = 8

Shares = list[list[Share]]


class Round(NamedTuple):
    """Results of a round: passages and open items by partitions of samples, and the number of open items."""

    passages: Shares
    opened: Shares
    left: int


class Found(NamedTuple):
    """Files of `duplicates`, files of units by shard, and notes."""

    duplicates: tuple[str, ...]
    units: dict[int, str]
    notes: list[str]


class SubstringTasks:
    """Tasks of one deduplicator. folder: of its files in the store. parts: number of parts for so many rows of work."""

    def __init__(
        self, executor: Executor, exchange: Exchange, folder: str, inputs: DedupInput, parts: Callable[[int], int]
    ) -> None:
        self._executor, self._exchange, self._folder, self._inputs = executor, exchange, folder, inputs
        self._count_parts, params = parts, inputs.step.params
        self._length, self._tokens = int(params["min_length"]), params["unit"] == "token"
        self._every = params["keep"] == "none"
        self._number = 0

    def find(self, rows: int) -> Found:
        """Find the passages to remove. rows: number of items. Raises OperatorError if a safety limit is broken."""
        self._partitions = Partitions.of(self._inputs, self._shares(rows))
        windows = self._length - gram_of(self._length) + 1
        found = self._round(self._items(rows), windows)
        passages = found.passages
        excerpts = self._excerpts(found.opened) if found.left else []
        for width in widths(self._length):
            if not found.left:
                break
            found = self._round(self._cells(found, excerpts, width), width)
            passages = [[*one, *other] for one, other in zip(passages, found.passages, strict=True)]
        return self._settled(passages)

    def _shares(self, rows: int) -> int:
        """Number of tasks, and so of shares of keys, for so many items: they fit the memory, and use the cores."""
        most = max(_LEAST, min(_MOST, self._inputs.memory // _BYTES)) if self._inputs.memory else _MOST
        return max(1, -(-rows // most), min(self._executor.capacity(), rows // _LEAST), self._count_parts(rows))

    def _items(self, rows: int) -> Shares:
        """The items of all samples, by shares of their keys."""
        count, files = self._shares(rows), self._inputs.files
        each = -(-len(files) // count)
        groups = [list(files[at : at + each]) for at in range(0, len(files), each)]
        to = self._exchange.names("items", len(groups))
        calls = list(zip(groups, to, strict=True))
        places = list(map(json.loads, self._map(tasks.shares, calls, (count,), "items by keys")))
        return self._exchange.shares(to, places, count)

    def _round(self, divided: Sequence[Sequence[Share]], windows: int) -> Round:
        """Compare items by shares of their keys. windows: most windows of an item."""
        self._number += 1
        own = [list(shares) for shares in divided if shares]
        passages, opened = (self._names(kind, len(own)) for kind in ("passages", "open"))
        shared = self._partitions.bounds, self._length, self._every, windows == 1
        calls = list(zip(own, passages, opened, strict=True))
        answers = list(map(json.loads, self._map(tasks.groups, calls, shared, "equal substrings")))
        return Round(
            self._exchange.shares(passages, [answer["passages"] for answer in answers], len(self._partitions)),
            self._exchange.shares(opened, [answer["open"] for answer in answers], len(self._partitions)),
            sum(answer["count"] for answer in answers),
        )

    def _excerpts(self, opened: Shares) -> list[list[str]]:
        """Files with the parts of texts that open items have, by partitions."""
        column = f"_removed_{self._inputs.step.index}"
        names = computed_again(self._executor, self._inputs, f"{self._folder}/joined/excerpts", opened, column)
        return self._partitions.files(names)

    def _cells(self, found: Round, excerpts: Sequence[Sequence[str]], width: int) -> Shares:
        """Cells of the open items, by shares of their keys."""
        count = self._shares(found.left * _CELLS)
        at = [partition for partition, own in enumerate(found.opened) if own]
        to = self._names("cells", len(at))
        calls = [(list(found.opened[one]), list(excerpts[one]), name) for one, name in zip(at, to, strict=True)]
        shared = self._length, width, self._tokens, count
        places = list(map(json.loads, self._map(tasks.cells, calls, shared, "cells of substrings")))
        return self._exchange.shares(to, places, count)

    def _settled(self, passages: Shares) -> Found:
        """Write what each sample loses: a file of duplicates for each partition, a file of units for each shard."""
        at = [partition for partition, own in enumerate(passages) if own]
        to = [f"{self._folder}/duplicates_{partition:05d}.parquet" for partition in at]
        calls = [(list(passages[one]), name) for one, name in zip(at, to, strict=True)]
        shared = self._folder, f"_removed_{self._inputs.step.index}", self._every
        answers = self._map(tasks.settle, calls, shared, "passages")
        written = {int(shard): own for answer in answers for shard, own in json.loads(answer).items()}
        notes = self._notes({shard: symbols for shard, (_, symbols) in written.items()})
        return Found(tuple(to), {shard: name for shard, (name, _) in written.items()}, notes)

    def _notes(self, removed: Mapping[int, int]) -> list[str]:
        """Notes on a share of repeated symbols above `max_removed_share`. removed: symbols by shard. Raises OperatorError."""
        step, files = self._inputs.step, self._inputs.files
        if step.params["max_removed_share"] is None:
            return []
        calls = [(list(files[at : at + _FILES]),) for at in range(0, len(files), _FILES)]
        answers = self._map(tasks.sizes, calls, (self._length,), "sizes of texts")
        sizes = {int(shard): size for answer in answers for shard, size in json.loads(answer).items()}
        before, gone = Counter[str](), Counter[str]()
        for shard, source in enumerate(self._inputs.sources):
            before[source] += sizes.get(shard, 0)
            gone[source] += removed.get(shard, 0)
        return limits.check(step, 0, before, gone, f"{step.params['unit']}s")

    def _names(self, kind: str, count: int) -> list[str]:
        return self._exchange.names(f"{kind}_{self._number}", count)

    def _map(
        self, work: Callable[..., str], calls: Sequence[tuple[object, ...]], shared: Sequence[object], label: str
    ) -> list[str]:
        return self._executor.map(work, calls, shared, f"{self._inputs.step.name}: {label}")
