"""text-dedup's MinHash as its command runs it, with Data-Juicer's parameters: 256 permutations, 5-grams, 0.7.

TEXT_DEDUP/bin/python bench/peers/text_dedup_minhash.py documents.jsonl WORK_FOLDER --workers 2
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

from common import report


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("source", type=Path)
    parser.add_argument("work", type=Path)
    parser.add_argument("--workers", type=int, default=2)
    arguments = parser.parse_args()
    work = arguments.work.resolve()
    words = ["--path", "json", "--data_files", str(arguments.source.resolve()), "--split", "train", "--column", "text"]
    words += ["--output", str(work / "out"), "--cache_dir", str(work / "cache"), "--num_proc", str(arguments.workers)]
    words += ["--num_perm", "256", "--ngram", "5", "--threshold", "0.7"]
    subprocess.run([sys.executable, "-m", "text_dedup.minhash", *words], check=True)
    from datasets import load_from_disk

    report(version=version("text-dedup"), kept=len(load_from_disk(str(work / "out"))))


if __name__ == "__main__":
    main()
