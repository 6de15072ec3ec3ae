"""Measure decisions from stored statistics: `refinery tune` and `refinery refilter` over a million short texts.

    python bench/decide.py
    python bench/decide.py --rows 100000 --repeat 1

Makes the texts (a seed determines every byte), runs a recipe of two mappers and six filters over them, tries bounds on
that run, makes new runs from it, and runs the changed recipe from the start for comparison. Every figure is a whole
command, from start to exit, the best of --repeat; "decided" is the time at which `refilter` had decided on every
sample. The samples of each new run are compared with those of the run from the start. Exit 1 if they differ, or a
command fails.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from measure import Run, machine, measured

ROOT = Path(__file__).resolve().parent.parent
WORDS = (
    "the of and a to in is that it was for on are with as his they at be this from have or by one had not but what all"
)
RECIPE = """\
project_name: decide
dataset_path: {data}
export_path: {out}/out.jsonl
work_dir: {out}
np: 2
process:
  - whitespace_normalization_mapper:
  - clean_links_mapper:
  - text_length_filter:
      min_len: 20
  - alphanumeric_filter:
      tokenization: false
      min_ratio: 0.6
  - average_line_length_filter:
      min_len: 15
  - special_characters_filter:
      max_ratio: 0.4
  - words_num_filter:
      min_num: 10
  - word_repetition_filter:
      rep_len: 3
      max_ratio: 0.5
"""
STEP = "process.7.min_num"


def make(path: Path, rows: int) -> None:
    """Write short texts of 1 to 40 words, a few of them with links, symbols or a repeated word."""
    dice = np.random.default_rng(2037)
    words = WORDS.split()
    with path.open("w", encoding="utf-8") as file:
        for start in range(0, rows, 10_000):
            lengths = dice.integers(1, 41, min(10_000, rows - start))
            picked = dice.integers(0, len(words), int(lengths.sum())).tolist()
            kinds, at = dice.integers(0, 20, len(lengths)).tolist(), 0
            for number, (length, kind) in enumerate(zip(lengths.tolist(), kinds, strict=True), start):
                chosen = [words[k] for k in picked[at : at + length]]
                at += length
                flaw = {0: " https://example.org/page", 1: " *** ### ===", 2: " " + f"{chosen[0]} " * 12}.get(kind, "")
                file.write(json.dumps({"id": number, "text": " ".join(chosen) + flaw}) + "\n")


class Bench:
    """A scratch folder, and the commands measured in it."""

    def __init__(self, work: Path, repeat: int) -> None:
        self.work, self.repeat, self.failed = work, repeat, False
        path = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
        self.env = os.environ | {"PYTHONPATH": path}

    def best(self, label: str, words: Sequence[object], *made: str) -> None:
        """Run `refinery` with these words several times, print the best time. made: folders that every run makes."""
        command = [sys.executable, "-m", "refinery", *map(str, words)]
        runs: list[Run] = []
        for _ in range(self.repeat):
            for name in made:
                shutil.rmtree(self.work / name, ignore_errors=True)
            runs.append(measured(command, self.work / "log", cwd=self.work, env=self.env))
            if runs[-1].exit_code:
                print((self.work / "log").read_text("utf-8"), file=sys.stderr)
                self.failed = True
        best = min(runs, key=lambda run: run.seconds)
        said = re.search(r'"rows_again": (\d+), "deciding": ([0-9.]+)', (self.work / "log").read_text("utf-8"))
        decided = f"  {int(said[1]):,} rows again, decided after {float(said[2]):.2f} s" if said else ""
        cpu = min(run.cpu_seconds for run in runs)
        print(
            f"{label:<42} {best.seconds:6.2f} s  {cpu:6.2f} s of processor  {best.largest_rss / 1e6:6.0f} MB{decided}",
            flush=True,
        )

    def same(self, one: str, other: str) -> None:
        """Check that two exports are equal, byte for byte."""
        equal = (self.work / one).read_bytes() == (self.work / other).read_bytes()
        self.failed |= not equal
        print(f"  {one} and {other} are {'the same' if equal else 'NOT THE SAME'}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--repeat", type=int, default=3)
    arguments = parser.parse_args()
    said = machine()
    print(f"{said['cores']} cores, {said['cpu']}, load before {said['load_before']}")
    with tempfile.TemporaryDirectory(prefix="decide-") as name:
        work = Path(name)
        bench = Bench(work, arguments.repeat)
        make(work / "in.jsonl", arguments.rows)
        size = (work / "in.jsonl").stat().st_size
        print(f"{arguments.rows:,} rows, {size / 1e6:.0f} MB")
        (work / "recipe.yaml").write_text(RECIPE.format(data=work / "in.jsonl", out="run"), encoding="utf-8")
        bench.best("run", ["run", "recipe.yaml", "--quiet"], "run")
        bench.best("tune, 200 values of min_num", ["tune", "run", "words_num_filter", "--param", "min_num=1..200:1"])
        bench.best(
            "tune, 20 values of a ratio", ["tune", "run", "alphanumeric_filter", "--param", "min_ratio=0.5..0.9"]
        )
        grid = ["--param", "min_num=1..20:1", "--param", "max_num=20..40:1"]
        bench.best("tune, grid of 20 x 21 values", ["tune", "run", "words_num_filter", *grid])
        for label, value in (("tightened", 15), ("loosened", 6)):
            again = ["refilter", "run", "--set", f"{STEP}={value}", "--work-dir", "again", "--json"]
            bench.best(f"refilter --no-export, {label}", [*again, "--no-export"], "again")
            bench.best(f"refilter with export, {label}", again, "again")
            fresh = ["run", "recipe.yaml", "--quiet", "--set", f"{STEP}={value}", "--work_dir", "fresh"]
            bench.best(f"run afresh, {label}", [*fresh, "--export_path", "fresh/out.jsonl"], "fresh")
            bench.same("again/out.jsonl", "fresh/out.jsonl")
        return int(bench.failed)


if __name__ == "__main__":
    sys.exit(main())
