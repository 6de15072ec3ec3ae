"""Measure merging statistics files: `refinery stats merge`, and datatrove's StatsMerger on the same files.

    python bench/stats_merge.py --datatrove DATATROVE/bin/python
    python bench/stats_merge.py --folders 1 --keys 100000 --distinct 20

Makes partial files as datatrove writes them: hosts with all fields, in a different order in each file. --distinct:
number of different files, the others are links to them (a gigabyte takes a minute to make). Every figure is a whole
command from start to exit. The merged files are compared: equal keys, n and totals. Writes results.json into --out.
Exit 1 when they differ.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shlex
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

from measure import Run, machine, measured, quiet_environment
from run import MB, ROOT, checked, say

STATS = ("length", "n_lines", "avg_word_length", "uppercase_ratio", "digit_ratio", "white_space_ratio")
PEER = ROOT / "bench" / "peers" / "datatrove_stats_merge.py"


def entry(dice: random.Random) -> dict[str, Any]:
    """Moments of some values, as datatrove writes them."""
    n, mean, spread = dice.randrange(2, 500), dice.uniform(1, 1000), dice.random()
    variance = (spread * mean) ** 2
    return {
        "total": n * mean, "n": n, "mean": mean, "variance": variance, "std_dev": variance**0.5,
        "min": mean * dice.random(), "max": mean * (1 + dice.random()), "unit": "task",
    }  # fmt: skip


def make(folder: Path, arguments: argparse.Namespace) -> int:
    """Write the partial files; returns their size in bytes."""
    dice = random.Random(7)
    hosts = [
        f"www.site-{dice.randrange(10**9)}.{dice.choice(('com', 'org', 'de', 'co.uk'))}" for _ in range(arguments.keys)
    ]
    total = 0
    for stat in STATS[: arguments.folders]:
        place = folder / "fqdn" / stat
        place.mkdir(parents=True)
        for rank in range(arguments.files):
            path = place / f"{rank:05d}.json"
            if rank < arguments.distinct:
                dice.shuffle(hosts)
                path.write_text(json.dumps({host: entry(dice) for host in hosts}), "utf-8")
            else:
                os.link(place / f"{rank % arguments.distinct:05d}.json", path)
            total += path.stat().st_size
    return total


def timed(name: str, command: list[str], work: Path, environment: dict[str, str] | None = None) -> Run:
    say(f"{name}: {shlex.join(command)}")
    log = work / f"{name}.log"
    return checked(measured(command, log, cwd=ROOT, env=environment), log, name)


def differences(ours: Path, theirs: Path) -> int:
    """Keys whose n, total or variance differ."""
    wrong = 0
    for path in theirs.rglob("metric.json"):
        left, right = json.loads((ours / path.relative_to(theirs)).read_bytes()), json.loads(path.read_bytes())
        wrong += len(left.keys() ^ right.keys())
        for key in left.keys() & right.keys():
            a, b = left[key], right[key]
            close = all(abs(a[f] - b[f]) <= 1e-9 * abs(b[f]) for f in ("total", "mean", "variance", "min", "max"))
            wrong += not (close and a["n"] == b["n"])
    return wrong


def row(name: str, run: Run, size: int) -> str:
    memory = run.tree_rss or run.largest_rss
    return (
        f"{name:12} {run.seconds:8.2f} s {run.cpu_seconds:8.1f} s of processor {size / MB / run.seconds:8.1f} MB/s "
        f"{memory / MB:8,.0f} MB of memory"
    )


def bench(arguments: argparse.Namespace, work: Path) -> int:
    """Make data, measure, compare; returns the exit code."""
    say(f"making {arguments.folders} x {arguments.files} files of {arguments.keys:,} keys")
    size = make(work / "partials", arguments)
    results: dict[str, Any] = {
        "machine": machine(),
        "bytes": size,
        "entries": arguments.folders * arguments.files * arguments.keys,
    }
    print(f"{results['entries']:,} entries, {size / MB:,.0f} MB")
    runs = []
    for attempt in range(arguments.repeats):
        shutil.rmtree(work / "ours", ignore_errors=True)
        command = [*shlex.split(arguments.refinery), "stats", "merge", str(work / "partials"), str(work / "ours")]
        runs.append(timed(f"refinery-{attempt}", command, work))
        print(row("refinery", runs[-1], size))
    best = min(runs, key=_seconds)
    results["refinery"] = [run.as_dict() for run in runs]
    wrong = 0
    if arguments.datatrove:
        command = [arguments.datatrove, str(PEER), str(work / "partials"), str(work / "theirs")]
        peer = timed("datatrove", command, work, quiet_environment(work))
        alone = json.loads((work / "datatrove.log").read_text().strip().splitlines()[-1])["seconds"]
        print(row("datatrove", peer, size), f"(merge alone {alone:.2f} s)")
        wrong = differences(work / "ours", work / "theirs")
        print(f"{peer.seconds / best.seconds:.1f} times as fast, whole commands; {wrong} entries differ")
        results["datatrove"] = peer.as_dict() | {"merge_seconds": alone, "differences": wrong}
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "results.json").write_text(json.dumps(results, indent=1), "utf-8")
    return 1 if wrong else 0


def _seconds(run: Run) -> float:
    return run.seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--files", type=int, default=1000, help="partial files of each folder")
    parser.add_argument("--folders", type=int, default=2, choices=range(1, len(STATS) + 1))
    parser.add_argument("--keys", type=int, default=1000, help="keys of each file")
    parser.add_argument("--distinct", type=int, default=100_000, help="files of a folder that are different")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--refinery", default=f"{sys.executable} -m refinery")
    parser.add_argument("--datatrove", metavar="PYTHON")
    parser.add_argument("--work", type=Path, help="scratch folder (default: a temporary one)")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results" / "stats_merge")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.work) as work:
        sys.exit(bench(arguments, Path(work)))


if __name__ == "__main__":
    main()
