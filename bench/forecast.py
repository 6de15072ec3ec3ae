"""Forecasts beside the runs that they are of: ten recipes over a corpus.

    python -m bench.forecast docs.jsonl --work bench/results/forecast
    python -m bench.forecast docs.parquet --only c4_like,minhash --rounds 3

Each recipe is forecast and then run, by commands of their own. Errors are those of the forecast, relative to the run: of the
rows that the last step keeps, and of the worst step; of wall time, which counts on an idle machine only; of processor time,
which other programs change less; of bytes on disk and memory. The cost is the processor time of the forecast relative to that of the run: of
the whole commands, and without the start that both have in common. Rounds: the least time of several runs counts.
"""

from __future__ import annotations

import argparse
import json
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from bench.markdown import table
from bench.measure import Run, measured

ROOT = Path(__file__).parents[1]
# Steps of recipes that need pages and addresses, which a corpus of documents lacks, and one that keeps prose alone: of manuals
# next to nothing stays, which no small sample shows.
LEFT_OUT = {"extract_html_mapper", "url_filter", "gopher_quality_filter"}
FILES = {
    "c4_like": "bench/c4_like.yaml",
    "minhash": "bench/minhash.yaml",
    "gopher": "recipes/gopher.yaml",
    "c4": "recipes/c4.yaml",
    "fineweb": "recipes/fineweb.yaml",
    "web_sample": "recipes/web_sample.yaml",
    "web_dedup": "recipes/web_dedup.yaml",
}
STEPS: dict[str, list[Any]] = {
    "exact": [{"document_deduplicator": {"lowercase": True}}, {"words_num_filter": {"min_num": 50}}],
    "keys": [{"text_length_filter": {"min_len": 100}}, {"key_deduplicator": {"key": "md5(left(text, 300))"}}],
    "sql": [{"whitespace_normalization_mapper": None}, {"sql_filter": {"where": "length(text) % 10 < 7"}}],
}
WITHIN = 0.10


@dataclass(frozen=True)
class Compared:
    """A forecast and its run."""

    name: str
    forecast: dict[str, Any]
    run: dict[str, Any]
    forecasting: Run
    running: Run
    start: float

    def error(self, figure: str) -> float:
        """Relative error of a figure of the forecast."""
        return getattr(self, f"_{figure}")()

    def _rows(self) -> float:
        return self.forecast["steps"][-1]["rows"]["value"] / max(1, self.run["steps"][-1]) - 1

    def _worst(self) -> float:
        found = [
            step["rows"]["value"] / max(1, rows) - 1
            for step, rows in zip(self.forecast["steps"], self.run["steps"], strict=True)
        ]
        return max(found, key=abs)

    def _seconds(self) -> float:
        return self.forecast["seconds"]["value"] / self.running.seconds - 1

    def _processor(self) -> float:
        return self.forecast["processor"] / self.running.cpu_seconds - 1

    def _disk(self) -> float:
        return self.forecast["disk"]["value"] / self.run["disk"] - 1

    def _memory(self) -> float:
        return self.forecast["memory"]["value"] / self.running.largest_rss - 1

    def covered(self) -> bool:
        """Return whether the rows that the last step keeps are within the bounds."""
        rows = self.forecast["steps"][-1]["rows"]
        return bool(rows["low"] <= self.run["steps"][-1] <= rows["high"])

    def cost(self) -> tuple[float, float]:
        """Processor time of the forecast relative to that of the run, of whole commands and without their start."""
        without = (max(0.0, run.cpu_seconds - self.start) for run in (self.forecasting, self.running))
        mine, its = without
        return self.forecasting.cpu_seconds / self.running.cpu_seconds, mine / max(its, 1e-9)


def recipe_of(name: str, corpus: Path, folder: Path) -> Path:
    """Write the recipe over the corpus."""
    content = yaml.safe_load((ROOT / FILES[name]).read_text()) if name in FILES else {"process": STEPS[name]}
    content["process"] = [step for step in content["process"] if not LEFT_OUT & set(step)]
    for step in content["process"]:
        for params in step.values():
            if isinstance(params, dict):  # the limits are those of a small crawl
                for limit in ("max_cluster_size", "max_removed_share"):
                    params.pop(limit, None)
    content |= {"dataset_path": str(corpus), "export_path": str(folder / "run" / "kept.jsonl"), "np": 2}
    content |= {"open_tracer": False}
    path = folder / "recipe.yaml"
    path.write_text(yaml.safe_dump(content, sort_keys=False))
    return path


def command(*arguments: str) -> list[str]:
    """A command of refinery."""
    return [sys.executable, "-m", "refinery", *arguments]


def least(arguments: list[str], log: Path, rounds: int) -> Run:
    """The run of a command with the least processor time."""
    found = [measured(arguments, log, cwd=ROOT) for _ in range(rounds)]
    if any(run.exit_code for run in found):
        raise SystemExit(f"{' '.join(arguments[2:])} failed:\n{log.read_text()[-2000:]}")
    return min(found, key=lambda run: run.cpu_seconds)


def compare(name: str, corpus: Path, work: Path, rounds: int) -> Compared:
    """Forecast a recipe, and run it."""
    import duckdb

    folder = work / name
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    recipe = recipe_of(name, corpus, folder)
    start = least(command("check", str(recipe)), folder / "check.log", rounds).cpu_seconds
    forecasting = least(command("forecast", str(recipe), "--json"), folder / "forecast.json", rounds)
    running = least(command("run", str(recipe), "--fresh", "--json"), folder / "run.json", rounds)
    with duckdb.connect(str(folder / "run" / "refinery.duckdb"), read_only=True) as con:
        rows = [row for (row,) in con.execute("SELECT rows_out FROM steps ORDER BY step").fetchall()]
    disk = sum(path.stat().st_size for path in (folder / "run").rglob("*") if path.is_file())
    forecast = _json(folder / "forecast.json")
    forecast["steps"].sort(key=lambda step: step["step"])
    return Compared(name, forecast, {"steps": rows, "disk": disk}, forecasting, running, start)


def _json(log: Path) -> dict[str, Any]:
    found = [line for line in log.read_text().splitlines() if re.match(r"\{.*\}$", line)]
    loaded: dict[str, Any] = json.loads(found[-1])
    return loaded


FIGURES = ("rows", "worst", "seconds", "processor", "disk", "memory")


def report(compared: list[Compared]) -> str:
    """The tables, as Markdown."""
    rows = []
    for one in compared:
        whole, further = one.cost()
        errors = [f"{100 * one.error(figure):+.1f} %" for figure in FIGURES]
        inside = "yes" if one.covered() else "no"
        seconds = f"{one.running.seconds:.1f} ({one.running.cpu_seconds:.1f})"
        rows.append(
            [
                one.name,
                f"{one.forecast['sampled']:,}",
                *errors,
                inside,
                seconds,
                f"{100 * whole:.1f} %",
                f"{100 * further:.1f} %",
            ]
        )
    names = ["recipe", "sampled", "rows kept", "worst step", "wall", "processor", "disk", "memory", "in bounds"]
    names += ["run, s (processor)", "cost", "without start"]
    within = [
        f"{figure}: {sum(abs(one.error(figure)) <= WITHIN for one in compared)} of {len(compared)}"
        for figure in FIGURES
    ]
    lines = "\n".join(table(names, rows))
    return f"{lines}\n\nwithin {100 * WITHIN:.0f} %: {', '.join(within)}\n"


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("corpus", type=Path, help="documents with a text, JSONL or Parquet")
    parser.add_argument("--work", type=Path, default=ROOT / "bench" / "results" / "forecast")
    parser.add_argument("--only", default="", help="names of recipes, with commas between them")
    parser.add_argument("--rounds", type=int, default=1, help="commands of each kind, of which the cheapest counts")
    arguments = parser.parse_args()
    names = [name for name in arguments.only.split(",") if name] or [*FILES, *STEPS]
    compared: list[Compared] = []
    for name in names:
        compared.append(compare(name, arguments.corpus.resolve(), arguments.work.resolve(), arguments.rounds))
        print(report(compared[-1:]).split("\n")[2], file=sys.stderr, flush=True)
    print(report(compared))
    return 0


if __name__ == "__main__":
    sys.exit(main())
