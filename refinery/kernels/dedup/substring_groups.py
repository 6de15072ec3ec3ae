"""Repeated windows among items of `substrings`, and passages that cover them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refinery.kernels.core.jit import entry
from refinery.kernels.dedup.substrings import first_of


class Passages(NamedTuple):
    """Passages (int64 each): the sample, start and end in it, the sample of a copy, start of the copy there."""

    row: np.ndarray
    start: np.ndarray
    end: np.ndarray
    kept: np.ndarray
    at: np.ndarray


def resolve(
    keys: np.ndarray, content: np.ndarray, second: np.ndarray, every: bool, last: bool
) -> tuple[np.ndarray, np.ndarray]:
    """For each item the number of an equal one that comes first (-1 without one), and the flag of items that stay open.

    Items are in the order of key, content, sample and place. every: the first of equal items has a copy, too: the second.
    last: items of one window, none of which stays open. An open item shares its key with one of other content, so some of
    its windows may be equal to some of the other's; the first of several equal ones stands for all of them.
    """
    copies, opened = np.full(len(keys), -1, np.int64), np.zeros(len(keys), np.bool_)
    _resolve(keys, content, second, every, last, copies, opened)
    return copies, opened


@entry("uint64[] uint64[] uint64[] bool bool int64[] bool[]")
def _resolve(keys, content, second, every, last, copies, opened):
    first, group = 0, 0
    for i in range(1, len(keys) + 1):
        same_key = i < len(keys) and keys[i] == keys[first]
        if same_key and content[i] == content[first] and second[i] == second[first]:
            copies[i] = first
            continue
        if every and i - first > 1:
            copies[first] = first + 1
        opened[first] = not last and (same_key or first > group)
        first = i
        if not same_key:
            group = i


def repetitions(row: np.ndarray, items: np.ndarray, every: bool) -> Passages:
    """Passages of the items of key `REPEATED` of some samples. every: the first item of each has a copy, too: the second."""
    start, end, original = first_of(items[:, 0]), items[:, 2].astype(np.int64), items[:, 3].astype(np.int64)
    passages = Passages(row, start, end, row, original)
    if not every:
        return passages
    others = Passages(row, original, end - (start - original), row, start)
    return Passages(*(np.concatenate(pair) for pair in zip(passages, others, strict=True)))


def covering(passages: Passages) -> Passages:
    """Passages that cover the same symbols, each once, in the order of samples and symbols.

    Passages of one sample that continue each other, here and in the copy, are one. At each symbol that no passage before it
    covers, the passage that reaches farthest is taken.
    """
    row, start, end, kept, at = passages
    order = np.lexsort((start, at - start, kept, row))
    columns = [np.ascontiguousarray(column[order]) for column in passages]
    count = _join(*columns)
    row, start, end, kept, at = (column[:count] for column in columns)
    order = np.lexsort((at, kept, -end, start, row))
    columns = [np.ascontiguousarray(column[order]) for column in (row, start, end, kept, at)]
    covered = [np.empty_like(column) for column in columns]
    count = _cover(*columns, *covered)
    return Passages(*(column[:count] for column in covered))


@entry("int64[] int64[] int64[] int64[] int64[] -> int64")
def _join(row, start, end, kept, at):
    """Join passages that continue the one before, in place; returns their number."""
    used = 0
    for i in range(len(row)):
        known = used - 1
        if (
            used
            and row[known] == row[i]
            and kept[known] == kept[i]
            and at[known] - start[known] == at[i] - start[i]
            and start[i] <= end[known]
        ):
            end[known] = max(end[known], end[i])
            continue
        row[used], start[used], end[used], kept[used], at[used] = row[i], start[i], end[i], kept[i], at[i]
        used += 1
    return used


@entry("int64[] int64[] int64[] int64[] int64[] int64[] int64[] int64[] int64[] int64[] -> int64")
def _cover(row, start, end, kept, at, rows, starts, ends, copies, ats):
    """Write the passages that are taken, in the order of `row` and `start`; returns their number."""
    used, i = 0, 0
    while i < len(row):
        sample, place, farthest = row[i], start[i], i
        while True:
            while i < len(row) and row[i] == sample and start[i] <= place:
                farthest = i if end[i] > end[farthest] else farthest
                i += 1
            if end[farthest] > place:
                rows[used], starts[used], ends[used] = sample, place, end[farthest]
                copies[used], ats[used] = kept[farthest], at[farthest] + place - start[farthest]
                used += 1
                place = end[farthest]
            elif i < len(row) and row[i] == sample:
                place, farthest = start[i], i
            else:
                break
    return used
