"""Write the tables of bench/dedup.py's results.json as Markdown.

    python bench/table.py bench/results/dedup/results.json
    python bench/table.py bench/results/dedup/results.json --into docs/performance.md

With --into only the part of the page between the two marks is replaced.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

MB = 1_000_000
BEGIN, END = "<!-- deduplication: written by bench/table.py -->", "<!-- deduplication: end -->"
NAMES = {
    "refinery": "refinery",
    "data_juicer": "Data-Juicer",
    "datatrove": "datatrove",
    "daft": "Daft",
    "rensa": "rensa",
}
TASKS = {"minhash": "MinHash", "simhash": "SimHash", "exact": "exact", "line": "line"}
FORMATS = {"jsonl": "JSONL", "parquet": "Parquet"}

# Speed goals, as a multiple of a peer's speed: (peer, task, format).
AIMS: dict[tuple[str, str, str], float] = {
    ("data_juicer", "minhash", "jsonl"): 20,
    ("data_juicer", "minhash", "parquet"): 25,
    ("datatrove", "minhash", "jsonl"): 80,
    ("datatrove", "minhash", "parquet"): 100,
    ("data_juicer", "simhash", "jsonl"): 20,
    ("data_juicer", "exact", "jsonl"): 12,
    ("data_juicer", "line", "jsonl"): 12,
}
SIGNATURE_AIMS = {"daft": 2, "rensa": 3}
GROWTH_AIM = 5.3

# Data-Juicer's guide to distributed processing: MinHash on Ray, minutes by cores and gigabytes.
PUBLISHED: dict[int, dict[int, float]] = {
    640: {200: 11.13, 1000: 50.83, 5000: 285.43},
    1280: {200: 7.47, 1000: 30.08, 5000: 168.10},
}
PUBLISHED_GROWTH = "4.02 to 5.62"
PUBLISHED_HALVING = "58.9 to 67.1 %"


def row(*cells: object) -> str:
    return f"| {' | '.join(str(cell) for cell in cells)} |"


def head(*names: str) -> list[str]:
    """A header line; names that end in `:` are those of columns of numbers."""
    return [
        row(*(name.rstrip(":") for name in names)),
        row(*("---:" if name.endswith(":") else "---" for name in names)),
    ]


def megabytes(size: float | None) -> str:
    return f"{size / MB:,.0f}" if size else ""


def seconds(value: float | None) -> str:
    return "" if value is None else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def rate(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


class Results:
    """Look-ups in a results.json."""

    def __init__(self, loaded: dict[str, Any]) -> None:
        self.all = loaded
        self.measurements: list[dict[str, Any]] = loaded["measurements"]

    def find(self, **wanted: object) -> dict[str, Any] | None:
        return next((one for one in self.measurements if all(one.get(k) == v for k, v in wanted.items())), None)

    def ours(self, task: str, form: str, corpus: str) -> dict[str, Any] | None:
        return self.find(tool="refinery", task=task, format=form, corpus=corpus, params={})

    def text_mb(self, corpus: str) -> float:
        return self.all["corpora"][corpus]["text_bytes"] / MB

    def largest(self, task: str, form: str) -> dict[str, Any] | None:
        """Refinery's result on the whole corpus, where start-up weighs least."""
        return self.ours(task, form, "whole")


def introduction(results: Results) -> Iterator[str]:
    host, corpora, share = (results.all[key] for key in ("machine", "corpora", "share"))
    sizes = ", ".join(
        f"{name} {one['text_bytes'] / MB:,.0f} MB of text ({one['rows']:,} rows, JSONL {one['file_bytes'] / MB:,.0f} MB)"
        for name, one in corpora.items()
    )
    yield (
        f"{results.all['date'][:10]}: {host['cores']} cores ({host['cpu']}, {host['memory_gib']} GiB), load before the session "
        f"{host['load_before']}; {results.all['workers']} workers each. {results.all['note']}".rstrip()
    )
    yield ""
    yield f"Data: {sizes}." + (f' "part" is one row in {share} of "whole".' if "part" in corpora else "")


def commands(results: Results) -> Iterator[str]:
    """Rows of every measured command except start-up."""
    shown = [one for one in results.measurements if one["corpus"] in results.all["corpora"]]
    if not shown:
        return
    yield from head(
        "task", "data", "command", "best s:", "median s:", "text MB/s:", "memory MB:", "disk MB:", "rows kept:"
    )
    order = [*results.all["corpora"]]
    for one in sorted(shown, key=lambda one: (list(TASKS).index(one["task"]), order.index(one["corpus"]))):
        kind = ", `hash: fast`" if one.get("params") else ""
        memory = max(one["largest_rss"], one["tree_rss"] or 0)
        yield row(
            f"{TASKS[one['task']]}, {FORMATS[one['format']]}",
            one["corpus"],
            NAMES[one["tool"]] + kind,
            seconds(one["best_seconds"]),
            seconds(one["median_seconds"]),
            rate(one["text_mb_per_second"]),
            megabytes(memory),
            megabytes(one["disk_bytes"]),
            f"{one['kept_rows']:,}",
        )
    started = (("refinery", "refinery"), ("data_juicer", "Data-Juicer"))
    found = {name: results.find(tool=tool, task="minhash", corpus="small") for tool, name in started}
    start = ", ".join(f"{name} {seconds(one['best_seconds'])} s" for name, one in found.items() if one)
    yield ""
    yield (
        "Memory is the most that all processes of a command held at one moment, disk the most that its folder held, "
        "output and caches included." + (f" Start-up (1,000 rows, MinHash): {start}." if start else "")
    )


def ratios(results: Results) -> Iterator[str]:
    """Ratios per peer on the same file: of whole commands, and of our whole command to the peer's without start-up."""
    peers = [one for one in results.measurements if one["tool"] != "refinery" and one["corpus"] != "small"]
    if not peers:
        return
    yield from head(
        "peer, task",
        "data",
        "peer s:",
        "ours s:",
        "times as fast:",
        "peer's work alone s, MB/s:",
        "ours on the whole MB/s:",
        "rates:",
        "aim:",
    )
    for one in peers:
        key = (one["tool"], one["task"], one["format"])
        ours, whole = (
            results.ours(one["task"], one["format"], one["corpus"]),
            results.largest(one["task"], one["format"]),
        )
        alone = one.get("processing_seconds") or sum(one.get("stages", {}).values()) or one["best_seconds"]
        alone_rate = results.text_mb(one["corpus"]) / alone
        yield row(
            f"{NAMES[one['tool']]}, {TASKS[one['task']]}, {FORMATS[one['format']]}",
            f"{one['corpus']}, {results.text_mb(one['corpus']):,.0f} MB",
            seconds(one["best_seconds"]),
            seconds(ours["best_seconds"]) if ours else "",
            f"{one['best_seconds'] / ours['best_seconds']:.1f}" if ours else "",
            f"{seconds(alone)}, {rate(alone_rate)}",
            rate(whole["text_mb_per_second"]) if whole else "",
            f"{whole['text_mb_per_second'] / alone_rate:.1f}" if whole else "",
            f"{AIMS[key]:.0f}" if key in AIMS else "",
        )
    yield ""
    yield (
        '"Times as fast" are best whole commands on the same file, start-up of both included. "Rates" set our whole command '
        "on the whole corpus, start-up included, against the peer's work without its start-up and export (Data-Juicer: "
        "its own log; datatrove: its four stages): the stricter comparison."
    )


def signatures(results: Results) -> Iterator[str]:
    found: list[dict[str, Any]] = results.all["signatures"]
    own = next((one for one in found if one["tool"] == "refinery"), None)
    if not own:
        return
    yield from head(
        "signatures alone, 1 thread", "MB/s, wall:", "MB/s, processor time:", "ours / theirs (processor):", "aim:"
    )
    for name, tool, text_bytes, figures, aim in signature_lines(found):
        share = own["text_bytes"] / own["cpu_seconds"] / (text_bytes / figures["cpu_seconds"])
        walls, cpus = (text_bytes / MB / figures[key] for key in ("seconds", "cpu_seconds"))
        yield row(name, rate(walls), rate(cpus), "" if tool == "refinery" else f"{share:.1f}", aim)
    yield ""
    yield (
        f"{own['text_bytes'] / MB:,.0f} MB of text in memory, 256 hashes, shingles of 5 words, best of three on one core. Ours and "
        "Daft's go from text to signature, ours to the band keys too; rensa hashes sets that are made in Python first."
    )


def signature_lines(found: list[dict[str, Any]]) -> Iterator[tuple[str, str, int, dict[str, float], object]]:
    for one in found:
        name, aim = f"{NAMES[one['tool']]} {one['version']}", SIGNATURE_AIMS.get(one["tool"], "")
        if with_shingles := one.get("with_shingles"):
            yield f"{name}, from text", one["tool"], one["text_bytes"], with_shingles, aim
            name, aim = f"{name}, shingles given", ""
        yield name, one["tool"], one["text_bytes"], one, aim


def scale(results: Results) -> Iterator[str]:
    """Growth with the data, and rates per core beside published rates."""
    workers, whole = results.all["workers"], results.largest("minhash", "jsonl")
    larger = next((name for name in results.all["corpora"] if name.startswith("times")), None)
    grown = results.ours("minhash", "jsonl", larger) if larger else None
    yield from head("MinHash", "cores:", "data GB:", "time:", "MB/s per core:")
    for one in (whole, grown):
        if one:
            size, took = results.text_mb(one["corpus"]), one["best_seconds"]
            yield row("refinery, JSONL", workers, f"{size / 1000:.2f}", f"{took:.1f} s", rate(size / took / workers))
    if peer := results.find(tool="data_juicer", task="minhash", format="jsonl", corpus="whole"):
        size, took = results.text_mb("whole"), peer["best_seconds"]
        yield row("Data-Juicer, JSONL", workers, f"{size / 1000:.2f}", f"{took:.0f} s", rate(size / took / workers))
    for cores, times in PUBLISHED.items():
        for gigabytes, minutes in times.items():
            per_core = gigabytes * 1000 / (minutes * 60) / cores
            yield row(
                "Data-Juicer on Ray, as published", f"{cores:,}", f"{gigabytes:,}", f"{minutes} min", rate(per_core)
            )
    yield ""
    if whole and grown and larger:
        factor, more = (
            grown["best_seconds"] / whole["best_seconds"],
            results.text_mb(larger) / results.text_mb("whole"),
        )
        yield (
            f"{more:.2f} times the data took {factor:.2f} times the time (aim: at most {GROWTH_AIM} for 5 times; published "
            f"for Ray: {PUBLISHED_GROWTH})."
        )
    yield (
        f"The published times are from Data-Juicer's guide to distributed processing, the rates per core computed from "
        f"them; twice the cores took {PUBLISHED_HALVING} of the time there. They are of other machines, data and sizes."
    )


def equality(results: Results) -> Iterator[str]:
    for one in results.all["comparisons"]:
        what = f"{TASKS[one['task']]} on {one['corpus']}"
        if one["equal"]:
            yield f"- {what}: the same {one['our_rows']:,} rows with the same texts as Data-Juicer."
        else:
            yield (
                f"- {what}: rows DIFFER from Data-Juicer's, {one['our_rows']:,} against {one['their_rows']:,}; "
                f"{one['only_ours']} only here, {one['only_theirs']} only there, {one['other_text']} with another text."
            )
    yield from (f"- Not measured: {line}" for line in results.all["skipped"])
    yield from (f"- FAILED: {line.splitlines()[0]}" for line in results.all["failures"])


def tables(loaded: dict[str, Any]) -> str:
    """All tables of a results.json; those without figures are left out."""
    results = Results(loaded)
    parts: Iterable[Iterator[str]] = (
        introduction(results),
        ratios(results),
        commands(results),
        signatures(results),
        scale(results),
        equality(results),
    )
    texts = ["\n".join(part) for part in parts]
    return "\n\n".join(text for text in texts if text) + "\n"


def put_into(page: Path, text: str) -> None:
    found = page.read_text(encoding="utf-8")
    marked = re.compile(re.escape(BEGIN) + ".*?" + re.escape(END), re.DOTALL)
    if not marked.search(found):
        raise SystemExit(f"{page}: the marks are missing: {BEGIN} and {END}")
    page.write_text(marked.sub(lambda _: f"{BEGIN}\n\n{text}\n{END}", found), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--into", type=Path, metavar="PAGE", help="replace the marked part of this page")
    arguments = parser.parse_args()
    text = tables(json.loads(arguments.results.read_text(encoding="utf-8")))
    if arguments.into:
        put_into(arguments.into, text)
    else:
        print(text, end="")
    return 0


if __name__ == "__main__":
    sys.exit(main())
