"""rensa's RMinHash digests alone, one thread, from shingles in memory. Needs a Python with rensa.

    RENSA/bin/python bench/peers/signatures_rensa.py part.jsonl

rensa takes sets of tokens, so Python makes the shingles first; `seconds` is without that work, `with_shingles` with it.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from pathlib import Path

from common import PERMUTATIONS, WINDOW, best_of, one_core, report, size, texts

BATCH = 2048
SEED = 1


def shingles(text: str) -> list[str]:
    words = [word for word in text.split(" ") if word]
    return [" ".join(words[start : start + WINDOW]) for start in range(max(1, len(words) - WINDOW + 1))]


def main() -> None:
    one_core()
    os.environ.setdefault("RAYON_NUM_THREADS", "1")
    from rensa import RMinHash

    found = list(texts(Path(sys.argv[1])))
    ready = [shingles(text) for text in found]

    def digest(rows: list[list[str]]) -> None:
        RMinHash.digest_matrix_from_token_sets(rows, PERMUTATIONS, SEED)

    def alone() -> None:
        for start in range(0, len(ready), BATCH):
            digest(ready[start : start + BATCH])

    def whole() -> None:
        for start in range(0, len(found), BATCH):
            digest([shingles(text) for text in found[start : start + BATCH]])

    figures = best_of(alone, 3)
    report(version=version("rensa"), text_bytes=size(found), with_shingles=best_of(whole, 1), **figures)


if __name__ == "__main__":
    main()
