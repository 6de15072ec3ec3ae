"""Measure the memory of exact deduplication where two keys have all samples, or each key has few.

    python bench/hot_keys.py 5e6 17e6 --memory_limit 1GB --workers 2

Samples are texts of 10 to 30 characters. "peak" is that of the process as the kernel reports it. The input takes about 38 bytes for each
sample, the run as much again and more for the files of its tasks; all are removed after the measurement.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from measure import Run, measured

# Samples of a block of the input, and distinct numbers in the texts.
BLOCK, NUMBERS = 100_000, 8_000_000
# Parameters by which two keys have all samples, or each key two or three of them.
KEYS = {"two": {"ignore_non_character": True}, "many": {"lowercase": True}}


def blocks(count: int) -> Iterator[str]:
    """Lines of so many samples; without their numbers there are two texts."""
    for start in range(0, count, BLOCK):
        numbers = range(start, min(start + BLOCK, count))
        yield "".join(f'{{"text":"{"abcdefghij " * (1 if n % 3 else 2)}{n % NUMBERS}"}}\n' for n in numbers)


def run(folder: Path, keys: str, memory_limit: str, workers: int) -> Run:
    """Measure one run over the file `in.jsonl` of a folder."""
    out = folder / keys
    text = {
        "dataset_path": str(folder / "in.jsonl"),
        "export_path": str(out / "out.jsonl"),
        "np": workers,
        "memory_limit": memory_limit,
        "process": [{"document_deduplicator": KEYS[keys]}],
    }
    path = folder / f"{keys}.yaml"
    path.write_text(json.dumps(text))
    root = Path(__file__).resolve().parent.parent
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])}
    done = measured(
        [sys.executable, "-m", "refinery", "run", str(path)], folder / "log.txt", cwd=folder, env=environment
    )
    if done.exit_code:
        raise SystemExit((folder / "log.txt").read_text(errors="replace"))
    return done


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("samples", nargs="+", type=float)
    parser.add_argument("--keys", nargs="+", choices=KEYS, default=list(KEYS))
    parser.add_argument("--memory_limit", default="1GB")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--folder", type=Path, help="where files are written (default: the system's temporary folder)")
    arguments = parser.parse_args()
    print(f"{'samples':>12} {'keys':>5} {'peak':>9} {'seconds':>8} {'processor':>9}")
    for count in map(int, arguments.samples):
        for keys in arguments.keys:
            with tempfile.TemporaryDirectory(dir=arguments.folder, prefix="hot-keys-") as name:
                with (Path(name) / "in.jsonl").open("w") as file:
                    file.writelines(blocks(count))
                done = run(Path(name), keys, arguments.memory_limit, arguments.workers)
            peak = f"{done.largest_rss / 1e6:,.0f} MB"
            print(f"{count:12,} {keys:>5} {peak:>9} {done.seconds:8.1f} {done.cpu_seconds:9.1f}", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
