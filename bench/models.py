"""Measure kernels of models beside the libraries that the models come from, on the same texts.

    python -m bench.models --corpus documents.parquet
    python -m bench.models --corpus documents.jsonl --megabytes 20 --only kenlm

Prints a Markdown table for each kind of model: MB of text per second of one thread's processor time, the best of some runs, so
that other programs disturb little; and MB per second of wall time with several threads. The library is called as Data-Juicer
calls it, once for each text. Where the library is not installed, refinery is measured alone.
"""

from __future__ import annotations

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa

RUNS = 3
BATCH = 500  # texts of one call of a kernel


@dataclass(frozen=True)
class Case:
    """One model. texts: what it is given. kernel: measures a column; library: one text; None if it is not installed."""

    name: str
    texts: Sequence[str]
    kernel: Callable[[pa.Array], object]
    library: Callable[[str], object] | None


@dataclass(frozen=True)
class Section:
    """A kind of model. cases: makes its cases from documents and a folder for files."""

    title: str
    cases: Callable[[Sequence[str], Path], Iterator[Case]]


def sections() -> dict[str, Section]:
    """Kinds of models by the names that `--only` takes."""
    from bench import model_bpe, model_fasttext, model_kenlm, model_sentencepiece

    return {
        "fasttext": model_fasttext.SECTION,
        "kenlm": model_kenlm.SECTION,
        "sentencepiece": model_sentencepiece.SECTION,
        "bpe": model_bpe.SECTION,
    }


def documents(corpus: Path, megabytes: float) -> list[str]:
    """Texts of a corpus in a fixed random order, up to a size."""
    import duckdb

    reader = "read_parquet" if corpus.suffix == ".parquet" else "read_json_auto"
    rows = duckdb.sql(f"SELECT text FROM {reader}('{corpus}') WHERE length(text) > 0").fetchall()
    random.Random(1).shuffle(rows)
    found, size = [], 0.0
    for (text,) in rows:
        found.append(text)
        size += len(text.encode()) / 1e6
        if size > megabytes:
            break
    return found


def best(run: Callable[[], object], clock: Callable[[], float]) -> float:
    """Least seconds of some runs."""
    times = []
    for _ in range(RUNS):
        began = clock()
        run()
        times.append(clock() - began)
    return min(times)


def measured(case: Case, threads: int) -> list[float | None]:
    """MB per second: of one thread's time by the kernel and the library, of wall time with threads by both."""
    size = sum(len(text.encode()) for text in case.texts) / 1e6
    batches = [list(case.texts[i : i + BATCH]) for i in range(0, len(case.texts), BATCH)]
    columns = [pa.array(batch) for batch in batches]
    case.kernel(columns[0])  # loads the model and the machine code
    library = case.library

    def one_by_one(batch: Sequence[str]) -> None:
        for text in batch:
            assert library is not None
            library(text)

    found: list[float | None] = []
    with ThreadPoolExecutor(threads) as pool:
        for clock, each in ((time.thread_time, map), (time.perf_counter, pool.map)):
            found.append(size / best(lambda each=each: list(each(case.kernel, columns)), clock))  # type: ignore[misc]
            slow = library and best(lambda each=each: list(each(one_by_one, batches)), clock)  # type: ignore[misc]
            found.append(size / slow if slow else None)
    return found


def main() -> None:
    kinds = sections()
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--corpus", type=Path, required=True, help="documents, .parquet or .jsonl with a field text")
    parser.add_argument("--megabytes", type=float, default=8, help="size of the documents that are measured")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", choices=kinds, nargs="+", default=list(kinds))
    given = parser.parse_args()
    texts = documents(given.corpus, given.megabytes)
    for name in given.only:
        print(f"\n{kinds[name].title}, MB/s\n\n| model | refinery | library | {given.threads} threads | library |")
        print("|---|---:|---:|---:|---:|")
        with tempfile.TemporaryDirectory() as folder:
            for case in kinds[name].cases(texts, Path(folder)):
                row = measured(case, given.threads)
                cells = ["-" if number is None else f"{number:.1f}" for number in row]
                print(f"| {' | '.join([case.name, *cells])} |", flush=True)


if __name__ == "__main__":
    main()
