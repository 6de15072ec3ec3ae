"""Sees fields of JSON lines: which there are, and kinds and bounds of the values of some."""

from __future__ import annotations

from collections.abc import Iterable
from collections.abc import Set as AnySet

import numpy as np

from refinery import kernels
from refinery.common.field_profile import FieldProfile, InputProfile
from refinery.io.batch import LINE
from refinery.io.model import Shard
from refinery.io.readers.read import read
from refinery.kernels.core.arrow import Texts, texts
from refinery.kernels.json import jsonprofile as seen

# Initial room: fields, places of the table, bytes of names, integers beyond 64 bits, bytes of one name with escapes.
_NODES, _KEYS, _BIG, _TEXT = 256, 8192, 1024, 1024
_BATCH = 8 << 20
# Digits of the longest integer that is read.
_LONGEST = 1000


def profile_of(shard: Shard, wanted: AnySet[str] | None) -> InputProfile:
    """Profile of the samples of a shard. wanted: names of the fields that are looked at, in lower case; None: all."""
    scan = FieldScan(wanted)
    for batch in read(shard, _BATCH):
        scan.see(texts(batch.table[LINE]))
    return scan.profile()


def profile_of_all(shards: Iterable[Shard]) -> InputProfile:
    """Profile of all fields of all samples of some shards of lines."""
    profile = InputProfile()
    for shard in shards:
        profile.merge(profile_of(shard, None))
    return profile


class FieldScan:
    """A scan of lines. wanted: names of the fields that are looked at, in lower case; None: all."""

    def __init__(self, wanted: AnySet[str] | None) -> None:
        self._wanted = wanted
        self._nodes = np.zeros((_NODES, seen.COLUMNS), np.int64)
        self._table = np.zeros(4 * _NODES, np.int64)
        self._counts = np.array([1, 0, 0], np.int64)
        self._keys, self._text = np.zeros(_KEYS, np.uint8), np.zeros(_TEXT, np.uint8)
        self._big = np.zeros((_BIG, 3), np.int64)
        self._stack = np.zeros(kernels.json.jsontext.MAX_DEPTH + 2, np.int64)
        self._integers: dict[int, FieldProfile] = {}  # node -> its integers beyond 64 bits

    def see(self, lines: Texts) -> None:
        """See some lines, valid JSON objects."""
        line, reason = 0, seen.FULL
        while reason != seen.DONE:
            line, reason = seen.see_lines(
                lines.data, lines.offsets, line, self._nodes, self._table, self._counts, self._keys, self._big,
                self._stack, self._text,
            )  # fmt: skip
            self._take_integers(lines.data)
            if reason == seen.NEW:
                self._mark_new()
            elif reason == seen.FULL:
                self._make_room(int(lines.offsets[line + 1] - lines.offsets[line]))

    def profile(self) -> InputProfile:
        """The profile of all lines so far."""
        profiles = [self._profile(node) for node in range(self._counts[seen.NODES])]
        total = InputProfile()
        for node in range(1, len(profiles)):
            parent, name = int(self._nodes[node, seen.PARENT]), self._name(node)
            if parent == 0:
                total.names[name] = None
                if self._nodes[node, seen.WANTED] == seen.YES:
                    total.fields[name] = profiles[node]
            elif self._nodes[node, seen.KEY] < 0:
                profiles[parent].items = profiles[node]
            else:
                profiles[parent].members = {**(profiles[parent].members or {}), name: profiles[node]}
        return total

    def _profile(self, node: int) -> FieldProfile:
        """Profile of a node, without what is below it."""
        values = [int(value) for value in self._nodes[node]]
        flags = values[seen.FLAGS]
        profile = FieldProfile(
            null=bool(flags & seen.NULL),
            boolean=bool(flags & seen.BOOLEAN),
            text=bool(flags & seen.TEXT),
            inexact=bool(flags & seen.INEXACT),
            decimal=bool(flags & seen.DECIMAL),
            special=bool(flags & seen.SPECIAL),
            wide=bool(flags & seen.WIDE),
            whole=values[seen.WHOLE],
            scale=values[seen.SCALE],
            digits=values[seen.DIGITS],
        )
        if flags & seen.INTEGER:
            profile.low, profile.high = values[seen.LOW], values[seen.HIGH]
        if flags & seen.LARGE:
            profile.high = values[seen.HUGE] + 2**63
        profile.items = FieldProfile() if flags & seen.ARRAY else None
        profile.members = {} if flags & seen.OBJECT else None
        if node in self._integers:
            profile.merge(self._integers[node])
        return profile

    def _name(self, node: int) -> str:
        start, end = self._nodes[node, seen.KEY], self._nodes[node, seen.KEY_END]
        return "" if start < 0 else bytes(self._keys[start:end]).decode("utf-8", "surrogatepass")

    def _mark_new(self) -> None:
        """Decide which of the new fields of lines are looked at."""
        count = self._counts[seen.NODES]
        of_lines = (self._nodes[1:count, seen.PARENT] == 0) & (self._nodes[1:count, seen.WANTED] == seen.UNKNOWN)
        for node in (np.flatnonzero(of_lines) + 1).tolist():
            wanted = self._wanted is None or self._name(node).lower() in self._wanted
            self._nodes[node, seen.WANTED] = seen.YES if wanted else seen.NO

    def _take_integers(self, data: np.ndarray) -> None:
        """See the integers beyond 64 bits."""
        for node, start, end in self._big[: self._counts[seen.BIG]].tolist():
            self._integers.setdefault(node, FieldProfile()).add_integer(_integer(bytes(data[start:end])))
        self._counts[seen.BIG] = 0

    def _make_room(self, longest: int) -> None:
        """Make twice the room, and enough for a name of a line."""
        self._nodes = np.concatenate([self._nodes, np.zeros_like(self._nodes)])
        self._keys = np.concatenate([self._keys, np.zeros(max(len(self._keys), longest), np.uint8)])
        self._text = np.zeros(max(len(self._text), longest + 64), np.uint8)
        self._big = np.zeros((2 * len(self._big), 3), np.int64)
        self._table = np.zeros(2 * len(self._table), np.int64)
        seen.place_nodes(self._nodes, self._table, self._counts, self._keys)


def _integer(digits: bytes) -> int:
    """An integer; one that is too long for Python to read is made shorter, but no less beyond all types."""
    return int(digits[:_LONGEST])
