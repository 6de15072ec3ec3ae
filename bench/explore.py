"""Measure the page of a run: bounds that are dragged over a million samples.

    python bench/explore.py
    python bench/explore.py --rows 100000
    python bench/explore.py --run outputs/decided        # of a run that is there, for another look

Makes the texts of bench/decide.py, runs its recipe once as it is and once with measure_only, and asks the page's
application for what a drag asks for: the figures of 40 values of a filter's bound, one after another. Every time is of a
whole request with its JSON, without the browser. "load" is the first request for a filter, which reads its numbers into
memory. Exit 1 if the slowest request for figures takes longer than 0.2 s, or figures are not those of `refinery tune`.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from decide import RECIPE, make
from starlette.testclient import TestClient

import refinery
from refinery.explore.app import make_app
from refinery.explore.run import ExploredRun
from refinery.inspect.finished_run import FinishedRun
from refinery.inspect.tune import tune

TOKEN, LIMIT = "token", 0.2
# Filters of the recipe: step, parameter, values to drag over.
DRAGS = ((3, "min_len", range(0, 200, 5)), (7, "min_num", range(0, 40)), (8, "max_ratio", [k / 40 for k in range(40)]))


def asked(client: TestClient, path: str, **values: Any) -> tuple[Any, float]:
    """The answer of a request, and its seconds."""
    clock = time.perf_counter()
    answer = client.get(f"/api/bounds/{path}", params=values)
    seconds = time.perf_counter() - clock
    assert answer.status_code == 200, answer.text
    return answer.json(), seconds


def dragged(client: TestClient, folder: Path, step: int, name: str, values: Sequence[float]) -> bool:
    """Print the times of one filter; return whether they are short enough and the figures right."""
    _, load = asked(client, "filter", step=step)
    answers = [asked(client, "trial", step=step, values=json.dumps({name: value})) for value in values]
    seconds = [one for _, one in answers]
    _, near = asked(client, "samples", step=step, parameter=name, values=json.dumps({name: values[5]}))
    with FinishedRun.open(folder) as stored:
        tuning = tune(stored, str(step), [f"{name}={','.join(map(str, values))}"])
    trials = {trial.params[name]: trial for trial in tuning.trials}
    same = all(
        (answer["alone"]["rows"], answer["together"]["rows"], answer["unsure"]["rows"])
        == (trials[value].alone.rows, trials[value].together.rows, trials[value].unsure.rows)
        for value, (answer, _) in zip(values, answers, strict=True)
    )
    print(
        f"step {step} {name}: load {load:.2f} s, figures median {statistics.median(seconds) * 1000:.0f} ms, "
        f"slowest {max(seconds) * 1000:.0f} ms, samples {near:.2f} s, {'as tune' if same else 'NOT AS TUNE'}"
    )
    return same and max(seconds) <= LIMIT


def looked_at(folder: Path) -> bool:
    run = ExploredRun(folder)
    with TestClient(make_app(run, TOKEN), base_url="http://127.0.0.1") as client:
        client.get("/", params={"token": TOKEN})
        good = [dragged(client, folder, *drag) for drag in DRAGS]
    run.close()
    return all(good)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--run", type=Path, help="folder of a finished run of the recipe of bench/decide.py")
    parser.add_argument("--keep", type=Path, help="folder in which the runs are left")
    options = parser.parse_args()
    if options.run:
        return 0 if looked_at(options.run) else 1
    good = []
    with tempfile.TemporaryDirectory() as scratch:
        work = options.keep or Path(scratch)
        work.mkdir(parents=True, exist_ok=True)
        make(work / "texts.jsonl", options.rows)
        for name, changes in (("removing", {}), ("measuring", {"measure_only": True})):
            recipe = work / f"{name}.yaml"
            recipe.write_text(RECIPE.format(data=work / "texts.jsonl", out=work / name), encoding="utf-8")
            refinery.run(recipe, export_type="none", **changes)
            print(f"{name}: {options.rows:,} rows")
            good.append(looked_at(work / name))
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
