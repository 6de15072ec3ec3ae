"""Measure the savings of `fusion_strategy` and `adaptive_batch_size`: the same recipes with and without, in turns.

    python bench/fusion.py --corpus CORPUS.jsonl [--rounds 3] [--short 500000]

The first recipe has its cheap, strict filter at its end, behind filters that measure the same text; it is run in the
recipe's order, by `greedy` and by `probe`. The second cleans and measures short texts, made here, with batches of the
default size and of adapted sizes. Every run is a separate process. Reported are the least processor time of the rounds,
since other processes may use the machine, and the kept rows, which must be equal.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
import tempfile
from pathlib import Path
from typing import Any

from measure import Run, measured

WORDS = "the quick brown fox jumps over lazy dogs while rain falls softly on old roofs and nobody listens".split()
LAST: list[Any] = [
    {"words_num_filter": {"min_num": 5}},
    {"character_repetition_filter": {"rep_len": 10, "max_ratio": 0.9}},
    {"word_repetition_filter": {"rep_len": 10, "max_ratio": 0.9}},
    {"special_characters_filter": {"max_ratio": 0.9}},
    {"sql_filter": {"where": "length(text) % 10 = 0"}},
]
SHORT: list[Any] = [
    {"clean_email_mapper": None},
    {"fix_unicode_mapper": None},
    {"words_num_filter": {"min_num": 2}},
    {"word_repetition_filter": None},
    {"alphanumeric_filter": None},
    {"text_length_filter": {"min_len": 5}},
]


def short_texts(path: Path, count: int) -> None:
    """Write documents of six words, 58 bytes per line."""
    dice = random.Random(1)
    with path.open("w", encoding="utf-8") as file:
        for number in range(count):
            file.write(json.dumps({"id": number, "text": " ".join(dice.choices(WORDS, k=6))}) + "\n")


def once(folder: Path, corpus: Path, steps: list[Any], keys: dict[str, Any]) -> tuple[Run, str]:
    """Measure one run of a recipe; returns also a digest of the kept samples."""
    recipe = {"dataset_path": str(corpus), "export_path": str(folder / "run" / "out.jsonl"), "np": 1, "process": steps}
    path = folder / "recipe.yaml"
    path.write_text(json.dumps(recipe | {"use_cache": False} | keys), encoding="utf-8")
    (folder / "run" / ".refinery" / "order.json").unlink(missing_ok=True)  # so that the measurement includes the probe
    run = measured(
        [sys.executable, "-m", "refinery", "run", str(path), "--quiet", "--fresh"], folder / "log", cwd=folder
    )
    if run.exit_code:
        raise SystemExit((folder / "log").read_text(encoding="utf-8"))
    return run, hashlib.sha256((folder / "run" / "out.jsonl").read_bytes()).hexdigest()


def compare(title: str, corpus: Path, steps: list[Any], variants: dict[str, dict[str, Any]], rounds: int) -> None:
    """Print a table of the variants, which must all keep the same samples."""
    least: dict[str, Run] = {}
    with tempfile.TemporaryDirectory() as name:
        digests = set()
        for variant in [next(iter(variants)), *list(variants) * rounds]:  # the first run compiles kernels
            run, digest = once(Path(name), corpus, steps, variants[variant])
            digests.add(digest)
            if variant not in least or run.cpu_seconds < least[variant].cpu_seconds:
                least[variant] = run
    print(
        f"{title}, {corpus.stat().st_size / 1e6:.0f} MB; {'the same' if len(digests) == 1 else 'OTHER'} rows are kept\n"
    )
    print("| | processor s | wall s | memory MB |\n|---|---:|---:|---:|")
    for variant, run in least.items():
        print(f"| {variant} | {run.cpu_seconds:.2f} | {run.seconds:.2f} | {run.largest_rss / 1e6:.0f} |")
    print()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--corpus", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--short", type=int, default=500_000, help="documents of the short corpus")
    given = parser.parse_args()
    orders: dict[str, dict[str, Any]] = {"the recipe's order": {}}
    orders |= {f"`{name}`": {"fusion_strategy": name} for name in ("greedy", "probe")}
    compare("The strict filter last", given.corpus.resolve(), LAST, orders, given.rounds)
    sizes: dict[str, dict[str, Any]] = {"16 MB, 8,192 rows": {}, "adapted": {"adaptive_batch_size": True}}
    with tempfile.TemporaryDirectory() as name:
        short = Path(name) / "short.jsonl"
        short_texts(short, given.short)
        compare("Short texts", short, SHORT, sizes, given.rounds)


if __name__ == "__main__":
    main()
