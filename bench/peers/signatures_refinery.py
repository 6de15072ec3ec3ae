"""Our MinHash signatures alone, one thread: tokens, minima and band keys from texts in memory.

python bench/peers/signatures_refinery.py part.jsonl
"""

from __future__ import annotations

import sys
from pathlib import Path

from common import PERMUTATIONS, WINDOW, best_of, one_core, report, size, texts

CHUNK = 2048  # rows of a vector of DuckDB


def main() -> None:
    import pyarrow as pa

    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
    from refinery import __version__
    from refinery.kernels.dedup import minhash_bands, minhash_texts

    one_core()
    found = list(texts(Path(sys.argv[1])))
    chunks = [pa.array(found[start : start + CHUNK], pa.large_string()) for start in range(0, len(found), CHUNK)]
    bands, rows = minhash_bands.optimum(0.7, PERMUTATIONS)

    def work() -> None:
        for chunk in chunks:
            tokens = minhash_texts.split(chunk, "none", "space", False, None, None)
            minhash_texts.signatures(tokens, WINDOW, "data_juicer", PERMUTATIONS, bands, rows)

    report(version=__version__, text_bytes=size(found), **best_of(work, 3))


if __name__ == "__main__":
    main()
