"""Make a larger corpus for deduplication from a real one: copies with altered words, which are not duplicates.

    python bench/copies.py documents.jsonl OUT.jsonl                    copies until there are 300 MB of text
    python bench/copies.py documents.parquet OUT.jsonl --megabytes 600
    python bench/copies.py documents.jsonl OUT.jsonl --times 5          five times the input

The first copy is the unchanged input. In each later copy 40 % of the distinct words (runs of letters and digits) are
replaced everywhere by other words of the corpus that are about as frequent, different ones in each copy. Two similar
documents keep their similarity in every copy, while a document and its copy have few shingles in common (of five words
in a row, one run in thirteen stays): the share of duplicates is about that of the input. Lines, markup, white space and
the size stay as well. `id` is shifted (integers) or suffixed (text). Everything depends on the seed. An existing
OUT.jsonl is kept unless --force is given.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import sys
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

SEED = 2039
MB = 1_000_000
REPLACED = 0.4
NEIGHBOURS = 64  # words of neighbouring frequency ranks that are exchanged
WORD = re.compile(r"\w+")

Document = dict[str, Any]


def documents(path: Path) -> Iterator[Document]:
    """The rows of a JSONL or Parquet file; lines are split at line feeds only."""
    if path.suffix == ".parquet":
        import pyarrow.parquet as pq

        for batch in pq.ParquetFile(path).iter_batches(2048):
            yield from batch.to_pylist()
        return
    with path.open("rb") as lines:
        for line in lines:
            yield json.loads(line)


def vocabulary(path: Path) -> tuple[list[str], int, int]:
    """All distinct words, the most frequent first; the bytes of all texts; the largest integer id plus one."""
    counts: Counter[str] = Counter()
    size = after = 0
    for document in documents(path):
        text = document["text"]
        counts.update(WORD.findall(text))
        size += len(text.encode("utf-8", "surrogatepass"))
        after = max(after, document["id"] + 1) if isinstance(document.get("id"), int) else after
    return sorted(counts, key=lambda word: (-counts[word], word)), size, after


def replacements(words: list[str], seed: int, copy: int) -> dict[str, str]:
    """Replacements of words in one copy: a permutation of the chosen words, each near its own frequency."""
    dice = random.Random(f"{seed}-{copy}")
    chosen = [word for word in words if dice.random() < REPLACED]
    found: dict[str, str] = {}
    for start in range(0, len(chosen), NEIGHBOURS):
        block = chosen[start : start + NEIGHBOURS]
        order = block[:]
        dice.shuffle(order)
        found.update(zip(order, [*order[1:], order[0]], strict=True))  # a cycle: no word stays
    return found


def altered(text: str, words: dict[str, str]) -> str:
    return WORD.sub(lambda found: words.get(found[0], found[0]), text)


def with_id(document: Document, copy: int, step: int) -> Document:
    """The document with an `id` that differs from those of other copies."""
    if "id" not in document:
        return document
    own = document["id"]
    return document | {"id": own + copy * step if isinstance(own, int) else f"{own}-{copy}"}


def write_copies(source: Path, out: Path, *, times: int | None = None, megabytes: int = 300, seed: int = SEED) -> int:
    """Write `times` copies, or enough for the megabytes of text; returns their number."""
    words, size, step = vocabulary(source)
    count = times or max(1, -(-megabytes * MB // size))
    unfinished = out.with_name(out.name + ".part")
    with unfinished.open("w", encoding="utf-8", errors="surrogatepass", newline="\n") as file:
        for copy in range(count):
            mapped = replacements(words, seed, copy) if copy else {}
            for document in documents(source):
                if copy:
                    document = with_id(document, copy, step) | {"text": altered(document["text"], mapped)}
                file.write(json.dumps(document, ensure_ascii=False, separators=(",", ":")) + "\n")
    unfinished.replace(out)
    return count


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("source", type=Path, help="documents with a text, JSONL or Parquet")
    parser.add_argument("out", type=Path)
    parser.add_argument("--megabytes", type=int, default=300, help="bytes of text / 1e6, at least (default: 300)")
    parser.add_argument("--times", type=int, help="number of copies, whatever their size")
    parser.add_argument("--seed", type=int, default=SEED)
    parser.add_argument("--force", action="store_true", help="write OUT.jsonl anew if it exists")
    arguments = parser.parse_args()
    out: Path = arguments.out
    if out.exists() and not arguments.force:
        print(f"{out.name} exists; --force writes it anew")
        return 0
    out.parent.mkdir(parents=True, exist_ok=True)
    started = time.perf_counter()
    count = write_copies(
        arguments.source, out, times=arguments.times, megabytes=arguments.megabytes, seed=arguments.seed
    )
    print(f"{out.name}: {count} copies, {out.stat().st_size / MB:,.0f} MB in {time.perf_counter() - started:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
