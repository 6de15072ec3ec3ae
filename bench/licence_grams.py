"""Write the keys of the n-grams of licences, for refinery/kernels/contamination: `python -m bench.licence_grams FILE...`.

Licences stand in many files, so their words are no trace of an evaluation item. Keys are numbers from which no text can be made. Only
n-grams of at least two of the files count, so that names of holders and of programs do not.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

from refinery.kernels.contamination.folded_words import grams_of, words_of
from refinery.kernels.contamination.word_weights import LICENCES, short_keys
from refinery.kernels.core.arrow import of_texts

LEAST_FILES = 2


def main(paths: list[str]) -> None:
    """Write the table."""
    texts = sorted({Path(path).read_text("utf-8", errors="ignore") for path in paths})
    keys, offsets = words_of(of_texts(texts))
    own = np.repeat(np.arange(len(texts)), np.diff(offsets))
    grams = grams_of(keys, offsets)
    pairs = {(int(gram), int(text)) for gram, text in zip(grams, own, strict=True) if gram}
    distinct, counts = np.unique(np.array([gram for gram, _ in pairs], np.uint64), return_counts=True)
    short = np.unique(short_keys(distinct[counts >= LEAST_FILES]))
    LICENCES.write_bytes(short.astype("<u4").tobytes())
    print(f"{len(texts)} texts, {len(short)} n-grams")


if __name__ == "__main__":
    main(sys.argv[1:])
