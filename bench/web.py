"""Measure pages a second from WARC to filtered texts: `refinery run` with each extractor, and datatrove's pipeline.

    python bench/web.py --work bench/results/web
    python bench/web.py --work bench/results/web --pages folder/with/html --datatrove DATATROVE/bin/python
    python bench/web.py --work bench/results/web --corpus corpus.parquet --datatrove DATATROVE/bin/python

The archive has copies of the given pages (all .html and .htm files below a folder, or the responses of a .warc.gz; by default
the bundled sample), in each of which other words are altered, so that no two pages are alike. With --corpus the pages are of
the size of real ones, 50 to 150 kB: texts of a Parquet file, and every tenth a given page, in the frame of a site. Every
figure is a whole command from start to exit; all run in turn, --rounds times. The share of the extractor is its part of the
seconds of all steps. Writes results.json into --work. Exit 1 when a command fails.
"""

from __future__ import annotations

import argparse
import gzip
import json
import re
import shlex
import sys
import zlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import duckdb
import yaml
from make_archive import ARCHIVE, record, response
from measure import Run, machine, measured, quiet_environment
from run import ROOT, Failed, checked, say
from site_pages import pages as site_pages

PEER = ROOT / "bench" / "peers" / "datatrove_web.py"
TEXT = re.compile(r">([^<>]+)<")
WORD = re.compile(r"[a-z]{5,}")
FILTERS = [
    {"gopher_repetition_filter": {}},
    {"gopher_quality_filter": {}},
    {"c4_quality_filter": {"filter_no_terminal_punct": False}},
    {"fineweb_quality_filter": {}},
    {"pii_mapper": {}},
]
# Pages above this are left out: the sample has one of 600 kB for a rule on long texts.
LARGEST = 500_000


def originals(source: Path) -> list[str]:
    """The pages of a folder, or of an archive that make_archive.py has written or a crawl has left."""
    if source.is_dir():
        paths = sorted(path for path in source.rglob("*") if path.suffix in (".html", ".htm"))
        found = [path.read_bytes().decode("utf-8", "replace") for path in paths]
    else:
        from fastwarc.warc import ArchiveIterator, WarcRecordType

        with source.open("rb") as file:
            records = ArchiveIterator(file, record_types=WarcRecordType.response, parse_http=True)
            found = [one.reader.read().decode("utf-8", "replace") for one in records]
    kept = [page for page in found if 0 < len(page) <= LARGEST]
    if not kept:
        raise Failed(f"{source} has no pages")
    return kept


def altered(page: str, copy: int) -> str:
    """The page with every fifth of its longer words, others in each copy, made another word."""

    def other(match: re.Match[str]) -> str:
        word = match[0]
        return f"{word}{chr(97 + copy % 26)}" if zlib.crc32(word.encode()) % 5 == copy % 5 else word

    return TEXT.sub(lambda match: f">{WORD.sub(other, match[1])}<", page)


def copies(pages: list[str], count: int) -> Iterator[str]:
    for number in range(count):
        yield altered(pages[number % len(pages)], number // len(pages) + 1)


def write_archives(pages: Iterator[str], folder: Path, files: int) -> tuple[int, int]:
    """Write the pages to so many archives, since datatrove has one task for each; returns pages and bytes."""
    folder.mkdir(parents=True, exist_ok=True)
    number = size = 0
    outputs = [(folder / f"{number:03}.warc.gz").open("wb") for number in range(files)]
    for output in outputs:
        output.write(gzip.compress(record("warcinfo", 0, "application/warc-fields", b"format: WARC 1.0\r\n"), 6))
    for number, page in enumerate(pages, 1):
        body = page.encode("utf-8", "replace")
        size += len(body)
        outputs[number % files].write(gzip.compress(response(number, f"https://a{number}.example.org/", body), 6))
    for output in outputs:
        output.close()
    return number, size


def lines_in(folder: Path, pattern: str) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.glob(pattern))


class Bench:
    """One session: its arguments, the archives, and the results so far."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments, self.work = arguments, arguments.work.resolve()
        self.source = self.work / "pages"
        self.pages = 0
        self.results: dict[str, Any] = {}

    def prepare(self) -> None:
        given, count = originals(self.arguments.pages), self.arguments.count
        pages = site_pages(self.arguments.corpus, given) if self.arguments.corpus else copies(given, count)
        self.pages, size = write_archives(islice(pages, count), self.source, self.arguments.workers)
        self.results["corpus"] = {"pages": self.pages, "originals": len(given), "html_bytes": size}
        say(f"{self.pages:,} pages of {size / self.pages / 1000:.0f} kB")

    def refinery(self, by: str, round_: int) -> None:
        """Measure one run of the recipe with an extractor."""
        folder = self.work / f"refinery-{by}-{round_}"
        recipe = {
            "dataset_path": str(self.source),
            "export_path": str(folder / "kept.jsonl"),
            "work_dir": str(folder),
            "np": self.arguments.workers,
            "use_cache": False,
            "process": [{"extract_html_mapper": {"by": by, "timeout": self.arguments.timeout}}, *FILTERS],
        }
        path = self.work / f"refinery-{by}.yaml"
        path.write_text(yaml.safe_dump(recipe, sort_keys=False))
        log = self.work / f"refinery-{by}-{round_}.log"
        command = [sys.executable, "-m", "refinery", "run", str(path), "--quiet"]
        run = checked(measured(command, log, cwd=ROOT), log, f"refinery, {by}")
        with duckdb.connect(str(folder / "refinery.duckdb"), read_only=True) as con:
            spent = con.execute("SELECT step, seconds FROM steps ORDER BY step").fetchall()
            left = con.execute("SELECT count(*) FROM quarantine").fetchone()
        own = {step: seconds for step, seconds in spent if step and seconds}
        share = own.get(1, 0.0) / (sum(own.values()) or 1.0)
        more = {"extractor_share": share, "quarantined": left[0] if left else 0, "kept": lines_in(folder, "kept.jsonl")}
        self.add(f"refinery, {by}", run, more)

    def datatrove(self, round_: int) -> None:
        """Measure datatrove's pipeline, which extracts with trafilatura, once."""
        folder = self.work / f"datatrove-{round_}"
        folder.mkdir(parents=True, exist_ok=True)
        log = self.work / f"datatrove-{round_}.log"
        command = [*shlex.split(self.arguments.datatrove), str(PEER), str(self.source), str(folder)]
        command += ["--workers", str(self.arguments.workers), "--timeout", str(self.arguments.timeout)]
        run = checked(measured(command, log, cwd=folder, env=quiet_environment(folder)), log, "datatrove")
        told = json.loads(log.read_text().strip().split("\n")[-1])
        self.add("datatrove, trafilatura", run, {**told, "kept": lines_in(folder / "kept", "*.jsonl")})

    def add(self, name: str, run: Run, more: dict[str, Any]) -> None:
        rate = self.pages / run.seconds
        kept = {"pages_per_second": rate, "seconds": run.seconds, "cpu_seconds": run.cpu_seconds, **more}
        self.results.setdefault(name, []).append(kept)
        share = (
            f", {100 * more['extractor_share']:.0f} % of the steps' time in the extractor"
            if "extractor_share" in more
            else ""
        )
        say(
            f"{name}: {more['kept']:,} kept, {rate:,.0f} pages a second ({run.seconds:.1f} s, {run.cpu_seconds:.1f} s of processors{share})"
        )

    def run(self) -> None:
        self.prepare()
        for round_ in range(self.arguments.rounds):
            for by in self.arguments.by:
                self.refinery(by, round_)
            if self.arguments.datatrove:
                self.datatrove(round_)
        (self.work / "results.json").write_text(json.dumps({**machine(), **self.results}, indent=2, default=str))


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--work", type=Path, required=True, help="folder for archives, runs and results.json")
    parser.add_argument("--pages", type=Path, default=ARCHIVE, help="folder with .html files, or an archive")
    parser.add_argument(
        "--corpus", type=Path, help="Parquet file with a column text, for pages of the size of real ones"
    )
    parser.add_argument("--count", type=int, default=4000, help="pages of the corpus")
    parser.add_argument("--by", nargs="+", default=["resiliparse", "trafilatura"], help="extractors to measure")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=10.0, help="seconds for a page")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--datatrove", help="command of a Python that has datatrove")
    try:
        Bench(parser.parse_args()).run()
    except Failed as failure:
        print(failure, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
