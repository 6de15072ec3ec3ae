"""Search for evaluation items in texts: n-grams that an item shares with a stretch of the text, weighed by their rarity.

A stretch is half as long again as the piece of an item (`item_index`), so that sentences may be reordered and words added. The words of
the piece whose n-grams lie in it are found; what counts is their share of the weight of a unit. Common phrases that are scattered over a
text do not add up. A unit with other numbers or many other words amid those that are found is another problem of the same kind.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from refinery.kernels.contamination.folded_words import GRAM, Words, cut_words, gram_at, room_for
from refinery.kernels.contamination.folding import fold_table
from refinery.kernels.contamination.gram_table import GramTable, may_have, value_of
from refinery.kernels.contamination.item_index import ItemIndex, Pieces
from refinery.kernels.contamination.pieces import MOST
from refinery.kernels.core.arrow import Texts
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.core.signatures import record
from refinery.kernels.core.sorting import sort, stack

EXTRA_WORDS = 8  # of a stretch, beside half of the piece's
REACH = MOST + MOST // 2 + EXTRA_WORDS  # most words of a stretch
# Words of a long text whose stretches are looked at together: their hits must be held.
TOGETHER = 8192
SAME_NUMBERS = 0.7  # share of the numbers amid found words that must be found
# Words between found ones are changed words, if they are at most GAP; of both together, this share of the weight must be found.
GAP, UNCHANGED = 8, 0.7
OTHER = 0.2  # factor for a unit with other numbers, or with too many changed words
NOTED = 0.5  # least score that is noted


class Room(NamedTuple):
    """Room for one text. at, values: word and value of each n-gram of the table. counts: by piece, 0 between texts. hits: piece, word of
    the text and word of the piece. covered: words of a piece. stack: of `sort`."""

    at: np.ndarray
    values: np.ndarray
    counts: np.ndarray
    hits: np.ndarray
    covered: np.ndarray
    stack: np.ndarray


record(Room, "int64[] int64[] int64[] int64[] bool[] int64[]")


class Matches(NamedTuple):
    """Units that were found. places: row, unit, and begin and end in bytes of the text. scores: share that was found / share that must be."""

    places: np.ndarray
    scores: np.ndarray


record(Matches, "int64[,] float64[]")


def search(view: Texts, index: ItemIndex) -> Matches:
    """The units of items in each text with scores of at least NOTED.

    Of each piece the best unit of the best stretch, and of stretches that do not overlap it; so every copy is found, and a long text
    may have a piece at places that overlap.
    """
    size = int(np.diff(view.offsets).max(initial=0))
    words = room_for(size)
    room = _room(len(words.keys), len(index.pieces.needed), 4096)
    matches = Matches(np.empty((64, 4), np.int64), np.empty(64, np.float64))
    row, count = 0, 0
    while row < len(view):
        row, count, needed = _search_rows(
            row,
            count,
            view.data,
            view.offsets,
            view.valid,
            fold_table(),
            index.table,
            index.pieces,
            words,
            room,
            matches,
        )
        if row < len(view) and needed:
            room = room._replace(hits=np.empty(2 * needed, np.int64))
        elif row < len(view):
            longer = 2 * len(matches.scores)
            places, scores = np.empty((longer, 4), np.int64), np.empty(longer, np.float64)
            places[:count], scores[:count] = matches.places[:count], matches.scores[:count]
            matches = Matches(places, scores)
    return Matches(matches.places[:count], matches.scores[:count])


def _room(words: int, pieces: int, hits: int) -> Room:
    return Room(
        np.empty(words, np.int64), np.empty(words, np.int64), np.zeros(pieces, np.int64), np.empty(hits, np.int64),
        np.zeros(MOST + GRAM, np.bool_), stack(),
    )  # fmt: skip


@entry(
    "int64 int64 uint8[] int64[] bool[] uint32[] GramTable Pieces Words Room Matches -> int64 int64 int64",
    GramTable, Pieces, Words, Room, Matches,
)  # fmt: skip
def _search_rows(row, count, data, offsets, valid, folds, table, pieces, words, room, noted):
    """Search rows from `row` on; returns the row reached, the number found, and the hits that need room, 0 if `noted` is full."""
    while row < len(valid):
        if valid[row]:
            number = cut_words(data, offsets[row], offsets[row + 1], folds, words)
            matches = _matches(number, table, words, room)
            before, first = count, 0
            while first < matches:
                limit = room.at[first] + TOGETHER
                following = _reached(first, matches, limit, room)
                end = _reached(following, matches, limit + REACH, room)
                hits = _counted(first, end, pieces, room)
                if hits > len(room.hits):
                    _cleared(first, end, pieces, room)
                    return row, before, hits
                if hits > 0:
                    _gathered(first, end, pieces, room)
                    count = _pieces_in(row, offsets[row], hits, limit, pieces, words, room, noted, count)
                _cleared(first, end, pieces, room)
                if count < 0:
                    return row, before, 0
                first = following
        row += 1
    return row, count, 0


@kernel
def _reached(first, matches, limit, room):
    """The first n-gram from `first` on that does not begin before a word."""
    while first < matches and room.at[first] < limit:
        first += 1
    return first


@kernel
def _matches(number, table, words, room):
    """Note the words at which an n-gram of the table begins; returns their number."""
    matches = 0
    for i in range(number - GRAM + 1):
        key = gram_at(words.keys, i)
        if may_have(key, table):
            value = value_of(key, table)
            if value >= 0:
                room.at[matches] = i
                room.values[matches] = value
                matches += 1
    return matches


@kernel
def _counted(first, end, pieces, room):
    """Count the hits of each piece; returns the number of hits of pieces that have enough."""
    for k in range(first, end):
        value = room.values[k]
        for p in range(pieces.starts[value], pieces.starts[value + 1]):
            room.counts[pieces.places[p] >> 8] += 1
    hits = 0
    for k in range(first, end):
        value = room.values[k]
        for p in range(pieces.starts[value], pieces.starts[value + 1]):
            piece = pieces.places[p] >> 8
            hits += room.counts[piece] >= pieces.needed[piece]
    return hits


@kernel
def _cleared(first, end, pieces, room):
    for k in range(first, end):
        value = room.values[k]
        for p in range(pieces.starts[value], pieces.starts[value + 1]):
            room.counts[pieces.places[p] >> 8] = 0


@kernel
def _gathered(first, end, pieces, room):
    """Write the hits of pieces that have enough, sorted by piece and by word of the text."""
    w = 0
    for k in range(first, end):
        value = room.values[k]
        for p in range(pieces.starts[value], pieces.starts[value + 1]):
            place = pieces.places[p]
            piece = place >> 8
            if room.counts[piece] >= pieces.needed[piece]:
                room.hits[w] = (piece << 40) | (room.at[k] << 8) | (place & 0xFF)
                w += 1
    sort(room.hits, 0, w, room.stack)


@kernel
def _pieces_in(row, base, hits, limit, pieces, words, room, noted, count):
    """Note the units of each piece; returns the number found, -1 if there is no room."""
    first = 0
    while first < hits and count >= 0:
        piece = room.hits[first] >> 40
        end = first + 1
        while end < hits and room.hits[end] >> 40 == piece:
            end += 1
        count = _stretches(row, base, piece, first, end, limit, pieces, words, room, noted, count)
        first = end
    return count


@kernel
def _stretches(row, base, piece, first, end, limit, pieces, words, room, noted, count):
    """Note the best unit of a piece in the best stretches that begin before the word `limit`; returns as `_pieces_in`."""
    length = pieces.first_words[piece + 1] - pieces.first_words[piece]
    reach = length + length // 2 + EXTRA_WORDS
    step = max(length // 4, 1)
    best, best_unit, best_start, best_stop = 0.0, np.int64(0), np.int64(0), np.int64(0)
    k = first
    while k < end and _word(room.hits[k]) < limit and count >= 0:
        begin = _word(room.hits[k])
        if best >= NOTED and begin > best_stop:
            count = _note(row, base, best_unit, best_start, best_stop, best, words, noted, count)
            best = 0.0
        stop = k
        while stop < end and _word(room.hits[stop]) < begin + reach:
            stop += 1
        if stop - k >= pieces.needed[piece]:
            score, unit, last = _weighed(piece, k, stop, length, pieces, room)
            if score > best:
                best, best_unit = score, unit
                best_start, best_stop = begin, _word(room.hits[last]) + GRAM - 1
        following = k + 1
        while following < end and _word(room.hits[following]) < begin + step:
            following += 1
        k = following
    if best >= NOTED and count >= 0:
        count = _note(row, base, best_unit, best_start, best_stop, best, words, noted, count)
    return count


@kernel
def _note(row, base, unit, start, stop, score, words, noted, count):
    """Note a unit between two words; returns the number found, -1 if there is no room."""
    if count >= len(noted.scores):
        return -1
    noted.places[count, 0], noted.places[count, 1] = row, unit
    noted.places[count, 2] = words.starts[start] - base
    noted.places[count, 3] = words.ends[stop] - base
    noted.scores[count] = score
    return count + 1


@kernel
def _word(hit):
    """The word of the text of a hit."""
    return (hit >> 8) & 0xFFFFFFFF


@kernel
def _weighed(piece, first, stop, length, pieces, room):
    """The best score of a unit by the hits of a stretch, the unit, and the last hit that adds to it."""
    for i in range(length):
        room.covered[i] = False
    last = first
    for k in range(first, stop):
        place = room.hits[k] & 0xFF
        for i in range(place, place + GRAM):
            if not room.covered[i]:
                room.covered[i] = True
                last = k
    base = pieces.first_words[piece]
    best, best_unit = 0.0, np.int64(0)
    for unit in range(pieces.first_units[piece], pieces.first_units[piece + 1]):
        score = _score(unit, base, pieces, room)
        if score > best:
            best, best_unit = score, np.int64(unit)
    return best, best_unit, last


@kernel
def _score(unit, base, pieces, room):
    """Share of the weight of a unit that is covered, over the share that must be."""
    weight, same, changed, gap = 0.0, 0.0, 0.0, 0.0
    numbers, same_numbers, gap_numbers = 0, 0, 0
    since = GAP + 1  # words since the last one that is covered
    for i in range(base + pieces.units[unit, 0], base + pieces.units[unit, 1]):
        if room.covered[i - base]:
            weight += pieces.weights[i]
            same += pieces.plain[i]
            same_numbers += pieces.is_number[i]
            numbers += pieces.is_number[i]
            if since <= GAP:
                changed += gap
                numbers += gap_numbers
            since, gap, gap_numbers = 0, 0.0, 0
        else:
            since += 1
            gap += pieces.plain[i]
            gap_numbers += pieces.is_number[i]
    score = weight / pieces.totals[unit] / pieces.shares[unit]
    if same < UNCHANGED * (same + changed) or same_numbers < SAME_NUMBERS * numbers:
        score *= OTHER
    return score
