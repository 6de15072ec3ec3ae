"""`refinery buckets`: cut points of equal weight, and a later run that samples by them."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from refinery.cli.main import cli
from refinery.common.lazy import duckdb
from refinery.compiler.templates import template
from refinery.errors import RecipeError, RefineryError
from refinery.operators.folders import read_sql
from tests.examples import share_of
from tests.runs import refine, rows

SAMPLES = [{"text": f"{number} " + "x" * (number % 37), "n": number % 11} for number in range(400)]
SCORE: dict[str, Any] = {"score": "length(text)", "weight": "bytes", "buckets": 4, "name": "size"}


def command(*arguments: Any) -> Any:
    return CliRunner().invoke(cli, ["buckets", *map(str, arguments)])


def fault(*arguments: Any) -> str:
    """The message of the error that ends the command."""
    done = command(*arguments)
    assert isinstance(done.exception, RefineryError), done.output
    return str(done.exception)


def cuts_by_meaning(weights: dict[float, int], buckets: int) -> list[float]:
    """The least score up to which the samples have k / buckets of all weight, for each k."""
    total, cuts = sum(weights.values()), []
    for k in range(1, buckets):
        upto = {score: sum(w for other, w in weights.items() if other <= score) for score in weights}
        cuts.append(min(score for score, w in upto.items() if Fraction(w, total) >= Fraction(k, buckets)))
    return cuts


@settings(max_examples=share_of(100), deadline=None)
@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 9)), min_size=1, max_size=30).filter(
        lambda found: any(weight for _, weight in found)
    ),
    st.integers(2, 9),
)
def test_cut_points_by_meaning(samples: list[tuple[int, int]], buckets: int) -> None:
    weights: dict[float, int] = {}
    for score, weight in samples:
        weights[score / 2] = weights.get(score / 2, 0) + weight
    with duckdb.connect() as con:
        con.execute("CREATE TABLE stats (s DOUBLE, w DOUBLE)")
        con.executemany("INSERT INTO stats VALUES (?, ?)", [(score / 2, weight) for score, weight in samples])
        con.execute("INSERT INTO stats VALUES (NULL, 5), ('nan', 7)")
        query = template(read_sql("analysis/cut_points.sql")).render(score="s", weight="w", buckets=buckets)
        cuts, count, total, *_ = con.execute(query).fetchall()[0]
    assert cuts == cuts_by_meaning(weights, buckets)
    assert (count, total) == (len(samples), sum(weights.values()))


def test_later_run_samples_by_stored_cut_points(tmp_path: Path) -> None:
    first = refine(tmp_path / "first", SAMPLES, [{"score_buckets": SCORE}])
    done = command(first.work_dir, "--json")
    assert done.exit_code == 0, done.output
    [found] = json.loads(done.output)
    file = first.work_dir / "size.cuts.json"
    assert json.loads(file.read_text())["cut_points"] == found["cut_points"] and found["samples"] == 400
    by_bucket = {"sample_by_bucket": {"bucket": "size", "shares": [0, 0.5, 1, 1]}}
    steps = [{"score_buckets": {**SCORE, "cut_points": str(file)}}, by_bucket]
    second = refine(tmp_path / "second", SAMPLES, steps)
    counts = rows(
        second, "stats", "size, sum(size_weight), count(*), count(*) FILTER (kept)", "size IS NOT NULL GROUP BY 1"
    )
    weights, kept = {b: w for b, w, *_ in counts}, {b: (n, k) for b, _, n, k in counts}
    most = max(len(sample["text"]) for sample in SAMPLES) * 40
    assert sorted(weights) == [1, 2, 3, 4] and max(weights.values()) - min(weights.values()) < most
    assert kept[1][1] == 0 and kept[3][0] == kept[3][1] and 0.3 < kept[2][1] / kept[2][0] < 0.7
    assert second.counts.kept + second.counts.removed == 400
    # The same samples in any order and in other shards.
    other = refine(tmp_path / "other", SAMPLES[::-1], steps, shard_size=1000)
    both = [sorted(run.sql(f"SELECT text FROM '{run.outputs[0]}'").fetchall()) for run in (second, other)]
    assert both[0] == both[1]


def test_errors(tmp_path: Path) -> None:
    run = refine(tmp_path / "run", SAMPLES, [{"score_buckets": SCORE}])
    assert "no score_buckets with the name 'sise'" in fault(run.work_dir, "sise")
    taken = tmp_path / "notes.txt"
    taken.write_text("mine")
    assert "stays as it is" in fault(run.work_dir, "-o", taken) and taken.read_text() == "mine"
    other = refine(tmp_path / "other", SAMPLES, [{"text_length_filter": {}}])
    assert "has no step score_buckets" in fault(other.work_dir)
    nothing = refine(tmp_path / "nothing", SAMPLES, [{"score_buckets": {**SCORE, "score": "NULL"}}])
    assert "no sample of the run has a score" in fault(nothing.work_dir)
    with pytest.raises(RecipeError, match="no column or statistic 'size'"):
        refine(
            tmp_path / "early",
            SAMPLES,
            [{"score_buckets": SCORE}, {"sample_by_bucket": {"bucket": "size", "shares": [1]}}],
        )
