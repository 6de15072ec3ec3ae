"""Measure statistics end to end: `refinery run` and `refinery stats merge`, and datatrove's blocks and merger.

    python bench/corpus.py corpus.jsonl
    python bench/stats.py --corpus corpus.jsonl
    python bench/stats.py --corpus corpus.jsonl --datatrove DATATROVE/bin/python

DocStats, LineStats and WordStats in the groups summary, histogram, fqdn and suffix, from JSON lines to merged files.
datatrove, which is slow, is given every --share-th row, in one file per worker. Rows without a url get one of a made-up
host. Every figure is a whole command, from start to exit (for
refinery: both commands together); rates are bytes of the `text` field per second of the best run. In the merged
summaries of the sample the totals of all statistics are compared (not n: datatrove loses it for files whose total is
zero). Writes results.json into --out. Exit 1 when they differ, or a command fails.
"""

from __future__ import annotations

import argparse
import json
import math
import shlex
import shutil
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml
from measure import Run, machine, measured, quiet_environment
from run import MB, ROOT, Failed, checked, say

GROUPS = ["summary", "histogram", "fqdn", "suffix"]
STEPS = ["doc_stats", "line_stats", "word_stats"]
PEER = ROOT / "bench" / "peers" / "datatrove_stats.py"


def prepare(corpus: Path, folder: Path, every: int, files: int) -> int:
    """Copy every `every`-th row, with a url, into `files` files; returns the bytes of the texts."""
    folder.mkdir(parents=True)
    size = 0
    outputs = [(folder / f"{number:03}.jsonl").open("wb") for number in range(files)]
    with corpus.open("rb") as lines:
        for number, line in enumerate(lines):
            if number % every == 0:
                row = json.loads(line)
                row.setdefault(
                    "url", f"https://www.host{hash(number) % 997}.{('com', 'org', 'co.uk', 'de')[number % 4]}/{number}"
                )
                size += len(row["text"].encode())
                outputs[number // every % files].write(json.dumps(row, ensure_ascii=False).encode() + b"\n")
    for output in outputs:
        output.close()
    return size


class Bench:
    """One session: arguments, a scratch folder, and the results so far."""

    def __init__(self, arguments: argparse.Namespace, work: Path) -> None:
        self.arguments, self.work = arguments, work
        self.results: dict[str, Any] = {"machine": machine(), "workers": arguments.np, "measurements": []}

    def timed(self, name: str, command: Sequence[str], env: dict[str, str] | None = None) -> Run:
        say(f"{name}: {shlex.join(command)}")
        log = self.work / f"{name}.log"
        return checked(measured(command, log, cwd=ROOT, env=env, timeout=self.arguments.timeout), log, name)

    def refinery(self, name: str, source: Path, size: int, repeats: int) -> float:
        """Run and merge; returns the seconds of the best of `repeats`. Merged files are in `work`/name/merged."""
        folder = self.work / name
        recipe = {
            "project_name": name,
            "dataset_path": str(source),
            "export_path": str(folder / "run" / "none.jsonl"),
            "export_type": "none",
            "np": self.arguments.np,
            "process": [{step: None} for step in STEPS],
            "stat_summary": {"groups": self.arguments.groups, "export": str(folder / "partials")},
        }
        path = self.work / f"{name}.yaml"
        path.write_text(yaml.safe_dump(recipe, sort_keys=False), encoding="utf-8")
        commands = [
            [*shlex.split(self.arguments.refinery), "run", str(path), "--quiet"],
            [*shlex.split(self.arguments.refinery), "stats", "merge", str(folder / "partials"), str(folder / "merged")],
        ]
        runs = []
        for attempt in range(repeats):
            shutil.rmtree(folder, ignore_errors=True)
            runs.append([self.timed(f"{name}-{part}-{attempt}", command) for part, command in enumerate(commands)])
        return self.note(name, size, runs)

    def datatrove(self, source: Path, size: int) -> float:
        """Measure the peer on the same files."""
        folder = self.work / "datatrove"
        folder.mkdir()
        command = [self.arguments.datatrove, str(PEER), str(source), str(folder), "--workers", str(self.arguments.np)]
        command += ["--groups", *self.arguments.groups]
        return self.note("datatrove", size, [[self.timed("datatrove", command, quiet_environment(self.work))]])

    def note(self, name: str, size: int, runs: list[list[Run]]) -> float:
        seconds = [sum(run.seconds for run in parts) for parts in runs]
        best = min(seconds)
        memory = max(run.tree_rss or run.largest_rss for parts in runs for run in parts)
        print(
            f"{name:16} {best:8.2f} s {size / MB / best:8.2f} MB/s of text {memory / MB:8,.0f} MB of memory", flush=True
        )
        entry = {"name": name, "text_bytes": size, "seconds": seconds, "memory": memory}
        self.results["measurements"].append(entry | {"runs": [[run.as_dict() for run in parts] for parts in runs]})
        return size / best


def differences(ours: Path, theirs: Path) -> list[str]:
    """Statistics whose summaries differ, or that only one side has."""
    found = []
    names = {path.parent.name for folder in (ours, theirs) for path in (folder / "summary").glob("*/metric.json")}
    for name in sorted(names):
        left, right = (folder / "summary" / name / "metric.json" for folder in (ours, theirs))
        if not (left.exists() and right.exists()):
            found.append(f"{name}: only one has it")
            continue
        a, b = (json.loads(path.read_bytes())["summary"] for path in (left, right))
        a, b = (entry["total"] if isinstance(entry, dict) else entry for entry in (a, b))
        if not math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9):
            found.append(f"{name}: total {a} and {b}")
    return found


def bench(arguments: argparse.Namespace, work: Path) -> int:
    """Make the inputs, measure, compare; returns the exit code."""
    session = Bench(arguments, work)
    say("copying the corpus")
    size = prepare(arguments.corpus, work / "whole", 1, arguments.np)
    sample = prepare(arguments.corpus, work / "sample", arguments.share, arguments.np)
    own = session.refinery("refinery", work / "whole", size, arguments.repeats)
    session.refinery("refinery_sample", work / "sample", sample, 1)
    wrong: list[str] = []
    if arguments.datatrove:
        peer = session.datatrove(work / "sample", sample)
        print(f"refinery: {own / peer:.1f} times as fast as datatrove")
        wrong = differences(work / "refinery_sample" / "merged", work / "datatrove" / "merged")
        print(f"{len(wrong)} summaries differ", *wrong, sep="\n  ")
    session.results["differences"] = wrong
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "results.json").write_text(json.dumps(session.results, indent=1), "utf-8")
    return 1 if wrong else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--corpus", type=Path, required=True, help="JSON lines")
    parser.add_argument("--np", type=int, default=2, help="workers, and files of the input")
    parser.add_argument("--share", type=int, default=10, help="the slow ones are given every so-manieth row")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--groups", nargs="+", default=GROUPS, choices=GROUPS)
    parser.add_argument("--timeout", type=float, default=7200)
    parser.add_argument("--refinery", default=f"{sys.executable} -m refinery")
    parser.add_argument("--datatrove", metavar="PYTHON")
    parser.add_argument("--work", type=Path, help="scratch folder (default: a temporary one)")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results" / "stats")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.work) as work:
        try:
            sys.exit(bench(arguments, Path(work)))
        except Failed as error:
            sys.exit(str(error))


if __name__ == "__main__":
    main()
