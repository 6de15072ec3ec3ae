"""Repetition of the lines, paragraphs or words of a text, and of n-grams of them, all copies counted.

Equal units get the number of the first of them. An n-gram is the (n - 1)-gram before it and its last unit, so two numbers
identify it, and no hash decides. Only n-grams whose two (n - 1)-grams both repeat are looked up: few, from n = 3 on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import ints, structs, texts
from refinery.kernels.core.charclass import classes
from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.signatures import record
from refinery.kernels.dedup.line_units import key_of
from refinery.kernels.text.piece_stats import lists
from refinery.kernels.text.units import KINDS, split
from refinery.kernels.unicode.word_break import properties
from refinery.kernels.words.lexicon import equal

FIELDS = ("top", "covered_top", "repeated", "repeated_units")

FEW = 1 << 12  # units for which there is room at first
UNIQUE = -1  # in place of the first position of an n-gram that occurs once
GOLDEN = np.uint64(0x9E3779B97F4A7C15)


class Room(NamedTuple):
    """Room for a text's units.

    bounds: int64 (2, units), begin and end of each. sums: int64 (units + 1), the size of all units before. numbers: int64
    (units), the first unit that is equal. firsts: int64 (units), the first position of the same n-gram, or UNIQUE. counts:
    int64 (units), occurrences of the n-gram by its first position. keys: uint64 (4 * units, a power of two), slots: int64,
    1 + a first position, 0 for a free slot.
    """

    bounds: np.ndarray
    sums: np.ndarray
    numbers: np.ndarray
    firsts: np.ndarray
    counts: np.ndarray
    keys: np.ndarray
    slots: np.ndarray


record(Room, "int64[,] int64[] int64[] int64[] int64[] uint64[] int64[]")


def repetition(column: pa.Array | pa.ChunkedArray, units: str, sizes: Sequence[int], in_bytes: bool) -> pa.Array:
    """Repetition in each text as a struct; NULL for NULL. units: one of KINDS. Sizes are in characters, or in bytes.

    units, size: number and size of the text's units. Lists with an item for each n of `sizes` (ascending, from 1 on): top:
    size of the most frequent n-gram (of several the largest, then the first) times its count, 0 if none repeats.
    covered_top: size of the units in it, each once. repeated, repeated_units: size and number of the units in any n-gram
    that occurs twice or more. An n-gram's size is that of its units.
    """
    view = texts(column)
    rows = len(view)
    totals = np.zeros((2, rows), np.int64)
    measures = np.zeros((len(FIELDS), rows, len(sizes)), np.int64)
    wanted = np.array(sizes, np.int64)
    row, most = 0, FEW
    while row < rows:
        row = _measure(
            row, view.data, view.offsets, view.valid, KINDS.index(units), in_bytes, wanted, properties(), classes(),
            _room(most), totals, measures.reshape(-1, len(sizes)),
        )  # fmt: skip
        most *= 4
    fields = {name: lists(values) for name, values in zip(FIELDS, measures, strict=True)}
    return structs(view.valid, units=ints(totals[0]), size=ints(totals[1]), **fields)


def _room(units: int) -> Room:
    return Room(
        bounds=np.empty((2, units), np.int64),
        sums=np.empty(units + 1, np.int64),
        numbers=np.empty(units, np.int64),
        firsts=np.empty(units, np.int64),
        counts=np.empty(units, np.int64),
        keys=np.empty(4 * units, np.uint64),
        slots=np.empty(4 * units, np.int64),
    )


@entry("int64 uint8[] int64[] bool[] int64 bool int64[] uint16[] uint8[] Room int64[,] int64[,] -> int64", Room)
def _measure(row, data, offsets, valid, kind, in_bytes, sizes, properties, class_table, room, totals, measures):
    """Measure rows from `row` on; returns the first one that needs more room. measures: a row for each field and text."""
    rows = len(valid)
    while row < rows:
        if valid[row]:
            units = split(data, offsets[row], offsets[row + 1], kind, properties, class_table, room.bounds)
            if units < 0:
                return row
            _sum(data, units, in_bytes, room)
            totals[0, row], totals[1, row] = units, room.sums[units]
            _number(data, units, room)
            _measure_sizes(units, sizes, room, measures, row, rows)
        row += 1
    return row


@kernel
def _sum(data, units, in_bytes, room):
    """Fill in the sums of sizes."""
    total = 0
    room.sums[0] = 0
    for k in range(units):
        begin, end = room.bounds[0, k], room.bounds[1, k]
        total += end - begin
        if not in_bytes:
            for i in range(begin, end):
                total -= data[i] & 0xC0 == 0x80
        room.sums[k + 1] = total


@kernel
def _measure_sizes(units, sizes, room, measures, row, rows):
    """Measure the n-grams of all sizes, of which the first n-grams are the units."""
    n, repeating = 1, _drop_unique(units, room)
    for k in range(len(sizes)):
        while n < sizes[k] and repeating:
            n += 1
            if n > units:
                return
            _join(units - n + 1, n, repeating, room)
            repeating = _drop_unique(units - n + 1, room)
        if not repeating:
            return
        top, covered_top = _top(units - n + 1, n, room)
        measures[row, k], measures[rows + row, k] = top, covered_top
        measures[2 * rows + row, k], measures[3 * rows + row, k] = _covered(units - n + 1, n, UNIQUE, room)


@inlined
def _slots_for(entries):
    slots = 4
    while slots < 2 * entries:
        slots *= 2
    return slots


@kernel
def _number(data, units, room):
    """Number the units by the first equal one, and count the equal ones."""
    used = _slots_for(units)
    room.slots[:used] = 0
    for k in range(units):
        begin, end = room.bounds[0, k], room.bounds[1, k]
        key = key_of(data, begin, end)
        slot = np.int64(key) & (used - 1)
        while room.slots[slot]:
            first = room.slots[slot] - 1
            if room.keys[slot] == key and equal(data, begin, end, data, room.bounds[0, first], room.bounds[1, first]):
                break
            slot = (slot + 1) & (used - 1)
        room.firsts[k] = _occurrence(slot, key, k, room)
        room.numbers[k] = room.firsts[k]


@inlined
def _occurrence(slot, key, position, room):
    """Count an n-gram in its slot; returns its first position."""
    if room.slots[slot] == 0:
        room.keys[slot], room.slots[slot] = key, position + 1
        room.counts[position] = 1
        return position
    first = room.slots[slot] - 1
    room.counts[first] += 1
    return first


@kernel
def _join(grams, n, repeating, room):
    """Replace the first positions of (n - 1)-grams by those of n-grams. repeating: of the (n - 1)-grams, how many repeat."""
    used = _slots_for(repeating)
    room.slots[:used] = 0
    for i in range(grams):
        before = room.firsts[i]
        if before == UNIQUE:
            continue
        if room.firsts[i + 1] == UNIQUE:
            room.firsts[i] = UNIQUE
            continue
        key = (np.uint64(before) << np.uint64(32)) | np.uint64(room.numbers[i + n - 1])
        slot = np.int64((key * GOLDEN) >> np.uint64(32)) & (used - 1)
        while room.slots[slot] and room.keys[slot] != key:
            slot = (slot + 1) & (used - 1)
        room.firsts[i] = _occurrence(slot, key, i, room)


@kernel
def _drop_unique(grams, room):
    """Mark the n-grams that occur once; returns the number of the others, all copies counted."""
    repeating = 0
    for i in range(grams):
        if room.firsts[i] != UNIQUE:
            if room.counts[room.firsts[i]] == 1:
                room.firsts[i] = UNIQUE
            else:
                repeating += 1
    return repeating


@kernel
def _top(grams, n, room):
    """Size of the most frequent n-gram times its count, and the size of the units that it covers."""
    best, most, largest = UNIQUE, 1, 0
    for i in range(grams):
        if room.firsts[i] == i:
            size = room.sums[i + n] - room.sums[i]
            count = room.counts[i]
            if count > most or (count == most and best != UNIQUE and size > largest):
                best, most, largest = i, count, size
    if best == UNIQUE:
        return 0, 0
    covered, _ = _covered(grams, n, best, room)
    return most * largest, covered


@kernel
def _covered(grams, n, first, room):
    """Size and number of the units in an n-gram, given by its first position, or for UNIQUE in any that repeats."""
    size = number = reached = 0
    for i in range(grams):
        if room.firsts[i] == first if first != UNIQUE else room.firsts[i] != UNIQUE:
            begin = max(i, reached)
            reached = i + n
            size += room.sums[reached] - room.sums[begin]
            number += reached - begin
    return size, number
