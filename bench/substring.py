"""Measure `substring_deduplicator`, and compare what it finds with a suffix array.

    python -m bench.substring documents.parquet                      the corpus as it is
    python -m bench.substring documents.jsonl --times 20             twenty copies, each text cut anew (see `_cut`)
    python -m bench.substring documents.parquet --times 20 --memory 500MB --np 2
    python -m bench.substring documents.parquet --megabytes 32 --suffix-array

Prints megabytes of text per second of processor time, for the whole run and beside a run without the step, and the peak of memory.
--suffix-array builds one of the same texts in memory with pydivsufsort (`pip install pydivsufsort`) and counts the bytes that one
of the two has found and the other has not.
"""

from __future__ import annotations

import argparse
import json
import random
import shutil
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import yaml

from bench.copies import documents
from bench.measure import measured

SEED, MB = 11, 1_000_000
_SEPARATOR = b"\xff"  # in no UTF-8


def main() -> None:
    """Write the corpus, run both recipes, print the figures."""
    options = _options()
    options.work.mkdir(parents=True, exist_ok=True)
    corpus = options.work / "corpus.jsonl"
    size = _write(options, corpus)
    print(f"{size / MB:,.0f} MB of text, min_length {options.length}")
    for name in ("without", "with"):
        seconds, peak, wall = _run(options, corpus, name)
        print(
            f"{name} the step: {size / MB / seconds:,.1f} MB a second of a core ({seconds:,.1f} s), {wall:,.1f} s, peak {peak / MB:,.0f} MB"
        )
    if options.suffix_array:
        _compare(corpus, options.work / "with" / "refinery.duckdb", options.length)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpus", type=Path)
    parser.add_argument("--work", type=Path, default=Path("bench/results/substring"))
    parser.add_argument("--times", type=int, default=1)
    parser.add_argument("--megabytes", type=float, default=float("inf"))
    parser.add_argument("--length", type=int, default=500)
    parser.add_argument("--np", type=int, default=1)
    parser.add_argument("--memory", default=None)
    parser.add_argument("--suffix-array", action="store_true")
    return parser.parse_args()


def _write(options: argparse.Namespace, path: Path) -> int:
    """Write the corpus as JSON lines; returns the bytes of its texts."""
    size = 0
    with path.open("w", encoding="utf-8") as file:
        for text in _texts(options):
            size += len(text.encode())
            file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")
            if size > options.megabytes * MB:
                break
    return size


def _texts(options: argparse.Namespace) -> Iterator[str]:
    dice = random.Random(SEED)
    for time_ in range(options.times):
        for document in documents(options.corpus):
            yield _cut(document["text"], dice) if time_ else document["text"]


def _cut(text: str, dice: random.Random) -> str:
    """A text of which one in five pieces of 200 to 3,000 characters is as it was, and the words of the others are in another order."""
    pieces, at = [], 0
    while at < len(text):
        size = dice.randrange(200, 3_000)
        piece = text[at : at + size]
        if dice.random() > 0.2:
            words = piece.split(" ")
            dice.shuffle(words)
            piece = " ".join(words)
        pieces.append(piece)
        at += size
    return "".join(pieces)


def _run(options: argparse.Namespace, corpus: Path, name: str) -> tuple[float, int, float]:
    """Processor seconds, peak bytes and seconds of a run."""
    folder = options.work / name
    shutil.rmtree(folder, ignore_errors=True)
    step = {"substring_deduplicator": {"min_length": options.length}} if name == "with" else "text_length_filter"
    recipe = {
        "dataset_path": str(corpus),
        "export_path": str(folder / "out.jsonl"),
        "np": options.np,
        "process": [step],
    }
    recipe |= {"memory_limit": options.memory} if options.memory else {}
    path = options.work / f"{name}.yaml"
    path.write_text(yaml.safe_dump(recipe, sort_keys=False))
    command = [sys.executable, "-m", "refinery", "run", str(path), "--quiet"]
    run = measured(command, options.work / f"{name}.log", cwd=Path.cwd())
    if run.exit_code:
        sys.exit((options.work / f"{name}.log").read_text())
    return run.cpu_seconds, run.tree_rss or run.largest_rss, run.seconds


def _compare(corpus: Path, database: Path, length: int) -> None:
    """Print the bytes that only the run, or only the suffix array, has found."""
    texts = [document["text"].encode() for document in documents(corpus)]
    starts = np.cumsum([0, *(len(text) + 1 for text in texts)])
    began = time.process_time()
    by_array = _repeated(_SEPARATOR.join([*texts, b""]), length)
    spent = time.process_time() - began
    by_run = np.zeros(starts[-1] + 1, np.int64)
    import duckdb

    with duckdb.connect(str(database), read_only=True) as con:
        rows, units, lengths = con.execute("SELECT _row, unit, length FROM duplicates").fetchnumpy().values()
    np.add.at(by_run, starts[rows] + units, 1)
    np.add.at(by_run, starts[rows] + units + lengths, -1)
    covered = np.cumsum(by_run)[:-1] > 0
    print(
        f"suffix array: {starts[-1] / MB / spent:,.1f} MB a second of a core; {by_array.sum():,} bytes repeated, "
        f"{(by_array & ~covered).sum():,} missed by the run, {(covered & ~by_array).sum():,} more in the run"
    )


def _repeated(data: bytes, length: int) -> np.ndarray:
    """The bytes in windows that an earlier window equals, by a suffix array. data: texts, each with a separator after it."""
    from pydivsufsort import divsufsort, kasai

    array = divsufsort(data)
    common = np.asarray(kasai(data, array))
    group = np.concatenate(([True], common[: len(array) - 1] < length))
    firsts = np.minimum.reduceat(array, np.flatnonzero(group))
    later = array[array != firsts[np.cumsum(group) - 1]].astype(np.int64)
    separators = np.cumsum(np.frombuffer(data, np.uint8) == 0xFF)
    whole = later[later + length <= len(data)]
    whole = whole[separators[whole] == separators[whole + length - 1]]
    marks = np.zeros(len(data) + 1, np.int64)
    np.add.at(marks, whole, 1)
    np.add.at(marks, whole + length, -1)
    return np.cumsum(marks)[:-1] > 0


if __name__ == "__main__":
    main()
