"""Measure what adds to a corpus cost as it grows: processor time of each of many adds of equal size.

    python bench/growth.py documents.parquet --adds 24 --documents 4000
    python bench/growth.py documents.parquet --recipe lines --out outputs/growth

The texts of an add are put together from sentences of the documents, and two lines of each are in many; `--copies` of them are texts of
earlier adds with a sentence more.
Each add is one `refinery add`. Writes results.json into --out, and prints a table. Exit 1 if the last add takes more than `--limit` times
the processor time of the second.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

RECIPES: dict[str, list[Any]] = {
    "exact": [{"text_length_filter": {"min_len": 20}}, {"document_deduplicator": {}}],
    "minhash": [{"text_length_filter": {"min_len": 20}}, {"document_minhash_deduplicator": {}}],
    "verified": [{"text_length_filter": {"min_len": 20}}, {"document_minhash_deduplicator": {"verify": True}}],
    "lines": [{"document_line_deduplicator": {"frequency_threshold": 6}}, {"text_length_filter": {"min_len": 20}}],
    "substrings": [{"text_length_filter": {"min_len": 20}}, {"substring_deduplicator": {}}],
    "web": [
        {"text_length_filter": {"min_len": 20}},
        {"document_deduplicator": {}},
        {"words_num_filter": {"min_num": 5}},
        {"document_minhash_deduplicator": {}},
        {"document_line_deduplicator": {"frequency_threshold": 6}},
    ],
}


def texts_of(chance: random.Random, sentences: list[str], earlier: list[str], asked: argparse.Namespace) -> list[str]:
    """Texts of one add."""
    texts = []
    for _ in range(asked.count):
        if earlier and chance.random() < asked.copies:
            texts.append(f"{chance.choice(earlier)} {chance.choice(sentences)}")
            continue
        lines = [" ".join(chance.choices(sentences, k=chance.randint(2, 6))) for _ in range(chance.randint(4, 16))]
        texts.append("\n".join([*lines, *chance.choices(sentences[:40], k=2)]))  # the last lines are in many texts
    return texts


def write_adds(asked: argparse.Namespace, folder: Path) -> None:
    """Write the data of all adds."""
    chance = random.Random(0)
    texts = pq.read_table(asked.documents, columns=["text"])["text"].to_pylist()
    pieces = (piece.strip() for text in texts for piece in text.replace("\n", " ").split(". "))
    sentences = list(dict.fromkeys(piece for piece in pieces if 30 < len(piece) < 300))
    chance.shuffle(sentences)
    earlier: list[str] = []
    for number in range(1, asked.adds + 1):
        own = texts_of(chance, sentences, earlier, asked)
        earlier += chance.sample(own, max(1, asked.count // 4))
        pq.write_table(pa.table({"text": own}), folder / f"add_{number:02d}.parquet")


def measured(folder: Path, number: int) -> dict[str, Any]:
    """One add by the command, in a process of its own."""
    answer, data = folder / f"answer_{number}.json", folder / f"add_{number:02d}.parquet"
    command = ["-m", "refinery", "add", str(folder / "recipe.json"), "--corpus", str(folder / "corpus"), "--json"]
    started = time.perf_counter()
    with answer.open("wb") as out:
        process = subprocess.Popen([sys.executable, *command, "--dataset_path", str(data)], stdout=out)
        _, status, used = os.wait4(process.pid, 0)
    if status:
        raise SystemExit(f"add {number} failed")
    return {
        "add": number,
        "processor": round(used.ru_utime + used.ru_stime, 2),
        "seconds": round(time.perf_counter() - started, 2),
        "memory": used.ru_maxrss // 1024,
        **{name: value for name, value in json.loads(answer.read_text()).items() if isinstance(value, int)},
    }


def main() -> None:
    """Run the measurement."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("documents")
    parser.add_argument("--adds", type=int, default=24)
    parser.add_argument("--documents", type=int, default=4000, dest="count")
    parser.add_argument("--copies", type=float, default=0.15)
    parser.add_argument("--recipe", choices=RECIPES, default="minhash")
    parser.add_argument("--limit", type=float, default=1.5)
    parser.add_argument("--out", type=Path, default=Path("growth"))
    asked = parser.parse_args()
    folder = asked.out.resolve()
    folder.mkdir(parents=True)
    write_adds(asked, folder)
    recipe = {"export_path": str(folder / "unused.jsonl"), "np": 2, "process": RECIPES[asked.recipe]}
    (folder / "recipe.json").write_text(json.dumps({"dataset_path": str(folder), **recipe}))
    results = []
    for number in range(1, asked.adds + 1):
        results.append(measured(folder, number))
        print("  ".join(f"{name} {value}" for name, value in results[-1].items()), flush=True)
        (folder / "results.json").write_text(json.dumps(results, indent=1))
    ratio = results[-1]["processor"] / results[1]["processor"]
    print(f"{asked.recipe}: the last add takes {ratio:.2f} times the processor time of the second")
    raise SystemExit(ratio > asked.limit)


if __name__ == "__main__":
    main()
