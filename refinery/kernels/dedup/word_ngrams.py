"""Hashes of the n-grams of words in texts or in their paragraphs, for filters of what has occurred before.

Words are the segments of UAX 29 that are not white space, punctuation marks among them, as in BFF (`split_word_bounds` of Rust's
unicode-segmentation); or runs of letters and digits of a text that datatrove has normalised. An n-gram's hash is a polynomial in
the 64-bit hashes of its words.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import ints, structs, texts
from refinery.kernels.core.jit import entry, kernel
from refinery.kernels.dedup.line_units import find, key_of
from refinery.kernels.dedup.minhash_normalize import simplified
from refinery.kernels.dedup.minhash_shingles import PRIME_3, mixed, power, ring, shingle_hashes
from refinery.kernels.dedup.shingles import tokens
from refinery.kernels.unicode.word_break import INK, properties
from refinery.kernels.unicode.word_segments import segment

_LINE_FEED = np.frombuffer(b"\n", np.uint8)


def segment_ngrams(column: pa.Array | pa.ChunkedArray, paragraphs: bool, least: int, window: int) -> pa.Array:
    """N-grams of `window` segments in each text, or in each of its paragraphs (which U+000A separates).

    A struct of `ngrams` (list of uint64), unit by unit, and `sizes` (list of int32), the n-grams of each unit. A unit of fewer
    segments than the window is one n-gram if it has at least `least`, else it has none. NULL for a text without n-grams.
    """
    view = texts(column)
    out, sizes = np.empty(view.size + 1, np.uint64), np.empty(view.size + len(view) + 1, np.int32)
    ends, units = np.zeros(len(view) + 1, np.int64), np.zeros(len(view) + 1, np.int64)
    used, count = _of_segments(
        view.data, view.offsets, view.valid, properties(), _LINE_FEED, paragraphs, least, window, ring(window), out, ends, sizes, units
    )  # fmt: skip
    return _struct(out[:used].copy(), ends, sizes[:count].copy(), units)


def normalized_ngrams(column: pa.Array | pa.ChunkedArray, least: int, window: int) -> pa.Array:
    """N-grams of the words of each text after datatrove's normalisation; the result is that of `segment_ngrams`."""
    split = tokens(simplified(column), "word", False, None)
    room = int(np.maximum(np.diff(split.firsts) - 1, 0).sum())
    out, ends = np.empty(room, np.uint64), np.zeros(len(split.valid) + 1, np.int64)
    _of_words(split.data, split.starts, split.firsts, split.gap, least, window, ring(window), out, ends)
    return _struct(out[: ends[-1]], ends, np.diff(ends).astype(np.int32), np.arange(len(ends)))


def _struct(ngrams: np.ndarray, ends: np.ndarray, sizes: np.ndarray, units: np.ndarray) -> pa.Array:
    places = (ends, ngrams), (units, sizes)
    lists = [pa.ListArray.from_arrays(ints(ends.astype(np.int32)), ints(values)) for ends, values in places]
    return structs(np.diff(ends) > 0, ngrams=lists[0], sizes=lists[1])


@entry(
    "uint8[] int64[] bool[] uint16[] uint8[] bool int64 int64 uint64[] uint64[] int64[] int32[] int64[] -> int64 int64"
)
def _of_segments(data, offsets, valid, properties, separator, paragraphs, least, window, ring, out, ends, sizes, units):
    w, u = 0, 0
    for row in range(len(valid)):
        if valid[row]:
            i, end = offsets[row], offsets[row + 1]
            more = True
            while more:
                stop = find(data, i, end, separator) if paragraphs else -1
                more = stop >= 0
                n = _unit(data, i, stop if more else end, properties, least, window, ring, out[w:])
                sizes[u] = n
                u += 1
                w += n
                i = stop + 1
        ends[row + 1] = w
        units[row + 1] = u
    return w, u


@kernel
def _unit(data, i, end, properties, least, window, ring, out):
    """Write the n-grams of data[i:end] to out; returns their number."""
    leaving, mask = power(window), len(ring) - 1
    x, words, n = np.uint64(0), 0, 0
    while i < end:
        start = i
        i, held = segment(data, i, end, properties)
        if held & INK == 0:
            continue
        word = key_of(data, start, i)
        x = x * np.uint64(PRIME_3) + word
        if words >= window:
            x -= ring[(words - window) & mask] * leaving
        ring[words & mask] = word
        words += 1
        if words >= window:
            out[n] = mixed(x)
            n += 1
    if n == 0 and words >= least:
        out[0] = mixed(x)
        n = 1
    return n


@entry("uint8[] int64[] int64[] int64 int64 int64 uint64[] uint64[] int64[]")
def _of_words(data, starts, firsts, gap, least, window, ring, out, ends):
    w = 0
    for row in range(len(firsts) - 1):
        n = firsts[row + 1] - firsts[row] - 1
        if n >= least:
            w += shingle_hashes(data, starts, firsts[row], n, gap, window, ring, out[w:])
        ends[row + 1] = w
