"""Measure `refinery run` end to end, and Data-Juicer on the same file in the same session.

    python bench/corpus.py corpus.jsonl
    python bench/run.py --corpus corpus.jsonl
    python bench/run.py --corpus corpus.jsonl --data-juicer path/to/dj-process
    python bench/run.py --corpus corpus.jsonl --data-juicer "env PYTHONPATH=extra path/to/dj-process"
    python bench/run.py --corpus corpus.jsonl --recipe hub.yaml --peer "other=other-tool {recipe} {data} {export}"

Any recipe is measured with this corpus in place of its own data; keys that name a cluster, credentials, tracing or
monitoring are left out, for all alike. Models and word lists are those that `refinery assets` finds.

Every figure is a whole command, from start to exit: reading, processing, writing. The start-up time is that of the
same recipe on the first 1,000 rows. Rates are bytes of the `text` field, or of the file, per second of the best run.
Writes results.json and results.md into --out. Exit 1 if a command failed or rows differ.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import statistics
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import yaml
from compare import compare
from measure import Run, machine, measured, quiet_environment

ROOT = Path(__file__).resolve().parent.parent
MB = 1_000_000
SMALL_ROWS = 1_000
# Keys of a recipe that do not belong to what is measured.
LEFT_OUT = (
    "dataset", "dataset_path", "executor_type", "ray_address", "export_aws_credentials", "work_dir", "open_tracer",
    "open_monitor",
)  # fmt: skip
PACKAGES = ("duckdb", "numba", "numpy", "pyarrow", "ftfy")
DONE = re.compile(r"\[\d+/\d+\] OP \[(?P<op>\w+)\] Done in (?P<seconds>[\d.]+)s\. Left (?P<left>\d+) samples")
ALL_DONE = re.compile(r"All OPs are done in ([\d.]+)s")


class Failed(Exception):
    """A measured command failed."""


@dataclass
class Corpus:
    path: Path
    small: Path
    rows: int
    file_bytes: int
    text_bytes: int


def read_corpus(path: Path, work: Path) -> Corpus:
    """Count rows and bytes, and copy the first rows into another file. Warms the page cache for all measurements."""
    rows = text_bytes = 0
    small = work / "small.jsonl"
    with path.open("rb") as lines, small.open("wb") as head:
        for line in lines:
            rows += 1
            if rows <= SMALL_ROWS:
                head.write(line)
            try:
                text = json.loads(line)["text"]
            except (ValueError, KeyError, TypeError):
                continue  # a broken line is a row of the input, but has no text
            text_bytes += len(text.encode("utf-8", "surrogatepass")) if isinstance(text, str) else 0
    return Corpus(path, small, rows, path.stat().st_size, text_bytes)


def checked(run: Run, log: Path, what: str) -> Run:
    if run.exit_code:
        tail = log.read_text(errors="replace")[-2000:]
        raise Failed(f"{what} ended with exit code {run.exit_code}:\n{tail}")
    return run


def summary(runs: Sequence[Run], corpus: Corpus) -> dict[str, Any]:
    best = min(runs, key=lambda run: run.seconds)
    return {
        "best_seconds": best.seconds,
        "median_seconds": statistics.median(run.seconds for run in runs),
        "cpu_seconds": best.cpu_seconds,
        "largest_rss": max(run.largest_rss for run in runs),
        "tree_rss": max((run.tree_rss or 0) for run in runs) or None,
        "text_mb_per_second": corpus.text_bytes / MB / best.seconds,
        "file_mb_per_second": corpus.file_bytes / MB / best.seconds,
        "runs": [run.as_dict() for run in runs],
    }


class Bench:
    """One session: a corpus, a recipe, a scratch folder."""

    def __init__(self, arguments: argparse.Namespace, corpus: Corpus, work: Path) -> None:
        self.arguments = arguments
        self.corpus = corpus
        self.work = work
        self.recipe: dict[str, Any] = yaml.safe_load(arguments.recipe.read_text(encoding="utf-8"))
        self.recipe = {key: value for key, value in self.recipe.items() if key not in LEFT_OUT} | {"np": arguments.np}

    def write_recipe(self, name: str, **changes: object) -> Path:
        path = self.work / f"{name}.yaml"
        path.write_text(yaml.safe_dump({**self.recipe, **changes}, sort_keys=False), encoding="utf-8")
        return path

    def export_of(self, name: str) -> Path:
        return self.work / name / "export" / "kept.jsonl"

    def refinery(self, name: str, data: Path, *, repeats: int, **changes: object) -> list[Run]:
        """Measure whole runs of the recipe with some keys changed, each with a fresh run folder: nothing is resumed."""
        recipe, runs = self.write_recipe(name, **changes), []
        for attempt in range(repeats):
            command = [*shlex.split(self.arguments.refinery), "run", str(recipe), "--fresh"]
            command += ["--dataset_path", str(data), "--export_path", str(self.export_of(name))]
            command += ["--work_dir", str(self.work / name / f"run{attempt}")]
            log = self.work / f"{name}.log"
            say(f"{name}: run {attempt + 1} of {repeats}")
            runs.append(checked(measured(command, log, cwd=ROOT, timeout=self.arguments.timeout), log, name))
        return runs

    def data_juicer(self, name: str, data: Path) -> tuple[Run, dict[str, Any]]:
        """Measure one run of dj-process, offline and without its caches; its figures per operator come from the log."""
        export, log = self.export_of(name), self.work / f"{name}.log"
        recipe = self.write_recipe(name, dataset_path=str(data), export_path=str(export), use_cache=False)
        command = [*shlex.split(self.arguments.data_juicer), "--config", str(recipe)]
        say(f"{name}: {data.name}")
        run = measured(command, log, cwd=self.work, env=quiet_environment(self.work), timeout=self.arguments.timeout)
        checked(run, log, name)
        text = log.read_text(errors="replace")
        steps = [
            {"op": found["op"], "seconds": float(found["seconds"]), "rows": int(found["left"])}
            for found in DONE.finditer(text)
        ]
        total = ALL_DONE.search(text)
        return run, {"steps": steps, "processing_seconds": float(total.group(1)) if total else None}

    def peer(self, name: str, command: str) -> Run:
        """Measure one run of any other tool. command: with {recipe}, {data}, {export} and {work} for paths."""
        export, log = self.export_of(name), self.work / f"{name}.log"
        export.parent.mkdir(parents=True, exist_ok=True)
        data = str(self.corpus.path)
        recipe = self.write_recipe(name, dataset_path=data, export_path=str(export), use_cache=False)
        places = {"recipe": recipe, "data": data, "export": export, "work": self.work / name}
        words = [word.format_map(places) for word in shlex.split(command)]
        say(f"{name}: {self.corpus.path.name}")
        run = measured(words, log, cwd=self.work, env=quiet_environment(self.work), timeout=self.arguments.timeout)
        return checked(run, log, name)


def measure_refinery(bench: Bench, results: dict[str, Any]) -> None:
    corpus, repeats = bench.corpus, bench.arguments.repeats
    small = bench.refinery("refinery-small", corpus.small, repeats=max(2, repeats))
    runs = bench.refinery("refinery", corpus.path, repeats=repeats)
    results["refinery"] = summary(runs, corpus) | {
        "first_start_seconds": small[0].seconds,
        "start_seconds": min(run.seconds for run in small),
    }


def measure_tracing(bench: Bench, results: dict[str, Any]) -> None:
    """Measure the same run with ten traced samples per operator, and with all samples traced."""
    results["tracing"] = {}
    for name, count in (("trace-10", 10), ("trace-all", bench.corpus.rows)):
        runs = bench.refinery(
            name, bench.corpus.path, repeats=bench.arguments.repeats, open_tracer=True, trace_num=count
        )
        results["tracing"][name] = summary(runs, bench.corpus)


def measure_data_juicer(bench: Bench, results: dict[str, Any]) -> None:
    start, _ = bench.data_juicer("data-juicer-small", bench.corpus.small)
    runs = [bench.data_juicer("data-juicer", bench.corpus.path) for _ in range(bench.arguments.data_juicer_repeats)]
    figures = summary([run for run, _ in runs], bench.corpus)
    results["data_juicer"] = figures | runs[-1][1] | {"start_seconds": start.seconds}
    say("comparing the kept rows")
    compared = compare(bench.export_of("refinery"), bench.export_of("data-juicer"))
    results["comparison"] = compared.as_dict()


def measure_peers(bench: Bench, results: dict[str, Any]) -> None:
    """Measure other tools, and compare the rows that they keep where they write JSON lines."""
    results["peers"] = {}
    for given in bench.arguments.peer:
        name, _, command = given.partition("=")
        figures = summary([bench.peer(name, command)], bench.corpus)
        export = bench.export_of(name)
        if export.is_file():
            figures["comparison"] = compare(bench.export_of("refinery"), export).as_dict()
        results["peers"][name] = figures


def markdown(results: dict[str, Any]) -> str:
    corpus, host = results["corpus"], results["machine"]
    lines = [
        f"# {results['recipe']} on {corpus['text_bytes'] / MB:,.0f} MB of text",
        "",
        f"{corpus['rows']:,} rows, file {corpus['file_bytes'] / MB:,.0f} MB; {host['cores']} cores ({host['cpu']}, "
        f"{host['memory_gib']} GiB, load before {host['load_before']}), Python {host['python']}; "
        f"{results['date'][:10]}.",
        "",
        "| command | best s | median s | CPU s | text MB/s | file MB/s | start-up s | largest process MB | all MB |",
        "|---|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    measurements = {"refinery": results.get("refinery"), **results.get("tracing", {})}
    measurements["Data-Juicer"] = results.get("data_juicer")
    measurements |= results.get("peers", {})
    lines += [table_row(name, figures) for name, figures in measurements.items() if figures]
    if "comparison" in results:
        lines += ["", *verdict(results)]
    for name, figures in results.get("peers", {}).items():
        times = figures["best_seconds"] / results["refinery"]["best_seconds"]
        lines += ["", f"{times:.1f} times as fast as {name}; {same_rows(figures.get('comparison'))}"]
    return "\n".join(lines) + "\n"


def table_row(name: str, figures: dict[str, Any]) -> str:
    start = figures.get("start_seconds")
    cells = [
        name,
        f"{figures['best_seconds']:.2f}",
        f"{figures['median_seconds']:.2f}",
        f"{figures['cpu_seconds']:.1f}",
        f"{figures['text_mb_per_second']:.1f}",
        f"{figures['file_mb_per_second']:.1f}",
        f"{start:.2f}" if start else "",
        f"{figures['largest_rss'] / MB:,.0f}",
        f"{figures['tree_rss'] / MB:,.0f}" if figures["tree_rss"] else "",
    ]
    return f"| {' | '.join(cells)} |"


def verdict(results: dict[str, Any]) -> list[str]:
    compared, ours, theirs = results["comparison"], results["refinery"], results["data_juicer"]
    wall, cpu = (theirs[key] / ours[key] for key in ("median_seconds", "cpu_seconds"))
    lines = [
        f"Whole command, medians: {wall:.1f} times as fast as Data-Juicer; its processor time is {cpu:.1f} times ours."
    ]
    if compared["equal"]:
        lines.append(f"Both keep the same {compared['our_rows']:,} rows with the same texts.")
    else:
        lines.append(
            f"The kept rows DIFFER: {compared['our_rows']:,} against {compared['their_rows']:,}; "
            f"{compared['only_ours']} only here, {compared['only_theirs']} only there, "
            f"{compared['other_text']} with another text."
        )
    return lines


def same_rows(compared: dict[str, Any] | None) -> str:
    """Numbers about the rows that another tool keeps."""
    if compared is None:
        return "it wrote no export to compare."
    if compared["equal"]:
        return f"both keep the same {compared['our_rows']:,} rows with the same texts."
    return f"the kept rows DIFFER: {compared['our_rows']:,} against {compared['their_rows']:,}."


def say(message: str) -> None:
    print(message, file=sys.stderr, flush=True)


def show(text: str) -> None:
    """Print the report, formatted if rich is installed and the output is a terminal."""
    try:
        from rich.console import Console
        from rich.markdown import Markdown
    except ImportError:
        print(text)
        return
    console = Console()
    console.print(Markdown(text) if console.is_terminal else text, markup=False, highlight=False, soft_wrap=True)


def package_version(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def parser() -> argparse.ArgumentParser:
    made = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    made.add_argument("--corpus", type=Path, required=True, help="JSON lines (see bench/corpus.py)")
    made.add_argument("--recipe", type=Path, default=ROOT / "bench" / "c4_like.yaml")
    made.add_argument("--out", type=Path, default=ROOT / "bench" / "results", help="folder of the results")
    made.add_argument("--data-juicer", metavar="COMMAND", help="its dj-process; words before it are kept (env ...)")
    made.add_argument("--peer", metavar="NAME=COMMAND", action="append", default=[], help="another tool; repeatable")
    made.add_argument("--refinery", metavar="COMMAND", default=f"{shlex.quote(sys.executable)} -m refinery")
    made.add_argument("--np", type=int, default=2, help="worker processes of both (default: 2)")
    made.add_argument("--repeats", type=int, default=3, help="runs of refinery (default: 3)")
    made.add_argument("--data-juicer-repeats", type=int, default=1, help="runs of Data-Juicer (default: 1)")
    made.add_argument("--no-tracing", action="store_true", help="do not measure what tracing costs")
    made.add_argument("--work", type=Path, help="scratch folder, kept afterwards (default: a temporary one)")
    made.add_argument("--timeout", type=float, default=7200, help="seconds after which a command is ended")
    return made


def run_all(arguments: argparse.Namespace, work: Path) -> int:
    say("reading the corpus")
    corpus = read_corpus(arguments.corpus.resolve(), work)
    bench = Bench(arguments, corpus, work)
    results: dict[str, Any] = {
        "recipe": arguments.recipe.stem,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": machine() | {"packages": {name: package_version(name) for name in PACKAGES}},
        "corpus": {"rows": corpus.rows, "file_bytes": corpus.file_bytes, "text_bytes": corpus.text_bytes},
    }
    failure = None
    try:
        measure_refinery(bench, results)
        if not arguments.no_tracing:
            measure_tracing(bench, results)
        if arguments.data_juicer:
            measure_data_juicer(bench, results)
        measure_peers(bench, results)
    except Failed as error:
        failure = results["failure"] = str(error)
    arguments.out.mkdir(parents=True, exist_ok=True)
    (arguments.out / "results.json").write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")
    report = markdown(results)
    (arguments.out / "results.md").write_text(report, encoding="utf-8")
    show(report)
    if failure:
        say(failure)
    return 1 if failure or not results.get("comparison", {"equal": True})["equal"] else 0


def main() -> int:
    arguments = parser().parse_args()
    if arguments.work:
        arguments.work.mkdir(parents=True, exist_ok=True)
        return run_all(arguments, arguments.work.resolve())
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        return run_all(arguments, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
