"""Documents with a vector each, as Parquet: `embedding`, 256 numbers, from hashes of words.

    python bench/peers/make_vectors.py documents.jsonl OUT.parquet

No model: a word's vector is random, a text's the sum of its words'. Copies with few other words have a cosine near 1.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from common import texts

NUMBERS, WORDS = 256, 1 << 16


def main() -> None:
    source, out = map(Path, sys.argv[1:3])
    table = np.random.default_rng(7).standard_normal((WORDS, NUMBERS), np.float32)
    known: dict[str, int] = {}
    read, vectors = [], []
    for text in texts(source):
        words = text.split()
        for word in words:
            if word not in known:
                known[word] = int.from_bytes(
                    hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=2).digest(), "little"
                )
        read.append(text)
        vectors.append(table[[known[word] for word in words]].sum(axis=0) if words else np.zeros(NUMBERS, np.float32))
    flat = pa.array(np.concatenate(vectors))
    lists = pa.FixedSizeListArray.from_arrays(flat, NUMBERS).cast(pa.list_(pa.float32()))
    pq.write_table(pa.table({"text": read, "embedding": lists}), out, compression="zstd", row_group_size=4096)


if __name__ == "__main__":
    main()
