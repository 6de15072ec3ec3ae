"""Words made of a tokenizer's pieces, and their statistics.

Pieces come as `models.pieces` passes them: one string, with ends where spaces are no boundaries. Kernels of `words` do
the work; they cut at line feeds and tabs, too, so rows with such a character within a piece go through Python, as do
rows with ends.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa

from refinery.common.lazy import pc
from refinery.kernels.core.arrow import flags, ints, numbers, structs, texts
from refinery.kernels.core.jit import entry
from refinery.kernels.models.pieces import cut, has_ends, no_ends, of_lists
from refinery.kernels.words import subwords, wordlists
from refinery.kernels.words.word_ratio import listed_ratio
from refinery.kernels.words.word_repetition import word_repetition
from refinery.kernels.words.words import words

SPACE, TAB, NEWLINE = 0x20, 0x09, 0x0A


def refined_pieces(joined: pa.Array, ends: pa.Array) -> pa.Array:
    """Refined words of each text's pieces, as a struct; NULL for NULL.

    n: int64, their number without lower-casing. lower: the words refined after `str.lower`, one space between them.
    ends: as those of pieces, of lower.
    """
    all_words = words(joined)
    view = texts(joined)
    rare = _rare(joined, ends)
    if not rare.any():
        return structs(view.valid, n=all_words.field("n"), lower=all_words.field("lower"), ends=no_ends(len(view)))
    lists = [
        None if text is None or not special else cut(text, places)
        for text, places, special in zip(joined.to_pylist(), ends.to_pylist(), rare.tolist(), strict=True)
    ]
    lowered = of_lists([None if row is None else subwords.refined(row, lower=True) for row in lists])
    counts = np.array([0 if row is None else len(subwords.refined(row, lower=False)) for row in lists], np.int64)
    n = np.where(rare, counts, numbers(all_words.field("n")))
    lower = pc.if_else(
        flags(rare), lowered.field("joined"), all_words.field("lower").cast(lowered.field("joined").type)
    )
    return structs(view.valid, n=n, lower=lower, ends=lowered.field("ends"))


def listed_share(
    lower: pa.Array, ends: pa.Array, folder: str, kind: str, lang: str, sizes: tuple[int, ...], join_char: str
) -> pa.Array:
    """Share of refined pieces that are in a word list (see `word_ratio.listed_ratio`); NULL for NULL."""
    ratios = listed_ratio(lower, folder, kind, lang, sizes, join_char)
    listed = wordlists.load(folder, kind)[lang] if ends.null_count < len(ends) else frozenset()
    return _exact(
        ratios,
        has_ends(ends),
        lower,
        ends,
        lambda pieces: subwords.listed_share(subwords.augmented(pieces, sizes, join_char), listed),
    )


def repetition(lower: pa.Array, ends: pa.Array, rep_len: int) -> pa.Array:
    """Share of repeated n-grams of refined pieces (see `word_repetition`); NULL for NULL."""
    return _exact(
        word_repetition(lower, rep_len), _rare(lower, ends), lower, ends, lambda pieces: _repeated(pieces, rep_len)
    )


def _repeated(pieces: list[str], rep_len: int) -> float:
    counts = Counter(" ".join(pieces[i : i + rep_len]) for i in range(len(pieces) - rep_len + 1)).values()
    return sum(count for count in counts if count > 1) / sum(counts) if counts else 0.0


def _exact(
    ratios: pa.Array, rare: np.ndarray, lower: pa.Array, ends: pa.Array, ratio: Callable[[list[str]], Any]
) -> pa.Array:
    """The ratios, with those of rare rows computed in Python."""
    if not rare.any():
        return ratios
    places = np.flatnonzero(rare)
    picked = zip(lower.take(ints(places)).to_pylist(), ends.take(ints(places)).to_pylist(), strict=True)
    values = numbers(ratios).copy()
    values[places] = [0.0 if text is None else ratio(cut(text, its)) for text, its in picked]
    return ints(values, texts(lower).valid)


def _rare(joined: pa.Array, ends: pa.Array) -> np.ndarray:
    """Flags of the rows whose pieces the kernels over words would cut elsewhere."""
    view = texts(joined)
    rare = np.zeros(len(view), np.bool_)
    _breaks(view.data, view.offsets, view.valid, rare)
    return rare | has_ends(ends)


@entry("uint8[] int64[] bool[] bool[]")
def _breaks(data, offsets, valid, rare):
    """Flag the rows with a line feed or tab between other characters of a piece."""
    for row in range(len(valid)):
        if not valid[row]:
            continue
        begins = True  # nothing but such characters so far in the piece
        waiting = False  # and some after others
        for i in range(offsets[row], offsets[row + 1]):
            byte = data[i]
            if byte == SPACE:
                begins, waiting = True, False
            elif byte == NEWLINE or byte == TAB:
                waiting = not begins
            elif waiting:
                rare[row] = True
                break
            else:
                begins = False
