"""Measure what adds to a corpus cost as it grows: processor time of each of many adds of equal size.

    python bench/growth.py documents.parquet --adds 24 --documents 4000
    python bench/growth.py documents.parquet --recipe lines --out /tmp/growth

The texts of an add are put together from sentences of the documents, and two lines of each are in many; `--copies` of them are texts of
earlier adds with a sentence more.
Each add is a process of its own. Writes results.json into --out, and prints a table. Exit 1 if the last add takes more than `--limit` times
the processor time of the second.
"""

from __future__ import annotations

import argparse
import json
import os
import random
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


def add(folder: Path, number: int, steps: list[Any]) -> dict[str, Any]:
    """Add one part, in this process; returns counts."""
    import numpy as np

    from refinery.corpus.engine import Change, PartInput
    from refinery.corpus.incremental.engine import IncrementalEngine
    from refinery.execution.open import open_recipe
    from refinery.recipe.input_config import InputConfig

    recipe = {"dataset_path": str(folder), "export_path": str(folder / "run" / "out.jsonl"), "np": 2, "process": steps}
    opened, library = open_recipe(recipe, need_inputs=False)
    output, state = folder / f"output_{number}", folder / f"state_{number}"
    output.mkdir()
    inputs = (InputConfig(path=str(folder / f"add_{number:02d}.parquet")),)
    part = PartInput(number, inputs, None, np.zeros(0, np.int64))
    before = folder / f"state_{number - 1}" if number > 1 else None
    delta = IncrementalEngine().apply(Change(opened, library, (part,), (number,), {}, before, state, folder, output))
    sizes = {
        name: sum(pq.read_metadata(file).num_rows for file in getattr(delta, name))
        for name in ("additions", "retractions")
    }
    return {"kept": delta.counts.kept, "removed": delta.counts.removed, **sizes}


def measured(folder: Path, number: int, recipe: str) -> dict[str, Any]:
    """One add in a process of its own."""
    answer = folder / f"answer_{number}.json"
    command = [sys.executable, __file__, "-", "--child", str(number), "--recipe", recipe, "--out", str(folder)]
    started = time.perf_counter()
    process = os.spawnv(os.P_NOWAIT, sys.executable, command)
    _, status, used = os.wait4(process, 0)
    if status:
        raise SystemExit(f"add {number} failed")
    return {
        "add": number,
        "processor": round(used.ru_utime + used.ru_stime, 2),
        "seconds": round(time.perf_counter() - started, 2),
        "memory": used.ru_maxrss // 1024,
        **json.loads(answer.read_text()),
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
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    folder = asked.out.resolve()
    if asked.child:
        counts = add(folder, asked.child, RECIPES[asked.recipe])
        (folder / f"answer_{asked.child}.json").write_text(json.dumps(counts))
        return
    folder.mkdir(parents=True)
    write_adds(asked, folder)
    results = []
    for number in range(1, asked.adds + 1):
        results.append(measured(folder, number, asked.recipe))
        print("  ".join(f"{name} {value}" for name, value in results[-1].items()), flush=True)
        (folder / "results.json").write_text(json.dumps(results, indent=1))
    ratio = results[-1]["processor"] / results[1]["processor"]
    print(f"{asked.recipe}: the last add takes {ratio:.2f} times the processor time of the second")
    raise SystemExit(ratio > asked.limit)


if __name__ == "__main__":
    main()
