"""Bloom filters of n-grams (Bloom 1970), in parts: an n-gram's hash decides its part, and its bits are all in that part.

So parts can be filled one by one, or on several machines. Bit number i of an n-gram is at h1 + i * h2 (Kirsch and Mitzenmacher
2008), where h1 and h2 are other mixtures of its hash. `words` has the bits of one part, 64 in each number.
"""

from __future__ import annotations

import numpy as np

from refinery.kernels.core.jit import entry, inlined, kernel
from refinery.kernels.core.memory import high_product
from refinery.kernels.dedup.minhash_shingles import mixed

_FIRST, _STEP = 0x2545F4914F6CDD1D, 0xD6E8FEB86659FD93  # of xorshift64* and of splitmix-like generators


def part_of(keys: np.ndarray, parts: int) -> np.ndarray:
    """The part of each n-gram (int64), by the high bits of its hash (uint64)."""
    return ((keys >> np.uint64(32)) * np.uint64(parts) >> np.uint64(32)).astype(np.int64)


@inlined
def _place(key, number, bits):
    """Bit number `number` of an n-gram, below `bits`."""
    start, step = mixed(key ^ np.uint64(_FIRST)), mixed(key ^ np.uint64(_STEP)) | np.uint64(1)
    return np.int64(high_product(start + np.uint64(number) * step, np.uint64(bits)))


@inlined
def _is_set(words, place):
    return (words[place >> 6] >> np.uint64(place & 63)) & np.uint64(1) != np.uint64(0)


@kernel
def _contains(words, bits, hashes, key):
    for number in range(hashes):
        if not _is_set(words, _place(key, number, bits)):
            return False
    return True


@kernel
def _enter(words, bits, hashes, key):
    """Set the bits of an n-gram; returns the number of those that were not set."""
    new = 0
    for number in range(hashes):
        place = _place(key, number, bits)
        new += not _is_set(words, place)
        words[place >> 6] |= np.uint64(1) << np.uint64(place & 63)
    return new


@kernel
def _end_of_unit(units, i):
    end = i + 1
    while end < len(units) and units[end] == units[i]:
        end += 1
    return end


@entry("uint64[] int64[] uint8[] uint64[] int64 int64 bool[] -> int64")
def fill(keys, units, kept, words, bits, hashes, contained):
    """Note for each n-gram if the filter contains it, and enter those of each kept unit after the unit's last one.

    keys: of one part, in the order of the input. units: the number of each one's unit, ascending. kept: a bit for each unit, the
    first one in the lowest bit. Returns the number of bits newly set.
    """
    new, i = 0, 0
    while i < len(keys):
        end = _end_of_unit(units, i)
        for at in range(i, end):
            contained[at] = _contains(words, bits, hashes, keys[at])
        unit = units[i]
        if (kept[unit >> 3] >> (unit & 7)) & 1:
            for at in range(i, end):
                new += _enter(words, bits, hashes, keys[at])
        i = end
    return new


@entry("uint64[] int64[] uint8[] uint8[] uint64[] int64 int64 int64[] int64[] -> int64")
def missing(keys, units, kept, asked, words, bits, hashes, ngrams, places):
    """As `fill`, and write the bits that n-grams of the units `asked` lack: the n-gram's number in `keys`, and the bit's place.

    Returns the number of these, up to `hashes` for each n-gram of such units.
    """
    n, i = 0, 0
    while i < len(keys):
        end = _end_of_unit(units, i)
        unit = units[i]
        if (asked[unit >> 3] >> (unit & 7)) & 1:
            for at in range(i, end):
                for number in range(hashes):
                    place = _place(keys[at], number, bits)
                    if not _is_set(words, place):
                        ngrams[n] = at
                        places[n] = place
                        n += 1
        if (kept[unit >> 3] >> (unit & 7)) & 1:
            for at in range(i, end):
                _enter(words, bits, hashes, keys[at])
        i = end
    return n


@entry("int64[] int64[] int64[] int64[] int64[] float64 bool[] bool[]")
def settle(firsts, ngrams, places, contained, sizes, threshold, entered, kept):
    """Decide units one after the other, by the bits that their n-grams lack of all that is known to be kept before them.

    firsts: of each unit's missing bits in `ngrams` and `places`. contained, sizes: of each unit, n-grams that lack no bit, and all.
    entered: a flag for each place, all False. kept: gets the decisions.
    """
    for unit in range(len(kept)):
        seen, i, end = contained[unit], firsts[unit], firsts[unit + 1]
        while i < end:
            ngram, all_set = ngrams[i], True
            while i < end and ngrams[i] == ngram:
                all_set &= entered[places[i]]
                i += 1
            seen += all_set
        kept[unit] = not seen / sizes[unit] > threshold
        if kept[unit]:
            for at in range(firsts[unit], end):
                entered[places[at]] = True


@entry("uint64[] int64[] int32[] uint64[,] int64 int64 float64 bool bool[] bool[] -> int64")
def decide(keys, parts, sizes, words, bits, hashes, threshold, remember_all, contained, kept):
    """Decide the units of a text after text, and enter the n-grams of those that stay, or of all; returns the bits newly set.

    keys: of all parts, unit by unit. parts: of each n-gram, a row of `words`. sizes: n-grams of each unit. contained, kept: get an
    answer for each n-gram and each unit.
    """
    new, first = 0, 0
    for unit in range(len(sizes)):
        end, seen = first + sizes[unit], 0
        for at in range(first, end):
            contained[at] = _contains(words[parts[at]], bits, hashes, keys[at])
            seen += contained[at]
        kept[unit] = not (sizes[unit] > 0 and seen / sizes[unit] > threshold)
        if kept[unit] or remember_all:
            for at in range(first, end):
                new += _enter(words[parts[at]], bits, hashes, keys[at])
        first = end
    return new
