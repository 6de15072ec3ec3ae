"""Index of evaluation items: where each n-gram of their words occurs, what each word weighs, how much of an item must be found."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from refinery.kernels.contamination.folded_words import GRAM, grams_of, words_of
from refinery.kernels.contamination.gram_table import GramTable, gram_table
from refinery.kernels.contamination.item_texts import ItemTexts, Owners
from refinery.kernels.contamination.items import EvaluationSet
from refinery.kernels.contamination.numbering import Numbered, grouped, numbered, texts_with
from refinery.kernels.contamination.pieces import Units, Words, divided, fewest_grams, is_number, units_of
from refinery.kernels.contamination.set_files import SetError
from refinery.kernels.contamination.word_weights import weights
from refinery.kernels.core.arrow import of_texts
from refinery.kernels.core.signatures import record

MOST_PIECES = 1 << 23  # `item_search` packs their numbers
# An n-gram of more pieces than this is no trace of one of them: at least FEW_SHARED, more if there are few pieces.
FEW_SHARED, MOST_SHARED, SHARED_PIECES = 64, 1024, 1_000_000
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
    """The index. owners: items of each piece. names: of each unit, its number in `item_texts.UNITS` (int8)."""

    table: GramTable
    pieces: Pieces
    owners: Owners
    names: np.ndarray
    sets: Sequence[SetFacts]

    def arrays(self) -> list[np.ndarray]:
        """All of it as arrays."""
        facts = np.frombuffer(json.dumps(self.sets).encode(), np.uint8)
        return [*self.table, *self.pieces, *self.owners, self.names, facts]

    @staticmethod
    def of_arrays(arrays: Sequence[np.ndarray]) -> ItemIndex:
        """The index whose `arrays` these are."""
        first, second = len(GramTable._fields), len(GramTable._fields) + len(Pieces._fields)
        *owners, names, facts = arrays[second:]
        sets = [SetFacts(*one) for one in json.loads(facts.tobytes())]
        return ItemIndex(GramTable(*arrays[:first]), Pieces(*arrays[first:second]), Owners(*owners), names, sets)


ARRAYS = sum(len(kind._fields) for kind in (GramTable, Pieces, Owners)) + 2


def item_index(sets: Sequence[EvaluationSet], common: Sequence[str], min_words: int) -> ItemIndex:
    """The index of the items of some sets. common: texts whose n-grams are no trace of an item. Raises SetError."""
    collected = ItemTexts.of(sets)
    keys, offsets, parts = _cut(collected)
    grams = numbered(grams_of(keys, offsets))
    words = Words(keys, *weights(keys, offsets, grams, _common(grams, common)))
    possible, all_units = divided(offsets.tolist(), parts)
    units = units_of(all_units, words, min_words)
    chosen, first_units = np.unique(units.pieces, return_index=True)
    if len(chosen) > MOST_PIECES:
        raise SetError(f"the sets have {len(chosen):,} texts, but {MOST_PIECES:,} can be looked for; use several steps")
    bounds = possible[chosen]
    table, starts, places = _occurrences(grams, bounds)
    pieces = _pieces(words, units, bounds, first_units, starts, places)
    facts = _facts(sets, collected.of_items, {*bounds[:, 0].tolist()})
    return ItemIndex(table, pieces, collected.owners(bounds[:, 0].tolist()), units.names.astype(np.int8), facts)


def _facts(
    sets: Sequence[EvaluationSet], of_items: Sequence[tuple[int, list[int]]], searched: set[int]
) -> list[SetFacts]:
    """Counts of each set. of_items: number of the set and texts of each item. searched: texts that are looked for."""
    counts = [[0, 0] for _ in sets]
    for number, texts in of_items:
        counts[number][0] += 1
        counts[number][1] += not any(text in searched for text in texts)
    return [SetFacts(one.name, *count) for one, count in zip(sets, counts, strict=True)]


def _cut(collected: ItemTexts) -> tuple[np.ndarray, np.ndarray, list[list[tuple[str, int]]]]:
    """Words of all texts, where each text begins, and for each text its parts with their numbers of words."""
    flat = [part for parts in collected.parts for _, part in parts]
    keys, sizes = [np.empty(0, np.uint64)], [np.empty(0, np.int64)]
    for at in range(0, len(flat), _BATCH):
        some, bounds = words_of(of_texts(flat[at : at + _BATCH]))
        keys.append(some)
        sizes.append(np.diff(bounds))
    counts = iter(np.concatenate(sizes).tolist())
    parts = [[(name, next(counts)) for name, _ in parts] for parts in collected.parts]
    offsets = np.cumsum([0, *(sum(size for _, size in own) for own in parts)]).astype(np.int64)
    return np.concatenate(keys), offsets, parts


def _pieces(
    words: Words, units: Units, bounds: np.ndarray, first_units: np.ndarray, starts: np.ndarray, places: np.ndarray
) -> Pieces:
    """The pieces that are looked for. bounds: text, first word and end of each. first_units, starts, places: see `Pieces`."""
    sizes = bounds[:, 2] - bounds[:, 1]
    first_words = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    rows = np.arange(first_words[-1]) + np.repeat(bounds[:, 1] - first_words[:-1], sizes)
    begin = np.repeat(bounds[:, 1], np.diff(first_units, append=len(units.pieces)))
    fewest = fewest_grams(words.weights, units)
    needed = np.minimum.reduceat(fewest, first_units) if len(first_units) else fewest
    return Pieces(
        starts, places, first_words, words.weights[rows], words.plain[rows], is_number(words)[rows], needed,
        np.append(first_units, len(units.pieces)).astype(np.int64), np.stack([units.lows - begin, units.highs - begin], axis=1),
        units.totals, units.shares,
    )  # fmt: skip


def _common(grams: Numbered, common: Sequence[str]) -> np.ndarray:
    """Number of common texts that have each n-gram."""
    if not len(common) or not len(grams.distinct):
        return np.zeros(len(grams.distinct), np.int64)
    keys, offsets = words_of(of_texts(list(common)))
    there = grams_of(keys, offsets)
    order = np.argsort(grams.distinct)
    at = order[np.minimum(np.searchsorted(grams.distinct, there, sorter=order), len(order) - 1)]
    return texts_with(np.where(grams.distinct[at] == there, at, -1), offsets, len(order))


def _occurrences(grams: Numbered, bounds: np.ndarray) -> tuple[GramTable, np.ndarray, np.ndarray]:
    """The table of n-grams, and their occurrences in pieces; those of too many pieces have none. bounds: of each piece."""
    counts = np.maximum(bounds[:, 2] - bounds[:, 1] - GRAM + 1, 0)
    firsts = np.cumsum(counts) - counts
    word = np.arange(int(counts.sum())) - np.repeat(firsts, counts)
    number = grams.numbers[word + np.repeat(bounds[:, 1], counts)]
    where = word | np.repeat(np.arange(len(bounds), dtype=np.int64) << 8, counts)
    often = np.bincount(number, minlength=len(grams.distinct))
    few = (often > 0) & (often <= min(max(FEW_SHARED, SHARED_PIECES // max(len(bounds), 1)), MOST_SHARED))
    renumbered = np.where(few, np.cumsum(few) - 1, -1)
    starts = np.concatenate([[0], np.cumsum(often[few])]).astype(np.int64)
    table = gram_table(grams.distinct[few], np.arange(int(few.sum()), dtype=np.int32))
    return table, starts, grouped(renumbered[number], where, starts)
