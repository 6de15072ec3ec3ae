"""Measure FineWeb's filters after extraction and the formatter of addresses: `refinery run`, and datatrove's blocks.

    python bench/fineweb.py --corpus corpus.parquet
    python bench/fineweb.py --corpus corpus.parquet --datatrove DATATROVE/bin/python

Gopher repetition, Gopher quality, C4 without the end mark rule, FineWeb quality and the PII formatter as one recipe, and
each filter alone on every document. The corpus is the first --megabytes of a column `text` (Parquet or JSON lines). Figures of
refinery are the processor time of a whole command, from start to exit, without that of the same command on no row; of datatrove,
which gets every --share-th row, of its blocks alone. Rates are bytes of text per second of processor time of the best run. Both
keep the same documents of that sample with the same texts, but for addresses, which datatrove replaces in rotation over all
documents. Writes results.json into --out. Exit 1 if they differ, or a command fails.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import yaml
from measure import Run, machine, measured, quiet_environment
from run import MB, ROOT, Failed, checked, say

PEER = ROOT / "bench" / "peers" / "datatrove_fineweb.py"
FILTERS: dict[str, dict[str, Any]] = {
    "gopher_repetition_filter": {},
    "gopher_quality_filter": {},
    "c4_quality_filter": {"filter_no_terminal_punct": False},
    "fineweb_quality_filter": {},
}
ADDRESS = re.compile(r"[\w.+-]+@[\w.-]+|\d+(?:\.\d+){3}")


def prepare(corpus: Path, folder: Path, size: int, every: int) -> tuple[int, int]:
    """Write the first `size` bytes of text, every so-manieth row of them, and no row; returns the sizes of the first two."""
    import duckdb  # the process that measures stays small

    taken = {"whole": 0, "sample": 0}
    with duckdb.connect() as connection, (folder / "whole.jsonl").open("wb") as whole:
        reader = "read_parquet" if corpus.suffix == ".parquet" else "read_json"
        rows = connection.execute(f"SELECT text FROM {reader}(?)", [str(corpus)])
        with (folder / "sample.jsonl").open("wb") as sample:
            for number, (text,) in enumerate(iter(rows.fetchone, None)):
                if taken["whole"] >= size:
                    break
                line = json.dumps({"text": text}, ensure_ascii=False).encode() + b"\n"
                for name, file in (("whole", whole), ("sample", sample)):
                    if name == "whole" or number % every == 0:
                        taken[name] += len(text.encode())
                        file.write(line)
    (folder / "none.jsonl").write_bytes(b'{"text": ""}\n')
    return taken["whole"], taken["sample"]


class Bench:
    """One session: its commands, its scratch folder and its results."""

    def __init__(self, arguments: argparse.Namespace, work: Path) -> None:
        self.arguments, self.work = arguments, work
        self.results: dict[str, Any] = {"machine": machine(), "measurements": []}

    def timed(self, name: str, command: Sequence[str], env: Mapping[str, str] | None = None) -> Run:
        say(f"{name}: {shlex.join(command)}")
        log = self.work / f"{name}.log"
        return checked(measured(command, log, cwd=ROOT, env=env, timeout=self.arguments.timeout), log, name)

    def refinery(self, name: str, source: str, steps: Sequence[Any]) -> Run:
        """The run with the least processor time of `repeats`; the kept texts are in `work`/name-out.jsonl."""
        recipe = {
            "project_name": name,
            "dataset_path": str(self.work / f"{source}.jsonl"),
            "export_path": str(self.work / f"{name}-out.jsonl"),
            "np": self.arguments.np,
            "work_dir": str(self.work / f"{name}-run"),
            "process": list(steps),
        }
        path = self.work / f"{name}.yaml"
        path.write_text(yaml.safe_dump(recipe, sort_keys=False), encoding="utf-8")
        command = [*shlex.split(self.arguments.refinery), "run", str(path), "--fresh", "--quiet"]
        runs = [self.timed(f"{name}-{attempt}", command) for attempt in range(self.arguments.repeats)]
        return min(runs, key=lambda run: run.cpu_seconds)

    def datatrove(self, steps: str) -> dict[str, Any]:
        """Report of the peer: processor seconds of its blocks over the sample, and how many documents they keep."""
        command = [
            self.arguments.datatrove,
            str(PEER),
            str(self.work / "sample.jsonl"),
            str(self.work / "theirs.jsonl"),
        ]
        self.timed("datatrove", [*command, "--steps", steps], quiet_environment(self.work))
        return json.loads((self.work / "datatrove.log").read_text("utf-8").strip().split("\n")[-1])

    def note(self, name: str, size: int, run: Run, idle: Run, peer: float | None) -> None:
        own = run.cpu_seconds - idle.cpu_seconds
        rate = size / MB / own
        ratio = f"{rate / peer:7.1f} times datatrove's {peer:.3f}" if peer else ""
        memory = run.tree_rss or run.largest_rss
        print(
            f"{name:26} {run.cpu_seconds:6.2f} s, {own:6.2f} s without the start {rate:7.1f} MB/s {memory / MB:6,.0f} MB {ratio}",
            flush=True,
        )
        entry = {"name": name, "text_bytes": size, "start": idle.cpu_seconds, "datatrove_rate": peer, **run.as_dict()}
        self.results["measurements"].append(entry)


def texts(path: Path) -> list[str]:
    """Kept texts, with addresses written alike."""
    lines = path.read_bytes().decode().split("\n")
    return [ADDRESS.sub("ADDRESS", json.loads(line)["text"]) for line in lines if line]


def bench(arguments: argparse.Namespace, work: Path) -> int:
    """Make the inputs, measure, compare; returns the exit code."""
    session = Bench(arguments, work)
    size, sample = prepare(arguments.corpus, work, int(arguments.megabytes * MB), arguments.share)
    steps = [{name: params} for name, params in FILTERS.items()]
    recipes = {"pipeline": [*steps, {"pii_mapper": {}}]} | {
        name: [step] for name, step in zip(FILTERS, steps, strict=True)
    }
    wrong = []
    for name, process in recipes.items():
        idle = session.refinery("none", "none", process)
        run = session.refinery("whole", "whole", process)
        peer = None
        if arguments.datatrove:
            peer = sample / MB / session.datatrove(name)["cpu_seconds"]
            session.refinery("ours", "sample", process)
            if texts(work / "ours-out.jsonl") != texts(work / "theirs.jsonl"):
                wrong.append(name)
        session.note(name, size, run, idle, peer)
    for name in wrong:
        print(f"{name}: other documents or texts than datatrove's")
    session.results["differences"] = wrong
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "results.json").write_text(json.dumps(session.results, indent=1), "utf-8")
    return 1 if wrong else 0


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--corpus", type=Path, required=True, help="Parquet or JSON lines with a column text")
    parser.add_argument("--megabytes", type=float, default=34, help="of text")
    parser.add_argument("--np", type=int, default=2, help="workers")
    parser.add_argument("--share", type=int, default=20, help="datatrove is given every so-manieth row")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--timeout", type=float, default=7200)
    parser.add_argument("--refinery", default=f"{sys.executable} -m refinery")
    parser.add_argument("--datatrove", metavar="PYTHON")
    parser.add_argument("--work", type=Path, help="scratch folder (default: a temporary one)")
    parser.add_argument("--out", type=Path, default=ROOT / "bench" / "results" / "fineweb")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.work) as work:
        try:
            sys.exit(bench(arguments, Path(work)))
        except Failed as error:
            sys.exit(f"{error}")


if __name__ == "__main__":
    main()
