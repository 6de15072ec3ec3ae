"""Measure deduplication end to end: `refinery run`, and its peers on the same files in the same session.

    python bench/copies.py documents.parquet corpus.jsonl
    python bench/dedup.py --corpus corpus.jsonl
    python bench/dedup.py --corpus corpus.jsonl --data-juicer path/to/dj-process --datatrove DATATROVE/bin/python \\
        --daft DAFT/bin/python --rensa RENSA/bin/python

Four tasks: MinHash (256 permutations, bench/minhash.yaml), SimHash, exact, line. MinHash runs on the whole corpus, as
JSONL and as Parquet; everything also runs on a sample of every tenth row (--share), on which slow peers are measured.
Every figure is a whole command, from start to exit; rates are bytes of the `text` field per second of the best run. A
peer that is not named, or whose script fails, is left out with one line. The kept rows are compared with Data-Juicer's.
Writes results.json (after each measurement) and results.md into --out. Exit 1 if a command failed or rows differ.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, TypeVar

import yaml
from measure import SAMPLE_SECONDS, Run, machine, measured, quiet_environment
from run import ALL_DONE, MB, PACKAGES, ROOT, Corpus, Failed, checked, package_version, read_corpus, say, show
from table import tables

T = TypeVar("T")
BENCH = ROOT / "bench"
FORMATS = ("jsonl", "parquet")
PEERS = ("data_juicer", "datatrove", "daft", "rensa")
RECIPES: dict[str, dict[str, Any]] = {
    "minhash": {"document_minhash_deduplicator": {}},  # the parameters of bench/minhash.yaml
    "simhash": {"document_simhash_deduplicator": {"window_size": 6, "num_blocks": 6, "hamming_distance": 4}},
    "exact": {"document_deduplicator": {}},
    "line": {"document_line_deduplicator": {"frequency_threshold": 6}},
}


@dataclass(frozen=True)
class Data:
    """One corpus in its formats."""

    name: str
    corpus: Corpus
    files: dict[str, Path]


class DiskWatch(threading.Thread):
    """Peak size of a folder in bytes, sampled as often as memory."""

    def __init__(self, folder: Path) -> None:
        super().__init__(daemon=True)
        self.folder = folder
        self.finished = threading.Event()
        self.peak = 0

    def run(self) -> None:
        while not self.finished.wait(SAMPLE_SECONDS):
            self.look()

    def look(self) -> None:
        self.peak = max(self.peak, folder_bytes(self.folder))

    def stop(self) -> int:
        self.finished.set()
        self.join()
        self.look()
        return self.peak


def folder_bytes(folder: Path) -> int:
    """Bytes of the blocks of all files below a folder; files that vanish meanwhile count as zero."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_blocks * 512
            except OSError:
                continue
    return total


def helper(script: str, *words: object) -> None:
    """Run one of our own scripts in a separate process, so that this process stays small."""
    subprocess.run([sys.executable, str(BENCH / script), *map(str, words)], check=True)


def kept_rows(export: Path) -> int:
    """Rows of an export: a file, or a folder of them."""
    files = [path for path in export.rglob("*") if path.is_file()] if export.is_dir() else [export]
    if any(path.suffix == ".parquet" for path in files):
        import pyarrow.parquet as pq

        return sum(pq.ParquetFile(path).metadata.num_rows for path in files if path.suffix == ".parquet")
    total = 0
    for path in files:
        with path.open("rb") as lines:
            total += sum(1 for _ in lines)
    return total


class Bench:
    """One session: arguments, a scratch folder, and the results so far."""

    def __init__(self, arguments: argparse.Namespace, work: Path) -> None:
        self.arguments = arguments
        self.work = work
        self.results: dict[str, Any] = {
            "date": datetime.now(UTC).isoformat(timespec="seconds"),
            "note": arguments.note,
            "machine": machine() | {"packages": {name: package_version(name) for name in PACKAGES}},
            "workers": arguments.np,
            "share": arguments.share,
            "corpora": {},
            "measurements": [],
            "signatures": [],
            "comparisons": [],
            "skipped": [],
            "failures": [],
        }

    def save(self) -> None:
        out: Path = self.arguments.out
        out.mkdir(parents=True, exist_ok=True)
        (out / "results.json").write_text(json.dumps(self.results, indent=2) + "\n", encoding="utf-8")

    def skip(self, line: str) -> None:
        say(f"skipped: {line}")
        self.results["skipped"].append(line)

    def guarded(self, work: Callable[..., T], *arguments: object, **keywords: object) -> T | None:
        """Do the work; a failure is noted, returns None, and does not end the session."""
        try:
            return work(*arguments, **keywords)
        except (Failed, subprocess.CalledProcessError) as error:
            say(str(error))
            self.results["failures"].append(str(error))
            return None
        finally:
            self.save()

    # -- inputs ------------------------------------------------------------------------------------------------------

    def data(self, name: str, path: Path, *, formats: Sequence[str]) -> Data:
        """Count the rows of a corpus and convert it to the other format."""
        say(f"reading the corpus: {name}")
        folder = self.work / "input" / name
        folder.mkdir(parents=True, exist_ok=True)
        corpus = read_corpus(path, folder)
        files = {"jsonl": path}
        if "parquet" in formats:
            files["parquet"] = folder / f"{name}.parquet"
            helper("parts.py", "parquet", path, files["parquet"])
        self.results["corpora"][name] = {
            "rows": corpus.rows,
            "file_bytes": corpus.file_bytes,
            "text_bytes": corpus.text_bytes,
            "parquet_bytes": files["parquet"].stat().st_size if "parquet" in files else None,
        }
        return Data(name, corpus, files)

    def recipe(self, folder: Path, task: str, changes: Mapping[str, Any], **keys: object) -> Path:
        (operator, own), *_ = RECIPES[task].items()
        loaded = yaml.safe_load((BENCH / "minhash.yaml").read_text(encoding="utf-8"))
        params = loaded["process"][0][operator] if task == "minhash" else own
        recipe = loaded | {
            "project_name": task,
            "np": self.arguments.np,
            "process": [{operator: {**params, **changes}}],
        }
        path = folder / f"{task}.yaml"
        path.write_text(yaml.safe_dump(recipe | keys, sort_keys=False), encoding="utf-8")
        return path

    # -- measuring ---------------------------------------------------------------------------------------------------

    def timed(self, command: list[str], folder: Path, what: str, env: dict[str, str] | None = None) -> tuple[Run, int]:
        """Measure a whole command, and the peak size of its folder on disk."""
        say(what)
        log, disk = folder / "log", DiskWatch(folder)
        disk.start()
        try:
            run = measured(command, log, cwd=ROOT, env=env, timeout=self.arguments.timeout)
        finally:
            peak = disk.stop()
        return checked(run, log, what), peak

    def fresh(self, *words: str) -> Path:
        folder = self.work / "-".join(words)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        return folder

    def add(self, tool: str, task: str, form: str, data: Data, runs: list[tuple[Run, int]], **more: object) -> None:
        best = min((run for run, _ in runs), key=lambda run: run.seconds)
        self.results["measurements"].append(
            {
                "tool": tool,
                "task": task,
                "format": form,
                "corpus": data.name,
                "best_seconds": best.seconds,
                "median_seconds": statistics.median(run.seconds for run, _ in runs),
                "cpu_seconds": best.cpu_seconds,
                "text_mb_per_second": data.corpus.text_bytes / MB / best.seconds,
                "largest_rss": max(run.largest_rss for run, _ in runs),
                "tree_rss": max((run.tree_rss or 0) for run, _ in runs) or None,
                "disk_bytes": max(disk for _, disk in runs),
                "runs": [run.as_dict() for run, _ in runs],
                **more,
            }
        )

    def refinery(self, task: str, form: str, data: Data, **changes: object) -> Path:
        """Measure whole runs, each with a fresh run folder; returns the export of the last."""
        name = f"{task} {changes}" if changes else task
        runs: list[tuple[Run, int]] = []
        repeats = self.arguments.repeats
        for attempt in range(repeats):
            folder = self.fresh("refinery", task, *map(str, changes.values()), form, data.name)
            export = folder / "export" / f"kept.{form}"
            recipe = self.recipe(folder, task, changes)
            command = [
                *shlex.split(self.arguments.refinery),
                "run",
                str(recipe),
                "--dataset_path",
                str(data.files[form]),
            ]
            command += ["--export_path", str(export), "--work_dir", str(folder / "run")]
            runs.append(
                self.timed(command, folder, f"refinery: {name}, {form}, {data.name}, {attempt + 1} of {repeats}")
            )
        self.add("refinery", task, form, data, runs, kept_rows=kept_rows(export), params=changes)
        return export

    def data_juicer(self, task: str, form: str, data: Data) -> Path:
        """Measure dj-process, offline and without its caches; the time of the operator alone is read from its log."""
        runs: list[tuple[Run, int]] = []
        for _ in range(self.arguments.peer_repeats):
            folder = self.fresh("data-juicer", task, form, data.name)
            export = folder / "export" / f"kept.{form}"
            recipe = self.recipe(
                folder, task, {}, dataset_path=str(data.files[form]), export_path=str(export), use_cache=False
            )
            command = [*shlex.split(self.arguments.data_juicer), "--config", str(recipe)]
            what = f"Data-Juicer: {task}, {form}, {data.name}"
            runs.append(self.timed(command, folder, what, quiet_environment(folder)))
        found = ALL_DONE.search((folder / "log").read_text(errors="replace"))
        processing = float(found.group(1)) if found else None
        self.add("data_juicer", task, form, data, runs, kept_rows=kept_rows(export), processing_seconds=processing)
        return export

    def datatrove(self, form: str, data: Data) -> None:
        """Measure datatrove's four stages; the processor time of its workers cannot be measured from outside."""
        source = self.work / "input" / data.name / f"split-{form}"
        helper("parts.py", "split", data.files[form], source, "--files", self.arguments.np)
        runs: list[tuple[Run, int]] = []
        for _ in range(self.arguments.peer_repeats):
            folder = self.fresh("datatrove", form, data.name)
            command = [*shlex.split(self.arguments.datatrove), str(BENCH / "peers" / "datatrove_minhash.py")]
            command += [str(source), str(folder), "--format", form, "--workers", str(self.arguments.np)]
            what = f"datatrove: minhash, {form}, {data.name}"
            runs.append(self.timed(command, folder, what, quiet_environment(folder)))
        said = last_line(folder / "log")
        more = {"version": said["version"], "stages": said["stages"], "cpu_seconds": None}
        self.add("datatrove", "minhash", form, data, runs, kept_rows=kept_rows(folder / "kept"), **more)

    def signatures(self, tool: str, python: str, data: Data) -> None:
        """Measure a script of bench/peers that computes only signatures."""
        folder = self.fresh("signatures", tool)
        command = [*shlex.split(python), str(BENCH / "peers" / f"signatures_{tool}.py"), str(data.files["jsonl"])]
        env = None if tool == "refinery" else quiet_environment(folder)
        self.timed(command, folder, f"signatures: {tool}", env)
        self.results["signatures"].append({"tool": tool, "corpus": data.name, **last_line(folder / "log")})

    def compare(self, task: str, data: Data, ours: Path, theirs: Path) -> None:
        say(f"comparing the kept rows: {task}, {data.name}")
        done = subprocess.run(
            [sys.executable, str(BENCH / "compare.py"), str(ours), str(theirs)], capture_output=True, text=True
        )
        if not done.stdout:
            raise Failed(f"comparing {task} on {data.name} failed:\n{done.stderr[-2000:]}")
        self.results["comparisons"].append({"task": task, "corpus": data.name, **json.loads(done.stdout)})


def last_line(log: Path) -> dict[str, Any]:
    return json.loads(log.read_text(errors="replace").strip().rpartition("\n")[2])


def measure_start(bench: Bench, whole: Data) -> None:
    """Measure start-up on 1,000 rows. Our first run also compiles kernels that are not cached yet."""
    small = Data("small", read_corpus(whole.corpus.small, bench.fresh("input", "small")), {"jsonl": whole.corpus.small})
    for task in bench.arguments.tasks:
        bench.guarded(bench.refinery, task, "jsonl", small)
    if "minhash" in bench.arguments.tasks:
        bench.guarded(bench.refinery, "minhash", "jsonl", small, hash="fast")
    if bench.arguments.data_juicer:
        bench.guarded(bench.data_juicer, "minhash", "jsonl", small)


def measure_task(bench: Bench, task: str, data: Data, *, peers: bool) -> None:
    """Measure refinery and Data-Juicer on one corpus as JSONL, and compare the kept rows. MinHash as Parquet too."""
    ours = bench.guarded(bench.refinery, task, "jsonl", data)
    parquet = task == "minhash" and "parquet" in bench.arguments.formats
    if task == "minhash":
        bench.guarded(bench.refinery, task, "jsonl", data, hash="fast")
    if parquet:
        bench.guarded(bench.refinery, task, "parquet", data)
    if not (peers and bench.arguments.data_juicer):
        return
    theirs = bench.guarded(bench.data_juicer, task, "jsonl", data)
    if ours and theirs:
        bench.guarded(bench.compare, task, data, ours, theirs)
    if parquet:
        bench.guarded(bench.data_juicer, task, "parquet", data)


def measure_growth(bench: Bench, whole: Data) -> None:
    """Measure MinHash on multiples of the data, as JSONL."""
    times = bench.arguments.times
    larger = bench.work / "input" / f"times{times}.jsonl"
    say(f"making {times} times the corpus")
    helper("copies.py", whole.files["jsonl"], larger, "--times", times, "--seed", 2040, "--force")
    data = bench.data(f"times{times}", larger, formats=["jsonl"])
    bench.guarded(bench.refinery, "minhash", "jsonl", data)
    larger.unlink()


def measure_signatures(bench: Bench, data: Data) -> None:
    pythons = {"refinery": sys.executable, "daft": bench.arguments.daft, "rensa": bench.arguments.rensa}
    for tool, python in pythons.items():
        if python:
            bench.guarded(bench.signatures, tool, python, data)


def measure(bench: Bench) -> None:
    arguments = bench.arguments
    for name in PEERS:
        command = getattr(arguments, name)
        if not command or not shutil.which(shlex.split(command)[0]):
            bench.skip(f"{name}: {f'there is no {command}' if command else 'not named'} (--{name.replace('_', '-')})")
            setattr(arguments, name, None)
    whole = part = bench.data("whole", arguments.corpus.resolve(), formats=arguments.formats)
    if arguments.share > 1:
        path = bench.fresh("input", "part") / "part.jsonl"
        helper("parts.py", "sample", whole.files["jsonl"], path, "--every", arguments.share)
        part = bench.data("part", path, formats=arguments.formats)
    measure_start(bench, whole)
    for task in arguments.tasks:
        on_whole = task == "minhash" or part is whole
        measure_task(bench, task, whole, peers=on_whole)
        if part is not whole:
            measure_task(bench, task, part, peers=not on_whole)
    if "minhash" in arguments.tasks:
        if arguments.times > 1:
            bench.guarded(measure_growth, bench, whole)
        measure_signatures(bench, part)
        if arguments.datatrove:
            for form in arguments.formats:
                bench.guarded(bench.datatrove, form, part)


def words(choices: Sequence[str]) -> Callable[[str], list[str]]:
    """Parser of an argument that lists some of the choices, separated by commas."""

    def parsed(text: str) -> list[str]:
        found = [word.strip() for word in text.split(",") if word.strip()]
        if wrong := [word for word in found if word not in choices]:
            raise argparse.ArgumentTypeError(f"{', '.join(wrong)}: not among {', '.join(choices)}")
        return found

    return parsed


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    made.add_argument("--corpus", type=Path, required=True, help="JSON lines (see bench/copies.py, bench/corpus.py)")
    made.add_argument("--out", type=Path, default=BENCH / "results" / "dedup", help="folder of the results")
    made.add_argument("--refinery", metavar="COMMAND", default=f"{shlex.quote(sys.executable)} -m refinery")
    made.add_argument("--data-juicer", metavar="COMMAND", help="its dj-process; words before it are kept (env ...)")
    made.add_argument("--datatrove", metavar="PYTHON", help="a python that has datatrove and spaCy")
    made.add_argument("--daft", metavar="PYTHON", help="a python that has Daft")
    made.add_argument("--rensa", metavar="PYTHON", help="a python that has rensa")
    made.add_argument("--tasks", type=words(tuple(RECIPES)), default=list(RECIPES), help="default: all of them")
    made.add_argument("--formats", type=words(FORMATS), default=list(FORMATS), help="default: jsonl,parquet")
    made.add_argument("--share", type=int, default=10, help="the sample is each Nth row (default: 10; 1: all rows)")
    made.add_argument("--times", type=int, default=5, help="how often the larger corpus holds it (default: 5; 1: none)")
    made.add_argument("--np", type=int, default=2, help="workers of everybody (default: 2)")
    made.add_argument("--repeats", type=int, default=3, help="runs of refinery (default: 3)")
    made.add_argument("--peer-repeats", type=int, default=1, help="runs of each peer (default: 1)")
    made.add_argument("--work", type=Path, help="scratch folder, kept afterwards (default: a temporary one)")
    made.add_argument("--timeout", type=float, default=7200, help="seconds after which a command is ended")
    made.add_argument("--note", default="", help="a remark about the session, put into the table")
    return made


def run_all(arguments: argparse.Namespace, work: Path) -> int:
    bench = Bench(arguments, work)
    bench.guarded(measure, bench)
    report = tables(bench.results)
    (arguments.out / "results.md").write_text(report, encoding="utf-8")
    show(report)
    differ = [one for one in bench.results["comparisons"] if not one["equal"]]
    return 1 if bench.results["failures"] or differ else 0


def main() -> int:
    arguments = parser().parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    if arguments.work:
        arguments.work.mkdir(parents=True, exist_ok=True)
        return run_all(arguments, arguments.work.resolve())
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        return run_all(arguments, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
