"""Words as Data-Juicer's operators see them: split, refined, counted, compared, removed.

A text is cut at U+0020, line feed and tab only. Refining a word strips special characters from both of its ends, code
point by code point, after `str.lower` where asked for; a word of nothing but special characters is no word. Refined
words never hold a space, so a text's words travel as one string with single spaces between them.
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numba import njit

from refinery.kernels import wordlists
from refinery.kernels.arrow import CHANGED, EXACT, UNCHANGED, delta, strings, structs, texts
from refinery.kernels.charclass import CODE_POINTS, SPECIAL, classes
from refinery.kernels.utf8 import before, decode, encode, same

LETTER, SEPARATOR = 1, 2  # kinds of an ASCII character; a special character that does not separate has neither bit
BEGINS = 4  # a byte that some substring begins with
SPACE, TAB, NEWLINE = 0x20, 0x09, 0x0A

# Bits of an entry of the refining table, below the lower-case code point.
STAYS, STAYS_LOWER = 1, 2

# Odd constants with well mixed bits: the 64-bit golden ratio, and two of the primes of xxHash64.
GOLDEN, PRIME, BASE = 0x9E3779B97F4A7C15, 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F


class Tables(NamedTuple):
    """What refining needs to know of characters.

    kinds: int64 (256), LETTER or SEPARATOR of an ASCII byte. lowered: uint8 (256), ASCII lower case, separators as a
    space. code_points: int32 (0x110000), lower case << 2 | STAYS | STAYS_LOWER; -1 where `str.lower` depends on the
    neighbours (final sigma) or needs more room than the character itself.
    """

    kinds: np.ndarray
    lowered: np.ndarray
    code_points: np.ndarray


@lru_cache(maxsize=1)
def tables() -> Tables:
    """Ask Python once what the lower case of every code point is, and combine it with the special characters."""
    lower = _lower_case()
    stays = (classes() & SPECIAL) == 0
    known = lower >= 0
    code_points = np.full(CODE_POINTS, -1, np.int32)
    code_points[known] = (lower[known] << 2) | stays[known] * STAYS | stays[lower[known]] * STAYS_LOWER
    kinds = np.zeros(256, np.int64)
    kinds[:128] = stays[:128] * LETTER
    kinds[[SPACE, TAB, NEWLINE]] = SEPARATOR
    lowered = np.arange(256).astype(np.uint8)
    lowered[:128] = lower[:128]
    lowered[[TAB, NEWLINE]] = SPACE
    return Tables(kinds, lowered, code_points)


def _lower_case() -> np.ndarray:
    lower = np.arange(CODE_POINTS, dtype=np.int32)
    for start in range(0, CODE_POINTS, 256):
        block = "".join(map(chr, range(start, start + 256)))
        if block.lower() == block:
            continue
        for char in block:
            small = char.lower()
            fits = len(small) == 1 and len(small.encode()) <= len(char.encode())
            lower[ord(char)] = ord(small) if fits else -1
    lower[ord("Σ")] = -1
    return lower


@njit(nogil=True, cache=True, inline="always")
def copy(data, start, end, out, w):
    """Copy data[start:end] to out[w:]; the position after it. Unsigned indices make the loop a block copy."""
    source, target = np.uint64(start), np.uint64(w)
    for i in range(np.uint64(end - start)):
        out[target + np.uint64(i)] = data[source + np.uint64(i)]
    return w + end - start


# Splitting and refining


def word_count(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Number of refined words of every text (int64), upper case kept: what `words_num_filter` counts."""
    view = texts(column)
    counts = np.empty(len(view), np.int64)
    _count(view.data, view.offsets, view.valid, tables().kinds, classes(), counts)
    return pa.array(counts, mask=~view.valid)


def words(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Refined words of every text, as a struct.

    n: int64, their number without lower-casing. lower: string, the words refined after `str.lower`, a single space
    between them. The two can differ in number: lower case makes some letters special (Ø, Π) and some not (Г).
    """
    view = texts(column)
    rows = len(view)
    out = np.empty(view.size + 8, np.uint8)
    offsets, counts, state = np.zeros(rows + 1, np.int64), np.zeros(rows, np.int64), np.zeros(rows, np.uint8)
    _refine(view.data, view.offsets, view.valid, *tables(), out, offsets, counts, state)
    lower = strings(out, offsets, view.valid)
    todo = np.flatnonzero(state == EXACT)
    if len(todo):
        picked = view.array.take(pa.array(todo))
        counts[todo] = word_count(picked).to_numpy()
        lower = _replace(lower, state == EXACT, _words_of_lowered(picked))
    return structs(view.valid, n=counts, lower=lower)


def _words_of_lowered(column: pa.Array) -> pa.Array:
    # No word ends inside of what decides a sigma's form, so lowering the text lowers every word; and a lowered text
    # stays as it is when it is lowered by the table.
    lowered = pa.array([text.lower() for text in column.to_pylist()], pa.large_string())
    return words(lowered).field("lower")


def _replace(column: pa.Array, rows: np.ndarray, values: pa.Array) -> pa.Array:
    if column.nbytes + values.nbytes < 2**31 - 1:
        values = values.cast(column.type)
    else:
        column, values = column.cast(pa.large_string()), values.cast(pa.large_string())
    return pc.replace_with_mask(column, pa.array(rows), values)


@njit(nogil=True, cache=True)
def _count(data, offsets, valid, kinds, class_table, counts):
    for row in range(len(valid)):
        n, inside = 0, 0
        i, end = offsets[row], offsets[row + 1] if valid[row] else offsets[row]
        while i < end:
            byte = data[i]
            if byte < 0x80:
                kind = kinds[byte]
                n += kind & LETTER & ~inside
                inside = (inside | (kind & LETTER)) & ~(kind >> 1)
                i += 1
            elif inside:  # within a word that counts already nothing but a separator matters, and those are ASCII
                i += 1
            else:
                cp, i = decode(data, i)
                inside = 0 if class_table[cp] & SPECIAL else 1
                n += inside
        counts[row] = n


@njit(nogil=True, cache=True)
def _refine(data, offsets, valid, kinds, lowered, code_points, out, out_offsets, counts, state):
    w = 0
    for row in range(len(valid)):
        start = w
        if valid[row]:
            counts[row], w = _refine_row(data, offsets[row], offsets[row + 1], kinds, lowered, code_points, out, w)
            if w < 0:
                state[row] = EXACT
                w = start
        out_offsets[row + 1] = w


@njit(nogil=True, cache=True)
def _refine_row(data, i, end, kinds, lowered, code_points, out, w):
    """Write the refined words of data[i:end] to out[w:]: their number before lower-casing, and the position after them,
    -1 for a text that the table cannot lower.

    A character goes to out[w] when its word has begun or it is not special itself; `last` is the position after the
    last one that is not, to which the word shrinks when it ends.
    """
    n, inside = 0, 0
    first = begin = last = w
    while i < end:
        byte = data[i]
        if byte < 0x80:
            kind = kinds[byte]
            i += 1
            n += kind & LETTER & ~inside
            inside = (inside | (kind & LETTER)) & ~(kind >> 1)
            # The same for a separator, without a branch: it is a space, goes where the word shrinks to, and stays when
            # there is a word before it.
            at = last if kind == SEPARATOR else w
            out[at] = lowered[byte]
            w = at + (kind & LETTER | (at > begin))
            last = w if kind else last
            begin = w if kind == SEPARATOR else begin
            continue
        cp, after = decode(data, i)
        entry = code_points[cp]
        if entry < 0:
            return 0, -1
        n += entry & STAYS & ~inside
        inside |= entry & STAYS
        if entry & STAYS_LOWER or w > begin:
            if entry >> 2 == cp:
                for k in range(i, after):
                    out[w + k - i] = data[k]
                w += after - i
            else:
                w = encode(entry >> 2, out, w)
            if entry & STAYS_LOWER:
                last = w
        i = after
    if last == begin and begin > first:
        last -= 1  # the space after the last word
    return n, last


# Repetition
#
# The n words from word i on are one stretch of the string, and its hash is a difference of two prefix hashes. An equal
# hash only proposes a pair of n-grams; their bytes decide, so no collision can change a result.


def word_repetition(column: pa.Array | pa.ChunkedArray, rep_len: int) -> pa.Array:
    """Share of n-grams of `rep_len` words that occur more than once among all n-grams, repeats counted (float64).

    column: words with a single space between them. 0.0 for fewer words than `rep_len`. Raises ValueError for a
    `rep_len` below 1.
    """
    if rep_len < 1:
        raise ValueError(f"rep_len is {rep_len}; an n-gram has at least one word")
    view = texts(column)
    room = int(_most_words(view.data, view.offsets, view.valid))
    prefixes, starts = np.empty(room + 1, np.uint64), np.empty(room + 1, np.int64)
    slots = np.empty(_slots_for(room - rep_len + 1), np.int32 if room < 2**31 - 1 else np.int64)
    ratios = np.zeros(len(view), np.float64)
    _repetition(view.data, view.offsets, view.valid, rep_len, prefixes, starts, slots, ratios)
    return pa.array(ratios, mask=~view.valid)


@njit(nogil=True, cache=True)
def _slots_for(n):
    """Room of a hash table for n entries: a power of two, at most half full."""
    slots = 2
    while slots < 2 * n:
        slots *= 2
    return slots


@njit(nogil=True, cache=True)
def _most_words(data, offsets, valid):
    most = 0
    for row in range(len(valid)):
        if valid[row]:
            spaces = 0
            for byte in data[offsets[row] : offsets[row + 1]]:
                spaces += byte == SPACE
            most = max(most, spaces + 1)
    return most


@njit(nogil=True, cache=True)
def _repetition(data, offsets, valid, n, prefixes, starts, slots, ratios):
    power = np.uint64(1)
    for _ in range(min(n, len(starts))):
        power *= np.uint64(BASE)
    for row in range(len(valid)):
        if not valid[row]:
            continue
        count = _prefixes(data, offsets[row], offsets[row + 1], prefixes, starts)
        if count >= n:
            repeated = _repeated(data, count, n, power, prefixes, starts, slots)
            ratios[row] = repeated / (count - n + 1)


@njit(nogil=True, cache=True)
def _prefixes(data, start, end, prefixes, starts):
    """Fill in where each word begins (and where one after the last would), and the hashes of the words before it."""
    if start == end:
        return 0
    count = 0
    prefix, word = np.uint64(0), np.uint64(GOLDEN)
    prefixes[0], starts[0] = prefix, start
    for i in range(start, end):
        byte = data[i]
        if byte != SPACE:
            word = (word ^ byte) * np.uint64(PRIME)
        else:
            prefix = prefix * np.uint64(BASE) + (word ^ (word >> np.uint64(29)))
            word = np.uint64(GOLDEN)
            count += 1
            prefixes[count], starts[count] = prefix, i + 1
    count += 1
    prefixes[count], starts[count] = prefix * np.uint64(BASE) + (word ^ (word >> np.uint64(29))), end + 1
    return count


@njit(nogil=True, cache=True)
def _repeated(data, count, n, power, prefixes, starts, slots):
    """Occurrences of n-grams that occur more than once, among `count` words.

    A slot holds 0, or 1 + the first word of an n-gram's first occurrence, negative once a second one has been seen.
    """
    grams = count - n + 1
    used = _slots_for(grams)
    slots[:used] = 0
    mask = used - 1
    repeated, previous = 0, -1
    for i in range(grams):
        gram = prefixes[i + n] - prefixes[i] * power
        slot = np.int64((gram * np.uint64(GOLDEN)) >> np.uint64(32)) & mask
        twin = -1
        while slots[slot] != 0 and twin < 0:
            other = abs(slots[slot]) - 1
            if prefixes[other + n] - prefixes[other] * power == gram and _same_grams(
                data, other, i, n, starts, previous >= 0 and other == previous + 1
            ):
                twin = other
            else:
                slot = (slot + 1) & mask
        if twin < 0:
            slots[slot] = i + 1
        elif slots[slot] > 0:
            slots[slot] = -slots[slot]
            repeated += 2
        else:
            repeated += 1
        previous = twin
    return repeated


@njit(nogil=True, cache=True)
def _same_grams(data, a, b, n, starts, overlap):
    """Whether the n words from word a on are those from word b on; with `overlap`, all but the last are known to be."""
    shift = starts[b] - starts[a]
    if starts[b + n] - starts[a + n] != shift:
        return False
    first = a + n - 1 if overlap else a
    for i in range(starts[first], starts[a + n] - 1):
        if data[i] != data[i + shift]:
            return False
    return True


# Word lists


class WordSet(NamedTuple):
    """A set of words for kernels: their bytes, back to back; offsets into these; slots of 1 + a word's number, or 0."""

    data: np.ndarray
    offsets: np.ndarray
    slots: np.ndarray


def word_set(entries: frozenset[str]) -> WordSet:
    """Hash table over the words. An unpaired surrogate, which no text holds, makes a word that matches nothing."""
    encoded = [entry.encode("utf-8", "surrogatepass") for entry in sorted(entries)]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(entry) for entry in encoded], out=offsets[1:])
    data = np.frombuffer(b"".join(encoded) + b"\0", np.uint8)
    slots = np.zeros(_slots_for(len(encoded)), np.int64)
    _fill(data, offsets, slots)
    return WordSet(data, offsets, slots)


@lru_cache(maxsize=16)
def _listed(folder: str, kind: str, lang: str, signature: tuple[object, ...]) -> WordSet:
    return word_set(wordlists.load(folder, kind)[lang])


def listed_ratio(
    column: pa.Array | pa.ChunkedArray, folder: str, kind: str, lang: str, group_sizes: tuple[int, ...], join_char: str
) -> pa.Array:
    """Share of words that stand in a word list (float64), 0.0 without words.

    column: words with a single space between them. folder, kind, lang: the list, see `wordlists`. group_sizes: for each
    of them, all runs of so many neighbouring words, joined by join_char, count as further words.
    Raises WordListError when the list cannot be read.
    """
    members = _listed(folder, kind, lang, wordlists.signature(folder, kind))
    view = texts(column)
    most = int(_most_words(view.data, view.offsets, view.valid)) if group_sizes else 0
    longest = int(np.diff(view.offsets).max(initial=0)) if group_sizes else 0
    join = np.frombuffer(join_char.encode(), np.uint8)
    scratch = np.empty(longest + most * len(join), np.uint8)
    ratios = np.zeros(len(view), np.float64)
    sizes = np.array(group_sizes, np.int64)
    starts = np.empty(most + 1, np.int64)
    _listed_ratios(view.data, view.offsets, view.valid, *members, sizes, join, scratch, starts, ratios)
    return pa.array(ratios, mask=~view.valid)


@njit(nogil=True, cache=True)
def _fill(data, offsets, slots):
    mask = len(slots) - 1
    for member in range(len(offsets) - 1):
        slot = _first_slot(_hash(data, offsets[member], offsets[member + 1]), mask)
        while slots[slot] != 0:
            slot = (slot + 1) & mask
        slots[slot] = member + 1


@njit(nogil=True, cache=True)
def _hash(data, start, end):
    word = np.uint64(GOLDEN)
    for i in range(start, end):
        word = (word ^ data[i]) * np.uint64(PRIME)
    return word


@njit(nogil=True, cache=True)
def _first_slot(word, mask):
    return np.int64((word ^ (word >> np.uint64(29))) >> np.uint64(3)) & mask


@njit(nogil=True, cache=True)
def _member(word, data, start, end, members, member_offsets, slots):
    """1 when data[start:end], whose hash is `word`, is in the set, else 0."""
    mask = len(slots) - 1
    slot = _first_slot(word, mask)
    while slots[slot] != 0:
        if same(members, member_offsets[slots[slot] - 1], member_offsets[slots[slot]], data, start, end):
            return 1
        slot = (slot + 1) & mask
    return 0


@njit(nogil=True, cache=True)
def _listed_ratios(data, offsets, valid, members, member_offsets, slots, sizes, join, scratch, starts, ratios):
    for row in range(len(valid)):
        if not valid[row] or offsets[row] == offsets[row + 1]:
            continue
        total, hits = 0, 0
        begin, end = offsets[row], offsets[row + 1]
        word = np.uint64(GOLDEN)
        for i in range(begin, end + 1):
            if i < end and data[i] != SPACE:
                word = (word ^ data[i]) * np.uint64(PRIME)
                continue
            hits += _member(word, data, begin, i, members, member_offsets, slots)
            if len(sizes):
                starts[total] = begin
            total += 1
            begin, word = i + 1, np.uint64(GOLDEN)
        if len(sizes):
            starts[total] = end + 1
        count = total
        for size in sizes:
            for i in range(count - size + 1):
                length = _group(data, starts, i, size, join, scratch)
                hits += _member(_hash(scratch, 0, length), scratch, 0, length, members, member_offsets, slots)
                total += 1
        ratios[row] = min(hits / total, 1.0)


@njit(nogil=True, cache=True)
def _group(data, starts, i, size, join, scratch):
    """Write `size` words from word i on, joined, to scratch; their length."""
    w = 0
    for k in range(i, i + size):
        if k > i:
            w = copy(join, 0, len(join), scratch, w)
        w = copy(data, starts[k], starts[k + 1] - 1, scratch, w)
    return w


# Removing words
#
# What stays is joined by the strongest of the separators that stood between two words: line feed over tab over space.
# A text that stays as long as it was has lost nothing and is the same text.


def remove_long_words(column: pa.Array | pa.ChunkedArray, min_len: int, max_len: int) -> pa.Array:
    """Texts without the words of fewer than min_len or more than max_len code points; NULL for unchanged ones.

    A word that is too long stays after all when it fits without the special characters at its ends (which it keeps).
    Runs of separators shrink to one, and none is left at the ends of lines, as in Data-Juicer.
    """
    return delta(column, _remove_long, tables().kinds, classes(), min_len, max_len)


def remove_words_with(column: pa.Array | pa.ChunkedArray, substrings: list[str]) -> pa.Array:
    """Texts without the words that hold one of the substrings; NULL for unchanged ones.

    Special characters at the ends of a word are not looked at. White space is treated as in `remove_long_words`.
    """
    encoded = [s.encode("utf-8", "surrogatepass") for s in substrings if not set(s) & set(" \t\n")]
    offsets = np.zeros(len(encoded) + 1, np.int64)
    np.cumsum([len(s) for s in encoded], out=offsets[1:])
    needles = np.frombuffer(b"".join(encoded) + b"\0", np.uint8)
    marks = np.zeros(256, np.uint8)
    marks[[SPACE, TAB, NEWLINE]] = SEPARATOR
    for needle in encoded:
        marks[needle[0] if needle else slice(None)] |= BEGINS
    return delta(column, _remove_with, marks, needles, offsets, classes())


@njit(nogil=True, cache=True)
def _remove_long(data, offsets, valid, out, out_offsets, state, kinds, class_table, min_len, max_len):
    w = 0
    for row in range(len(valid)):
        if valid[row]:
            first, run, run_end, i, end = w, 0, -1, offsets[row], offsets[row + 1]
            while i < end:
                begin, length = i, 0
                while i < end and (data[i] > SPACE or kinds[data[i]] != SEPARATOR):
                    length += (data[i] & 0xC0) != 0x80
                    i += 1
                if length > max_len:
                    length = _stripped_length(data, begin, i, class_table)
                if i > begin and min_len <= length <= max_len:
                    run, run_end, w = _append(data, begin, i, run, run_end, out, w)
                i += 1
            w, state[row] = _finish(data, offsets[row], end, run, run_end, out, first, w)
        out_offsets[row + 1] = w
    return w


@njit(nogil=True, cache=True)
def _stripped_length(data, begin, end, class_table):
    """Code points of the word without the special characters at its ends."""
    begin, end = _stripped(data, begin, end, class_table)
    length = 0
    for i in range(begin, end):
        length += (data[i] & 0xC0) != 0x80
    return length


@njit(nogil=True, cache=True)
def _remove_with(data, offsets, valid, out, out_offsets, state, marks, needles, needle_offsets, class_table):
    w = 0
    for row in range(len(valid)):
        if valid[row]:
            first, run, run_end, i, end = w, 0, -1, offsets[row], offsets[row + 1]
            while i < end:
                begin, suspect = i, False
                while i < end and not marks[data[i]] & SEPARATOR:
                    if marks[data[i]] and not suspect:
                        suspect = _begins(data, i, end, needles, needle_offsets)
                    i += 1
                if i > begin and not (suspect and _holds(data, begin, i, needles, needle_offsets, class_table)):
                    run, run_end, w = _append(data, begin, i, run, run_end, out, w)
                i += 1
            w, state[row] = _finish(data, offsets[row], end, run, run_end, out, first, w)
        out_offsets[row + 1] = w
    return w


@njit(nogil=True, cache=True)
def _begins(data, i, end, needles, needle_offsets):
    """Whether one of the substrings stands at data[i:end]."""
    for needle in range(len(needle_offsets) - 1):
        start, length = needle_offsets[needle], needle_offsets[needle + 1] - needle_offsets[needle]
        k = 0
        while k < length and i + k < end and data[i + k] == needles[start + k]:
            k += 1
        if k == length:
            return True
    return False


@njit(nogil=True, cache=True)
def _holds(data, begin, end, needles, needle_offsets, class_table):
    """Whether one of the substrings stands in the word without the special characters at its ends."""
    begin, end = _stripped(data, begin, end, class_table)
    for i in range(begin, end + 1):  # an empty substring stands in an empty word as well
        if _begins(data, i, end, needles, needle_offsets):
            return True
    return False


@njit(nogil=True, cache=True)
def _stripped(data, begin, end, class_table):
    """Bounds of the word without the special characters at its ends."""
    while begin < end:
        cp, after = decode(data, begin)
        if not class_table[cp] & SPECIAL:
            break
        begin = after
    while begin < end:
        last = before(data, end, begin)
        if not class_table[decode(data, last)[0]] & SPECIAL:
            break
        end = last
    return begin, end


@njit(nogil=True, cache=True, inline="always")
def _append(data, begin, end, run, run_end, out, w):
    """Let the word data[begin:end] follow data[run:run_end], which is still to be copied (run_end -1: nothing yet).

    A word one separator further prolongs the run; otherwise the run is written with the joint after it, and the word
    begins another. Returns the run's bounds and the position in `out`.
    """
    if begin == run_end + 1 and run_end >= 0:
        return run, end, w
    if run_end >= 0:
        w = copy(data, run, run_end, out, w)
        out[w] = _joint(data, run_end, begin)
        w += 1
    return begin, end, w


@njit(nogil=True, cache=True)
def _joint(data, start, end):
    """The strongest separator in data[start:end]."""
    strongest = SPACE
    for i in range(start, end):
        if data[i] == NEWLINE:
            return NEWLINE
        if data[i] == TAB:
            strongest = TAB
    return strongest


@njit(nogil=True, cache=True)
def _finish(data, start, end, run, run_end, out, first, w):
    """Write the last run of a row whose output begins at `first`; the position after it and the row's state."""
    if run_end - run == end - start and w == first:
        return first, UNCHANGED
    if run_end >= 0:
        w = copy(data, run, run_end, out, w)
    return (first, UNCHANGED) if w - first == end - start else (w, CHANGED)
