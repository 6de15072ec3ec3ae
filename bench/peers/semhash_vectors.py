"""SemHash's deduplication of vectors that are there, by its default index, at a cosine of 0.95.

    SEMHASH/bin/python bench/peers/semhash_vectors.py documents.parquet WORK_FOLDER

Needs pyarrow, too. Its command would compute embeddings first; so does refinery's embedding_mapper, which is not measured either.
"""

from __future__ import annotations

import argparse
import json
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from common import report


class NoModel:
    """In place of a model: all vectors are known."""

    def encode(self, *_: Any, **__: Any) -> np.ndarray:
        raise NotImplementedError


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--workers", type=int, default=2, help="without effect")
    arguments = parser.parse_args()
    import pyarrow.parquet as pq
    from semhash import SemHash

    table = pq.read_table(arguments.source)
    lists = table["embedding"].combine_chunks()
    vectors = lists.values.to_numpy().reshape(len(lists), -1)
    records = [{"text": text, "n": n} for n, text in enumerate(table["text"].to_pylist())]
    index = SemHash.from_embeddings(vectors, records, NoModel(), columns=["text"])
    kept = index.self_deduplicate(threshold=0.95).selected
    with (arguments.work / "kept.jsonl").open("w", encoding="utf-8") as file:
        file.writelines(json.dumps({"text": one["text"]}) + "\n" for one in kept)
    report(version=version("semhash"), kept=len(kept))


if __name__ == "__main__":
    main()
