"""Partitions of the samples of a deduplicator, and links between samples by partitions."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from refinery.dedup.exchange import Places
from refinery.dedup.model import DedupInput
from refinery.workers.match_keys import SHARD_BITS


@dataclass(frozen=True)
class Partitions:
    """Ranges of shards with about as many samples each. starts: the first shard of each; the number of shards at the end.

    before: first number and file of each piece of an index, which is a partition, too, and comes before the others.
    """

    starts: tuple[int, ...]
    before: tuple[tuple[int, str], ...] = ()

    @staticmethod
    def of(inputs: DedupInput, count: int, before: tuple[tuple[int, str], ...] = ()) -> Partitions:
        """At most `count` partitions of the shards of a deduplicator, and those of its index."""
        ends = np.cumsum(inputs.alive)
        cuts = np.searchsorted(ends, np.linspace(0, ends[-1], count + 1)[1:-1], "right")
        return Partitions((*np.unique([0, *cuts]).tolist(), len(inputs.alive)), before)

    @property
    def bounds(self) -> str:
        """First number of a sample of each partition, and the end, as JSON."""
        return json.dumps([first for first, _ in self.before] + [start << SHARD_BITS for start in self.starts])

    def __len__(self) -> int:
        return len(self.before) + len(self.starts) - 1

    def files(self, names: Sequence[str]) -> list[list[str]]:
        """Files of match keys of each partition. names: of shards' files, by shards; those of an index need not be among them."""
        pieces = [[name] for _, name in self.before]
        remembered = {name for _, name in self.before}
        names = [name for name in names if name not in remembered]
        shards = [int(name.rpartition("/")[2].partition(".")[0]) for name in names]
        of_file = np.searchsorted(self.starts, shards, "right") - 1
        own: list[list[str]] = [[] for _ in self.starts[1:]]
        for name, at in zip(names, of_file.tolist(), strict=True):
            own[at].append(name)
        return [*pieces, *own]


@dataclass
class LinkFiles:
    """Files of links by partitions, the places of their parts, and notes. shingles: of compared samples, files by partition."""

    names: list[str] = field(default_factory=list)
    linked: list[Places] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    shingles: list[list[str]] = field(default_factory=list)
