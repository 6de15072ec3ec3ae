"""Numbers for equal keys, in the order in which they occur first; counts of texts by these numbers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refinery.kernels.contamination.gram_table import mixed
from refinery.kernels.core.jit import entry, inlined

_FIRST_SLOTS = 1 << 12


class Numbered(NamedTuple):
    """Keys by number. numbers: of each key, int64, -1 for key 0. distinct: the key of each number, uint64."""

    numbers: np.ndarray
    distinct: np.ndarray


def numbered(keys: np.ndarray) -> Numbered:
    """The numbers of keys (uint64)."""
    numbers, distinct = np.empty(len(keys), np.int64), np.empty(len(keys), np.uint64)
    slots, at, count = np.full(_FIRST_SLOTS, -1, np.int64), 0, 0
    while True:
        at, count = _number(keys, at, slots, count, numbers, distinct)
        if at == len(keys):
            return Numbered(numbers, distinct[:count].copy())
        slots = np.full(2 * len(slots), -1, np.int64)
        _enter_all(distinct, count, slots)


def texts_with(numbers: np.ndarray, offsets: np.ndarray, count: int) -> np.ndarray:
    """The number of texts that have each key, by its number (int64). offsets: where the keys of each text begin, and the end."""
    last, texts = np.full(count, -1, np.int64), np.zeros(count, np.int64)
    _texts_with(numbers, offsets, last, texts)
    return texts


def grouped(numbers: np.ndarray, values: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """Values (int64) by number, those of a number in their order. starts: where those of each number begin, and the end; -1 leaves out."""
    places = np.empty(int(starts[-1]), np.int64)
    _group(numbers, values, starts[:-1].copy(), places)
    return places


@inlined
def _slot(key, slots, distinct):
    """The slot with a key, or the free one for it."""
    mask = np.uint64(len(slots) - 1)
    slot = mixed(key) & mask
    while slots[slot] >= 0 and distinct[slots[slot]] != key:
        slot = (slot + np.uint64(1)) & mask
    return slot


@entry("uint64[] int64 int64[] int64 int64[] uint64[] -> int64 int64")
def _number(keys, at, slots, count, numbers, distinct):
    """Number keys from one on, until the slots are half full; returns the key that is next, and the count of numbers."""
    for n in range(at, len(keys)):
        key = keys[n]
        if key == np.uint64(0):
            numbers[n] = -1
            continue
        slot = _slot(key, slots, distinct)
        if slots[slot] < 0:
            if 2 * count >= len(slots):
                return n, count
            slots[slot] = count
            distinct[count] = key
            count += 1
        numbers[n] = slots[slot]
    return len(keys), count


@entry("uint64[] int64 int64[]")
def _enter_all(distinct, count, slots):
    for number in range(count):
        slots[_slot(distinct[number], slots, distinct)] = number


@entry("int64[] int64[] int64[] int64[]")
def _texts_with(numbers, offsets, last, texts):
    for text in range(len(offsets) - 1):
        for i in range(offsets[text], offsets[text + 1]):
            number = numbers[i]
            if number >= 0 and last[number] != text:
                last[number] = text
                texts[number] += 1


@entry("int64[] int64[] int64[] int64[]")
def _group(numbers, values, following, places):
    for i in range(len(numbers)):
        number = numbers[i]
        if number >= 0:
            places[following[number]] = values[i]
            following[number] += 1
