"""Index of evaluation items: where each n-gram of their words occurs, what each word weighs, how much of an item must be found.

A *piece* is what is looked for at one place of a document: a passage, or prompt, choices and answer of an item one after another, at
most MOST words; longer ones are cut. A *unit* is a part of a piece that counts by itself, such as the prompt alone, or all of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from refinery.kernels.contamination.folded_words import CHARACTER, NUMBER, SORT_BITS, grams_of, words_of
from refinery.kernels.contamination.gram_table import GramTable, gram_table
from refinery.kernels.contamination.items import PASSAGE, EvaluationSet, Item, items_of
from refinery.kernels.contamination.set_files import SetError
from refinery.kernels.contamination.word_weights import weights
from refinery.kernels.core.arrow import of_texts
from refinery.kernels.core.signatures import record

MOST = 256  # words of a piece
MOST_PIECES = 1 << 23  # `item_search` packs their numbers
# An n-gram of more pieces than this is no trace of one of them: at least FEW_SHARED, more if there are few pieces.
FEW_SHARED, MOST_SHARED, SHARED_PIECES = 64, 1024, 1_000_000
WHOLE = "item"  # name of the unit with all parts
# Share of a unit's weight that must be found, by its length in words; between these by a straight line.
LENGTHS = (6.0, 8.0, 12.0, 20.0, 40.0, 80.0, 150.0)
SHARES = (0.8, 0.62, 0.48, 0.42, 0.36, 0.32, 0.3)
LEAST_WEIGHT = 2.5  # of a unit
_BATCH = 20_000  # texts whose words are cut at once


class Pieces(NamedTuple):
    """Arrays of the pieces that kernels read.

    starts, places: of the occurrences of each n-gram, by its value in the table: begin of its occurrences, and occurrences as piece
    << 8 | word. first_words: of each piece, one more than pieces. weights, plain: of each word, with and without regard to other items (`word_weights`). is_number: of each word. needed: fewest
    n-grams of a piece with which one of its units can be found. first_units: of each piece, one more than pieces. units: first word
    and end of each unit in its piece. totals: weight of all words of each unit. shares: share that must be found.
    """

    starts: np.ndarray
    places: np.ndarray
    first_words: np.ndarray
    weights: np.ndarray
    plain: np.ndarray
    is_number: np.ndarray
    needed: np.ndarray
    first_units: np.ndarray
    units: np.ndarray
    totals: np.ndarray
    shares: np.ndarray


record(Pieces, "int64[] int64[] int64[] float64[] float64[] bool[] int64[] int64[] int64[,] float64[] float64[]")


class SetFacts(NamedTuple):
    """Counts of a set: its items, and those of them that are too short to be looked for."""

    name: str
    items: int
    too_short: int


class ItemIndex(NamedTuple):
    """The index. owners: set, item and number of further items with the same text, of each piece. names: of each unit."""

    table: GramTable
    pieces: Pieces
    owners: Sequence[tuple[str, str, int]]
    names: Sequence[str]
    sets: Sequence[SetFacts]


class _Texts:
    """Collects the texts of all items, equal ones once, and the units of each."""

    def __init__(self) -> None:
        self.texts: dict[str, int] = {}
        self.owners: list[tuple[str, str, int]] = []
        self.parts: list[tuple[tuple[str, str], ...]] = []
        self.of_items: list[tuple[int, list[int]]] = []  # number of the set and numbers of the texts, by item

    def add(self, number: int, name: str, item: Item) -> None:
        pieces = [((PASSAGE, passage),) for passage in item.passages] + ([item.parts] if item.parts else [])
        own = []
        for parts in pieces:
            text = "\n".join(text for _, text in parts)
            place = self.texts.setdefault(text, len(self.owners))
            if place == len(self.owners):
                self.owners.append((name, item.place, 0))
                self.parts.append(parts)
            else:
                first, item_place, more = self.owners[place]
                self.owners[place] = first, item_place, more + 1
            own.append(place)
        self.of_items.append((number, own))


def item_index(sets: Sequence[EvaluationSet], common: Sequence[str], min_words: int) -> ItemIndex:
    """The index of the items of some sets. common: texts whose n-grams are no trace of an item. Raises SetError."""
    collected = _Texts()
    for number, one in enumerate(sets):
        for item in items_of(one):
            collected.add(number, one.name, item)
    keys, offsets, units = _cut(collected)
    grams = grams_of(keys, offsets)
    pieces, table, owners, names = _pieces(keys, offsets, units, grams, common, min_words)
    found = {owner for owner in owners}
    counts = [[0, 0] for _ in sets]
    for number, texts in collected.of_items:
        counts[number][0] += 1
        counts[number][1] += not any(text in found for text in texts)
    facts = [SetFacts(one.name, *count) for one, count in zip(sets, counts, strict=True)]
    return ItemIndex(table, pieces, [collected.owners[text] for text in owners], names, facts)


def _cut(collected: _Texts) -> tuple[np.ndarray, np.ndarray, list[list[tuple[str, int]]]]:
    """Words of all texts, where each text begins, and for each text its parts with their numbers of words."""
    flat = [part for parts in collected.parts for _, part in parts]
    keys, sizes = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for at in range(0, len(flat), _BATCH):
        some, bounds = words_of(of_texts(flat[at : at + _BATCH]))
        keys.append(some)
        sizes.append(np.diff(bounds))
    counts = iter(np.concatenate(sizes).tolist())
    units = [[(name, next(counts)) for name, _ in parts] for parts in collected.parts]
    offsets = np.cumsum([0, *(sum(size for _, size in unit) for unit in units)]).astype(np.int64)
    return np.concatenate(keys), offsets, units


def _pieces(
    keys: np.ndarray, offsets: np.ndarray, units: Any, grams: np.ndarray, common: Sequence[str], min_words: int
) -> tuple[Pieces, GramTable, list[int], list[str]]:
    weight, plain = weights(keys, offsets, grams, *_shared(grams, offsets, common))
    sort = keys & np.uint64(SORT_BITS)
    lengths = np.concatenate([[0.0], np.cumsum(np.where(sort == CHARACTER, 0.5, 1.0))])
    sums, plain_sums = (np.concatenate([[0.0], np.cumsum(one)]) for one in (weight, plain))
    first_words, first_units, owners, names = [0], [0], list[int](), list[str]()
    bounds, totals, shares, needed, taken = [], [], [], [], []
    for text, parts in enumerate(units):
        for start, end, candidates in _divided(int(offsets[text]), int(offsets[text + 1]), parts):
            kept = []
            for name, low, high in candidates:
                length, total = lengths[high] - lengths[low], sums[high] - sums[low]
                if length >= min_words and plain_sums[high] - plain_sums[low] >= LEAST_WEIGHT and high - low >= 4:
                    kept.append((name, low - start, high - start, total, float(np.interp(length, LENGTHS, SHARES))))
            if not kept:
                continue
            owners.append(text)
            taken.append((start, end))
            first_words.append(first_words[-1] + end - start)
            first_units.append(first_units[-1] + len(kept))
            needed.append(
                min(
                    max(1, _fewest(weight[start + low : start + high], share * total))
                    for _, low, high, total, share in kept
                )
            )
            for name, low, high, total, share in kept:
                names.append(name)
                bounds.append((low, high))
                totals.append(total)
                shares.append(share)
    rows = np.concatenate([np.arange(start, end) for start, end in taken]) if taken else np.empty(0, np.int64)
    if len(taken) > MOST_PIECES:
        raise SetError(f"the sets have {len(taken):,} texts, but {MOST_PIECES:,} can be looked for; use several steps")
    table, starts, places = _occurrences(grams, taken)
    pieces = Pieces(
        starts, places, np.array(first_words, np.int64), np.ascontiguousarray(weight[rows]),
        np.ascontiguousarray(plain[rows]),
        np.ascontiguousarray(sort[rows] == NUMBER), np.array(needed, np.int64), np.array(first_units, np.int64),
        np.array(bounds, np.int64).reshape(-1, 2), np.array(totals, np.float64), np.array(shares, np.float64),
    )  # fmt: skip
    return pieces, table, owners, names


def _divided(
    start: int, end: int, parts: Sequence[tuple[str, int]]
) -> list[tuple[int, int, list[tuple[str, int, int]]]]:
    """Pieces of a text as begin, end and units; a text of several parts that is too long is divided by its parts."""
    spans, at = [], start
    for name, size in parts:
        spans.append((name, at, at + size))
        at += size
    if end - start > MOST:
        return [
            (low, high, [(name, low, high)])
            for name, first, last in spans
            for low, high in _equal(first, last)
        ]  # fmt: skip
    if len(spans) == 1:
        return [(start, end, spans)]
    return [(start, end, [*spans, (WHOLE, start, end)])]


def _equal(start: int, end: int) -> list[tuple[int, int]]:
    """Parts of at most MOST words, about equal in length."""
    number = max(1, -(-(end - start) // MOST))
    cuts = [start + (end - start) * part // number for part in range(number + 1)]
    return list(zip(cuts[:-1], cuts[1:], strict=True))


def _fewest(weight: np.ndarray, wanted: float) -> int:
    """Fewest n-grams that can make up a weight: each has three words."""
    heaviest = np.cumsum(np.sort(weight)[::-1])
    return int(-(-(np.searchsorted(heaviest, wanted - 1e-9) + 1) // 3))


def _shared(grams: np.ndarray, offsets: np.ndarray, common: Sequence[str]) -> tuple[np.ndarray, np.ndarray]:
    """Number of texts that have the n-gram of each word, and number of common texts that have it."""
    texts = np.repeat(np.arange(len(offsets) - 1, dtype=np.int64), np.diff(offsets))
    distinct, places = np.unique(grams, return_inverse=True)
    counts = _texts_of(places, texts, len(distinct))
    if not len(common) or not len(distinct):
        return counts[places], np.zeros(len(grams), np.int64)
    there_keys, there_offsets = words_of(of_texts(list(common)))
    there = grams_of(there_keys, there_offsets)
    own = np.repeat(np.arange(len(there_offsets) - 1, dtype=np.int64), np.diff(there_offsets))
    at = np.minimum(np.searchsorted(distinct, there), len(distinct) - 1)
    known = distinct[at] == there
    return counts[places], _texts_of(at[known], own[known], len(distinct))[places]


def _texts_of(places: np.ndarray, texts: np.ndarray, size: int) -> np.ndarray:
    pairs = np.unique(places.astype(np.uint64) << np.uint64(32) | texts.astype(np.uint64))
    return np.bincount((pairs >> np.uint64(32)).astype(np.int64), minlength=size)


def _occurrences(grams: np.ndarray, taken: Sequence[tuple[int, int]]) -> tuple[GramTable, np.ndarray, np.ndarray]:
    """The table of n-grams, and their occurrences in pieces; those of too many pieces have none."""
    found, places = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for piece, (start, end) in enumerate(taken):
        inside = grams[start : max(start, end - 2)]
        found.append(inside)
        places.append(np.arange(len(inside), dtype=np.int64) | piece << 8)
    keys, where = np.concatenate(found), np.concatenate(places)
    order = np.argsort(keys, kind="stable")
    keys, where = keys[order], where[order]
    distinct, firsts, counts = np.unique(keys, return_index=True, return_counts=True)
    few = (counts <= min(max(FEW_SHARED, SHARED_PIECES // max(len(taken), 1)), MOST_SHARED)) & (distinct != 0)
    kept = np.repeat(few, counts)
    starts = np.concatenate([[0], np.cumsum(counts[few])]).astype(np.int64)
    return gram_table(distinct[few], np.arange(int(few.sum()), dtype=np.int32)), starts, where[kept]
