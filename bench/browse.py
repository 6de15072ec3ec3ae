"""Measure browsing in the page of a run: pages of rows, texts, one row's way, a search, the profile of the input.

    python bench/browse.py
    python bench/browse.py --rows 100000
    python bench/browse.py --run outputs/decided        # of a run that is there

Makes the texts of bench/decide.py and runs its recipe once. Every time is of whole requests with their JSON, without the
browser: seconds of a clock, and of the processor, which tell more on a busy machine. Exit 1 if a page of rows takes more
than a second of the processor.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from decide import RECIPE, make
from starlette.testclient import TestClient

import refinery
from refinery.explore.app import make_app
from refinery.explore.run import ExploredRun

TOKEN, LIMIT = "token", 1.0
PAGES: dict[str, dict[str, Any]] = {
    "first page": {},
    "a page in the middle": {"after": "[null, 500000]"},
    "removed, by reason": {"fate": "removed", "reason": "num_words below min_num"},
    "by a statistic": {"sort": "stat:num_words", "order": "down"},
    "by bytes": {"sort": "bytes"},
    "statistic within bounds": {"stat": "word_rep_ratio", "low": 0.1, "high": 0.2},
    "changed by a step": {"changed": 2},
}


class Measured:
    """Requests to the page of a run, with the seconds of each."""

    def __init__(self, client: TestClient) -> None:
        self.client = client

    def ask(self, path: str, **values: Any) -> tuple[Any, float, float]:
        """The answer of an endpoint, seconds of the clock, and of the processor."""
        clock, processor = time.perf_counter(), time.process_time()
        answer = self.client.get(f"/api/{path}", params=values)
        assert answer.status_code == 200, answer.text
        return answer.json(), time.perf_counter() - clock, time.process_time() - processor

    def until_done(self, path: str, **values: Any) -> tuple[Any, int, float, float]:
        """The last answer of an endpoint that works in pieces, the number of pieces, and the seconds of all."""
        pieces, clock, processor = 0, 0.0, 0.0
        while True:
            answer, more, used = self.ask(path, **values)
            pieces, clock, processor = pieces + 1, clock + more, processor + used
            if (answer.get("search") or answer)["done"]:
                return answer, pieces, clock, processor


def looked_at(folder: Path) -> bool:
    """Print the times of each question; return whether pages of rows are fast enough."""
    run, slowest = ExploredRun(folder), 0.0
    with TestClient(make_app(run, TOKEN), base_url="http://127.0.0.1") as client:
        client.get("/", params={"token": TOKEN})
        measured = Measured(client)
        for label, values in PAGES.items():
            answer, clock, processor = measured.ask("samples", **values)
            slowest = max(slowest, processor)
            print(f"{label}: {clock:.2f} s, processor {processor:.2f} s, {answer['total']:,} rows")
        rows = [row["row"] for row in measured.ask("samples", sort="stat:num_words", limit=10)[0]["rows"]]
        for label in ("texts of ten rows, the first ones", "texts of ten rows again"):
            _, clock, processor = measured.ask("samples/texts", rows=str(rows))
            print(f"{label}: {clock:.2f} s, processor {processor:.2f} s")
        _, clock, processor = measured.ask(f"samples/way/{rows[-1]}")
        print(f"the way of a row: {clock:.2f} s, processor {processor:.2f} s")
        found, pieces, clock, processor = measured.until_done("samples", q="what from", limit=50)
        print(f"search: {clock:.1f} s in {pieces} pieces, processor {processor:.1f} s, {found['search']}")
        found, pieces, clock, processor = measured.until_done("profile")
        print(f"profile: {clock:.1f} s in {pieces} pieces, processor {processor:.1f} s, {found['read']:,} rows")
    run.close()
    return slowest <= LIMIT


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--run", type=Path, help="folder of a finished run of the recipe of bench/decide.py")
    options = parser.parse_args()
    if options.run:
        return 0 if looked_at(options.run) else 1
    with tempfile.TemporaryDirectory() as scratch:
        work = Path(scratch)
        make(work / "texts.jsonl", options.rows)
        recipe = work / "recipe.yaml"
        recipe.write_text(RECIPE.format(data=work / "texts.jsonl", out=work / "run"), encoding="utf-8")
        refinery.run(recipe, export_type="none")
        return 0 if looked_at(work / "run") else 1


if __name__ == "__main__":
    sys.exit(main())
