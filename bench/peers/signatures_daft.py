"""Daft's `minhash` expression alone, one thread: signatures from a table in memory. Needs a Python with Daft.

    DAFT/bin/python bench/peers/signatures_daft.py part.jsonl

Its tokens are separated by spaces, in their original case; the hash is its default, murmurhash3.
"""

from __future__ import annotations

import os
import sys
from importlib.metadata import version
from pathlib import Path

from common import PERMUTATIONS, WINDOW, best_of, one_core, report, size, texts


def main() -> None:
    one_core()  # before its thread pools count the cores
    os.environ.setdefault("DAFT_ANALYTICS_ENABLED", "0")
    os.environ.setdefault("DO_NOT_TRACK", "true")
    os.environ.setdefault("DAFT_PROGRESS_BAR", "0")
    import daft

    found = list(texts(Path(sys.argv[1])))
    table = daft.from_pydict({"text": found}).collect()

    def work() -> None:
        signature = daft.col("text").minhash(num_hashes=PERMUTATIONS, ngram_size=WINDOW)
        table.select(signature.alias("signature")).collect()

    report(version=version("daft"), text_bytes=size(found), **best_of(work, 3))


if __name__ == "__main__":
    main()
