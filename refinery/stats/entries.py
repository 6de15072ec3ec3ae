"""Entries of statistics files: one for each key, a summary of the values of one statistic under that key.

An entry is a number x (one value, x), or an object with some of `total`, `n`, `mean`, `variance` (with n - 1), `std_dev`, `min`,
`max`, `unit`. Missing fields are implied: a mean of 1; an n that is the total where the mean is 1, else an n of 1; minimum and
maximum that are the mean; a variance of 0; the unit `doc` (`task` of a number). These are datatrove's rules. Its writer leaves
n out too often: a total of zero becomes the number 0, which means one value, whatever n was. refinery always writes n. It adds
three fields where they are not zero, which datatrove ignores: `nans` and `infinities`, counts of values that are in no
other field, and `mean_low`, the mean minus its nearest DOUBLE.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from refinery.errors import DataError
from refinery.kernels.core.arrow import ints, of_texts
from refinery.kernels.stats import stat_entries as kernels
from refinery.kernels.stats import stat_sums as sums

_UNITS = {"doc": 0, "task": 1}
_MESSAGES = {
    sums.NO_TOTAL: "has no total",
    sums.BAD_N: "has an n that is not a whole number",
    sums.TWICE: "is there twice",
}


class Buffers:
    """Memory that is reused for every chunk of files: taking new memory for each costs a third of the time."""

    def __init__(self) -> None:
        self._found: dict[str, np.ndarray] = {}

    def take(self, name: str, shape: tuple[int, ...], kind: type) -> np.ndarray:
        """An array of this shape with any content; reuses the memory of this name if it is large enough."""
        buffer = self._found.get(name)
        if buffer is None or len(buffer) < shape[0]:
            buffer = self._found[name] = np.empty((shape[0] + shape[0] // 4, *shape[1:]), kind)
        return buffer[: shape[0]]


@dataclass(frozen=True)
class EntryRows:
    """Entries of several files from `kernels.read`; they refer to the files' bytes."""

    data: np.ndarray
    texts: np.ndarray
    facts: np.ndarray
    numbers: np.ndarray
    count: int
    names: Sequence[str]

    def key(self, row: int) -> str:
        """The key of an entry."""
        start, length = int(self.facts[row, kernels.START]), int(self.facts[row, kernels.LENGTH])
        source, start = (self.data, start) if start >= 0 else (self.texts, -1 - start)
        return source[start : start + length].tobytes().decode(errors="replace")


def joined(contents: Sequence[bytes], buffers: Buffers | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The bytes of files one after another with the spare bytes that kernels need; the files' starts and ends."""
    sizes = np.array([len(content) for content in contents], np.int64)
    data, starts, ends = room(sizes, buffers)
    for content, start, end in zip(contents, starts, ends, strict=True):
        data[start:end] = np.frombuffer(content, np.uint8)
    return data, starts, ends


def room(sizes: np.ndarray, buffers: Buffers | None = None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Memory for files of these sizes, a zero byte behind each; the files' starts and ends."""
    ends = np.cumsum(sizes + 1) - 1
    total = int(ends[-1]) if len(ends) else 0
    data = (buffers or Buffers()).take("data", (total + kernels.SPARE,), np.uint8)
    data[total:] = 0
    data[ends] = 0
    return data, ends - sizes, ends


def read(
    data: np.ndarray, starts: np.ndarray, ends: np.ndarray, names: Sequence[str], buffers: Buffers | None = None
) -> EntryRows:
    """The entries of the files data[starts[k] : ends[k]] (see `joined`); they lie in `buffers`.

    Raises DataError with the file and the byte in it where the content is not a JSON object of entries.
    """
    buffers = buffers or Buffers()
    texts = buffers.take("texts", (len(data),), np.uint8)
    hard = buffers.take("hard", (256, 4), np.int64)
    capacity = len(data) // 48 + len(starts)
    while True:
        facts = buffers.take("facts", (capacity, kernels.FACTS), np.int64)
        numbers = buffers.take("numbers", (capacity, kernels.NUMBERS), np.float64)
        count, how, file, at = kernels.read(data, starts, ends, facts, numbers, texts, hard)
        if how == kernels.DAMAGED:
            raise DataError(
                f"{names[file]}: {_damage(data[starts[file] : ends[file]].tobytes(), int(at - starts[file]))}"
            )
        if how == kernels.DONE:
            break
        capacity *= 4
        hard = buffers.take("hard", (4 * len(hard), 4), np.int64)
    if hard[0, 1]:
        _check_utf8(data, starts, ends, names)
    for row, field, start, end in hard[1 : int(hard[0, 0]) + 1].tolist():
        numbers[row, field] = float(data[start:end].tobytes())
    return EntryRows(data, texts, facts, numbers, count, names)


def _check_utf8(data: np.ndarray, starts: np.ndarray, ends: np.ndarray, names: Sequence[str]) -> None:
    for name, start, end in zip(names, starts, ends, strict=True):
        try:
            data[start:end].tobytes().decode()
        except UnicodeDecodeError as error:
            raise DataError(f"{name}: byte {error.start} is not UTF-8; the file is damaged") from None


def _damage(content: bytes, at: int) -> str:
    """Description of the damage in a file; Python's message where Python cannot read the file either."""
    if not content:
        return "the file is empty; it may have been cut off while it was written"
    try:
        content_object = json.loads(content.decode(errors="replace"))
    except ValueError as error:
        return f"damaged JSON: {error}"
    if not isinstance(content_object, dict):
        return "holds no JSON object of entries"
    near = content[max(0, at - 30) : at + 30].decode(errors="replace")
    return f"byte {at}: not an entry of a statistics file, near {near!r}"


class KeySums:
    """Sums of the entries of each key, added one after another; memory grows with the number of different keys."""

    def __init__(self) -> None:
        self._table = np.full(256, -1, np.int32)
        self._known = np.empty((128, sums.KEY_COLUMNS), np.int64)
        self._arena = np.empty(8192, np.uint8)
        self._sizes = np.zeros(2, np.int64)
        self._tallies = np.zeros(2, np.int64)
        self._scratch = np.empty(6)
        self._ahead = np.empty(sums.AHEAD, np.int64)
        self._units = dict(_UNITS)
        self._files = 0

    def __len__(self) -> int:
        return int(self._sizes[0])

    @property
    def _values(self) -> np.ndarray:
        """The float columns of keys: the second half of the columns."""
        return self._known.view(np.float64)

    @property
    def unknown(self) -> int:
        """Entries whose writer left out n where it cannot be known: the number 0, a spread without n."""
        return int(self._tallies[sums.UNKNOWN])

    @property
    def not_finite(self) -> int:
        """Values of entries whose mean is not finite: one NaN or infinity makes the other values useless, too."""
        return int(self._tallies[sums.NOT_FINITE])

    def add(self, rows: EntryRows) -> None:
        """Add the entries of files, in order. Raises DataError with file and key for an entry without meaning."""
        self._name_units(rows)
        at, how = 0, kernels.DONE
        while at < rows.count:
            at, how = sums.add(
                at, rows.count, self._files, rows.data, rows.texts, rows.facts, rows.numbers, self._table, self._known,
                self._values, self._arena, self._sizes, self._scratch, self._tallies, self._ahead,
            )  # fmt: skip
            if how == kernels.FULL:
                self._grow(int(rows.facts[at, kernels.LENGTH]))
            elif how != kernels.DONE:
                name = rows.names[rows.facts[at, kernels.FILE]]
                raise DataError(f"{name}: the key {rows.key(at)!r} {_MESSAGES[how]}; the file is damaged")
        self._files += len(rows.names)

    def _name_units(self, rows: EntryRows) -> None:
        """Replace units other than `doc` and `task` by numbers."""
        flags = rows.facts[: rows.count, kernels.GIVEN]
        for row in np.flatnonzero(flags & kernels.OTHER):
            start = int(rows.facts[row, kernels.UNIT])
            unit = json.JSONDecoder().raw_decode(rows.data[start : start + 1000].tobytes().decode(errors="replace"))[0]
            rows.facts[row, kernels.UNIT] = self._units.setdefault(unit, len(self._units))

    def _grow(self, length: int) -> None:
        """Make room for twice as many keys, and for a key of this length."""
        count = len(self)
        if count >= len(self._known):
            self._known = np.concatenate([self._known, np.empty_like(self._known)])
        if 2 * count >= len(self._table):
            self._table = np.full(2 * len(self._table), -1, np.int32)
            sums.fill(self._table, self._known, count)
        if self._sizes[1] + length + kernels.SPARE > len(self._arena):
            more = np.empty(len(self._arena) + length, np.uint8)
            self._arena = np.concatenate([self._arena, more])

    def moments(self) -> pa.Table:
        """key, n, mean, m2, min, max, total, nans, infinities, mean_low, unit of each key, in order of appearance."""
        count = len(self)
        known, values = self._known[:count], self._values[:count]
        offsets = np.append(known[:, sums.KEY_START], self._sizes[1])
        keys = pa.LargeStringArray.from_buffers(count, pa.py_buffer(offsets), pa.py_buffer(self._arena))
        some = known[:, sums.KEY_N] > 0
        mean, low = values[:, sums.KEY_MEAN], values[:, sums.KEY_MEAN_LOW]
        nearest = mean + low
        columns = {
            "key": keys,
            "n": ints(known[:, sums.KEY_N]),
            "mean": ints(nearest, some),
            "m2": ints(_sum(values, sums.KEY_M2), some),
            "min": ints(values[:, sums.KEY_MIN]),
            "max": ints(values[:, sums.KEY_MAX]),
            "total": ints(_sum(values, sums.KEY_TOTAL)),
            "nans": ints(known[:, sums.KEY_NANS]),
            "infinities": ints(known[:, sums.KEY_INFINITIES]),
            "mean_low": ints(low - (nearest - mean), some),
            "unit": self._unit_names(known[:, sums.KEY_UNIT]),
        }
        return pa.table(columns)

    def _unit_names(self, numbers: np.ndarray) -> pa.Array:
        names = of_texts(list(self._units))
        return pa.DictionaryArray.from_arrays(ints(numbers.astype(np.int32)), names).dictionary_decode()


def _sum(values: np.ndarray, column: int) -> np.ndarray:
    """The numbers that are kept as sums of two; beyond the largest DOUBLE the second has no meaning."""
    high, low = values[:, column], values[:, column + 1]
    return np.where(np.isfinite(high), high + np.where(np.isfinite(low), low, 0.0), high)
