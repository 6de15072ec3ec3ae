"""Counts for the readability score EFLAW (McAlpine 2004), with words and sentences as textstat has them.

Punctuation is taken out of words, and a word is what is left between white space. A sentence ends behind the marks . ! ? and
counts if it has more than two words.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from refinery.kernels.core.arrow import structs, texts
from refinery.kernels.core.charclass import ALNUM, SPACE, classes
from refinery.kernels.core.jit import entry
from refinery.kernels.core.utf8 import decode

FIELDS = ("words", "mini_words", "sentences")

MINI = 3  # most letters of a mini word
FEW = 2  # most words of what is no sentence
UNDERSCORE = 0x5F


def eflaw_counts(column: pa.Array | pa.ChunkedArray) -> pa.Array:
    """Numbers of each text as a struct (int64); NULL for NULL. words, and those of at most three letters; sentences, at least 1."""
    view = texts(column)
    counts = np.zeros((len(FIELDS), len(view)), np.int64)
    _count(view.data, view.offsets, view.valid, classes(), counts)
    return structs(view.valid, **dict(zip(FIELDS, counts, strict=True)))


@entry("uint8[] int64[] bool[] uint8[] int64[,]")
def _count(data, offsets, valid, class_table, counts):
    for row in range(len(valid)):
        i, end = offsets[row], offsets[row + 1] if valid[row] else offsets[row]
        words = mini = sentences = 0
        letters = 0  # of the word
        inside = 0  # words of the sentence, without the one that goes on
        own = False  # the word has a letter in this sentence
        while i < end:
            cp, i = decode(data, i)
            kind = class_table[cp]
            if kind & ALNUM or cp == UNDERSCORE:
                letters += 1
                own = True
            elif kind & SPACE:
                words += letters > 0
                mini += 0 < letters <= MINI
                inside += own
                letters, own = 0, False
            elif cp == 0x2E or cp == 0x21 or cp == 0x3F:
                sentences += inside + own > FEW
                inside, own = 0, False
        words += letters > 0
        mini += 0 < letters <= MINI
        sentences += inside + own > FEW
        counts[0, row], counts[1, row], counts[2, row] = words, mini, max(1, sentences)
