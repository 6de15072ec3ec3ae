"""Repetition of character n-grams: short ones by their characters (`repetition_units`), the others by hashes.

Windows of n characters are hashed by doubling: the hashes of 2k characters follow from two hashes of k characters in
a loop without dependence between its steps, which so runs in vector registers. Equal 64-bit hashes count as equal
n-grams; for a text of a million characters, two different n-grams share a hash with a probability of 3e-8.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.core.signatures import record
from refinery.kernels.core.sorting import sort, stack
from refinery.kernels.core.utf8 import decode
from refinery.kernels.text.repetition_units import (
    CODES,
    LONGEST,
    PADDING,
    TOO_MANY,
    count_units,
    most_bits,
    table_bits,
    write_units,
)
from refinery.kernels.text.repetition_units import SLOTS_PER_GRAM as SLOTS_PER_UNITS

# Odd, so that a multiplication loses no information.
BASE = np.uint64(0x9E3779B97F4A7C15)
MIX = np.uint64(0xD6E8FEB86659FD93)
HALF = np.uint64(32)

ONE = np.uint64(1)
SLOTS_PER_GRAM = 3  # measured: fewer cost more probes, more cost cache misses

SHORT = (1 << 16) - 2  # most characters of a text whose positions take two bytes, counted from 1
AT_ONCE = 1 << 21  # bytes of the longest text whose n-grams are counted in one pass, at fifty bytes of memory each
STRIDE = 4096  # characters, or more for longer n-grams, that are hashed at a time in longer texts
OFTEN = 1 << 16  # n-grams that occur more often are few enough for a list


def ratio_rows(
    data: np.ndarray, offsets: np.ndarray, valid: np.ndarray, n: int, at_once: int, ratios: np.ndarray
) -> None:
    """Fill ratios, float64 (rows), with the repetition ratio of n-grams of n characters; see `_share`.

    Texts of more than `at_once` bytes take several passes, each for a part of their n-grams.
    """
    sizes = np.diff(offsets)
    longest = int(sizes[valid & (sizes <= at_once)].max(initial=0))
    room = np.empty(longest + PADDING, np.uint8), np.empty(CODES, np.uint32), np.empty(CODES, np.uint8)
    short, long = _counts(min(longest, SHORT), np.uint16), _counts(longest if longest > SHORT else 0, np.uint32)
    points, hashes = np.empty(longest, np.uint32), np.empty((2, longest), np.uint64)
    _ratio_rows(data, offsets, valid, n, at_once, ratios, *room, ShortCounts(*short), LongCounts(*long), points, hashes)
    for row in np.flatnonzero(valid & (sizes > at_once)):
        ratios[row] = _ratio_in_parts(data[offsets[row] : offsets[row + 1]], n, at_once)


class ShortCounts(NamedTuple):
    """Room for counting the n-grams of a text of at most SHORT characters; see `_count`. frequencies: see `_histogram`."""

    table: np.ndarray
    first: np.ndarray
    again: np.ndarray
    repeated: np.ndarray
    frequencies: np.ndarray


class LongCounts(NamedTuple):
    """As ShortCounts, for longer texts."""

    table: np.ndarray
    first: np.ndarray
    again: np.ndarray
    repeated: np.ndarray
    frequencies: np.ndarray


record(ShortCounts, " ".join(["uint16[]"] * len(ShortCounts._fields)))
record(LongCounts, " ".join(["uint32[]"] * len(LongCounts._fields)))


def _counts(longest: int, kind: Any) -> tuple[np.ndarray, ...]:
    slots = 1 << most_bits(max(SLOTS_PER_GRAM, SLOTS_PER_UNITS) * longest)
    return tuple(np.empty(size, kind) for size in (slots, longest, longest + 1, longest // 2 + 1, longest + 1))


@entry(
    "uint8[] int64[] bool[] int64 int64 float64[] uint8[] uint32[] uint8[] ShortCounts LongCounts uint32[] uint64[,]",
    ShortCounts,
    LongCounts,
)
def _ratio_rows(
    data, offsets, valid, n, at_once, ratios, units, codes, numbers, short, long, points, hashes
):  # fmt: skip
    """`ratio_rows` for texts of at most `at_once` bytes, with room for the longest of them."""
    for row in range(len(valid)):
        size = offsets[row + 1] - offsets[row]
        if not valid[row] or size > at_once:
            continue
        ratios[row] = 0.0
        if size < n:
            continue
        text = data[offsets[row] : offsets[row + 1]]
        length = write_units(text, units, codes, numbers) if n <= LONGEST else TOO_MANY
        if length != TOO_MANY:
            if length >= n:
                ratios[row] = (
                    _of_units(units, length, n, short) if length <= SHORT else _of_units(units, length, n, long)
                )
            continue
        length = _decode(text, points)
        if length >= n:
            count, place = _hash_windows(points[:length], n, hashes)
            grams = hashes[place, :count]
            ratios[row] = _of_hashes(grams, short) if length <= SHORT else _of_hashes(grams, long)


@kernel
def _of_units(units, length, n, room):
    of_units = count_units(units, length, n, room.table, room.first, room.again, room.repeated)
    return _ratio(room, of_units, length - n + 1)


@kernel
def _of_hashes(grams, room):
    return _ratio(room, _count(grams, room.table, room.first, room.again, room.repeated), len(grams))


@kernel
def _ratio(room, of_units, grams):
    """Ratio of a text with so many n-grams. of_units: see `_count`."""
    different, recurring, often = of_units
    most = _histogram(room.again, room.repeated[:often], room.frequencies)
    room.frequencies[1] = recurring - often
    return _share(room.frequencies[: most + 1], different, recurring, 0, 0) / grams


@kernel
def _decode(text, points):
    i = length = 0
    while i < len(text):
        points[length], i = decode(text, i)
        length += 1
    return length


@kernel
def _hash_windows(units, n, rooms):
    """Write the 64-bit hash of every window of n units; returns their number and the row of `rooms` that holds them.

    Built from the highest bit of n down: windows of k units become windows of 2k, then, where n has that bit, 2k + 1.
    Source and target never overlap, else the loops would not be vectorised. No unit counts as 0: `_join` keeps a 0 on
    its left as it is, so windows that begin with such units would collide with others.
    """
    length = len(units)
    place = 0
    for j in range(length):
        rooms[0, j] = MIX * (np.uint64(units[j]) + ONE)
    k = bit = 1
    while bit * 2 <= n:
        bit *= 2
    while bit > 1:
        bit //= 2
        length -= k
        _join(rooms[place, :length], rooms[place, k : k + length], rooms[1 - place, :length])
        place = 1 - place
        k *= 2
        if n & bit:
            length -= 1
            _append(rooms[place, :length], units[k : k + length], rooms[1 - place, :length])
            place = 1 - place
            k += 1
    return length, place


@kernel
def _join(left, right, out):
    # Without the shift this is a polynomial modulo 2 ** 64, for which different texts of equal hash are known.
    for j in range(len(out)):
        out[j] = (left[j] ^ (left[j] >> HALF)) * BASE + right[j]


@kernel
def _append(left, units, out):
    for j in range(len(out)):
        out[j] = (left[j] ^ (left[j] >> HALF)) * BASE + MIX * (np.uint64(units[j]) + ONE)


@kernel
def _share(frequencies, different, again, taken, covered):
    """Occurrences of the most frequent n-grams, of which `taken` are already counted in `covered`.

    Of d different n-grams the floor(sqrt(d)) most frequent ones count, and only n-grams that occur more than once
    (`again` of them). frequencies[c]: number of n-grams that recur c times.
    """
    left = min(int(math.sqrt(different)), again) - taken
    for extra in range(len(frequencies) - 1, 0, -1):
        if left <= 0:
            break
        counted = min(left, np.int64(frequencies[extra]))
        covered += counted * (extra + 1)
        left -= counted
    return covered


@kernel
def _count(grams, table, first, again, repeated):
    """Count n-grams: different ones, recurring ones, and those that recur more than once.

    The first positions of the n-grams that recur more than once are written to `repeated`. again[j]: number of
    recurrences of the n-gram whose first position is j. table: open addressing, 1 + the first position of an n-gram, 0
    for a free slot. first[j]: first position of the n-gram at j. A repeated passage is many repeated n-grams in a row:
    after a match at p, the next n-gram is compared with the one at p + 1, which is in the cache, before the table is
    searched.
    """
    bits = table_bits(SLOTS_PER_GRAM * len(grams))
    shift, mask = np.uint64(64 - bits), np.uint64((1 << bits) - 1)
    table[: 1 << bits] = 0
    different = recurring = often = 0
    p = np.int64(-1)
    for j in range(len(grams)):
        gram = grams[j]
        if p >= 0 and grams[p + 1] == gram:
            p += 1
            place = np.int64(first[p])
        else:
            slot = gram >> shift
            p = np.int64(table[slot]) - 1
            while p >= 0 and grams[p] != gram:
                slot = (slot + ONE) & mask
                p = np.int64(table[slot]) - 1
            if p < 0:
                first[j] = j
                again[j] = 0
                table[slot] = j + 1
                different += 1
                continue
            place = p
        first[j] = place
        count = again[place]
        again[place] = count + 1
        recurring += count == 0
        repeated[often] = place
        often += count == 1
    return different, recurring, often


@kernel
def _histogram(again, repeated, frequencies):
    """Highest number of recurrences of an n-gram, at least 1; frequencies[c] = n-grams of `repeated` that recur c times.

    Most n-grams that recur do it once, which is counted without them: each would wait for the number before it.
    """
    most = np.int64(1)
    for place in repeated:
        most = max(most, np.int64(again[place]))
    frequencies[: most + 1] = 0
    for place in repeated:
        frequencies[again[place]] += 1
    return most


def _ratio_in_parts(text: np.ndarray, n: int, at_once: int) -> float:
    """Ratio of one text in constant memory: the range of the hashes is processed in parts."""
    slots, room = 1 << most_bits(SLOTS_PER_GRAM * at_once), n - 1 + max(STRIDE, n)
    ratio: float = _parts(
        text, n, at_once, np.empty(slots, np.uint64), np.empty(slots, np.uint32), np.empty(room, np.uint32),
        np.empty((2, room), np.uint64), np.zeros(OFTEN, np.uint32), np.empty(len(text) // OFTEN + 1, np.int64), stack(),
    )  # fmt: skip
    return ratio


@entry("uint8[] int64 int64 uint64[] uint32[] uint32[] uint64[,] uint32[] int64[] int64[] -> float64")
def _parts(text, n, at_once, keys, counts, units, hashes, frequencies, often, stack):
    """`_ratio_in_parts` with its room. often: counts that are too large for `frequencies`."""
    chars = 0
    for byte in text:
        chars += byte & 0xC0 != 0x80
    total = chars - n + 1
    if total <= 0:
        return 0.0
    parts = 1
    while parts * at_once < total:
        parts *= 2
    different = again = oftener = 0
    for part in range(parts):
        counts[:] = 0
        different += _count_text(text, n, part, parts, keys, counts, units, hashes)
        for count in counts:
            if count > OFTEN:
                often[oftener] = count
                oftener += 1
            elif count > 1:
                frequencies[count - 1] += 1
            again += count > 1
    sort(often, 0, oftener, stack)
    taken, covered = min(oftener, int(math.sqrt(different))), 0
    for k in range(oftener - taken, oftener):
        covered += often[k]
    return _share(frequencies, different, again, taken, covered) / total


@kernel
def _count_text(text, n, part, parts, keys, counts, units, hashes):
    """Count the n-grams of one part of the range in a text; returns the number of different ones."""
    different = i = filled = 0
    while i < len(text):
        while i < len(text) and filled < len(units):
            units[filled], i = decode(text, i)
            filled += 1
        if filled < n:
            break
        count, place = _hash_windows(units[:filled], n, hashes)
        different += _count_part(hashes[place, :count], part, parts, keys, counts)
        for j in range(n - 1):
            units[j] = units[filled - n + 1 + j]
        filled = n - 1
    return different


@kernel
def _count_part(grams, part, parts, keys, counts):
    """Count the n-grams of one part in a table by hash (count 0: free slot); returns the number of new n-grams."""
    bits = 0
    while (1 << bits) < len(keys):
        bits += 1
    shift, mask = np.uint64(64 - bits), np.uint64(len(keys) - 1)
    new = 0
    for gram in grams:
        if np.int64(gram & np.uint64(parts - 1)) != part:
            continue
        slot = gram >> shift
        while counts[slot] and keys[slot] != gram:
            slot = (slot + ONE) & mask
        new += counts[slot] == 0
        keys[slot] = gram
        counts[slot] += 1
    return new
