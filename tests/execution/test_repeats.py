"""Exports in which samples are repeated."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refinery
from refinery.errors import RecipeError
from refinery.inspect.refilter.refilter import refilter
from tests.examples import ALL
from tests.runs import exported, lines_of, refine, rows, settings, write_lines
from tests.sampling import sampled

STEPS: list[Any] = [{"text_length_filter": {"min_len": 2}}, {"sql_mapper": {"text": "upper(text)"}}]
SAMPLES: list[dict[str, Any]] = [
    {"id": k, "text": f"{'ab' * (k % 4)}{k if k % 4 else ''}", "times": 1 + k % 3, "select": {"x.y": k % 2 + 1}}
    for k in range(40)
]
KEPT = [sample | {"text": sample["text"].upper()} for sample in SAMPLES if len(sample["text"]) > 1]
REPEATED = [sample for sample in KEPT for _ in range(sample["times"])]


def test_copies_follow_one_another_and_tables_have_one_row(tmp_path: Path) -> None:
    run = refine(tmp_path, SAMPLES, STEPS, repeat_by="times", removed_path=tmp_path / "removed.jsonl")
    assert exported(run) == REPEATED
    assert run.counts.kept == len(KEPT) and run.counts.removed == len(SAMPLES) - len(KEPT)
    assert [sample["id"] for sample in lines_of(tmp_path / "removed.jsonl")] == [0, 4, 8, 12, 16, 20, 24, 28, 32, 36]
    assert len(rows(run, "stats")) == len(SAMPLES)
    assert len(run.to_arrow()) == len(refinery.open(run.work_dir).to_arrow()) == len(REPEATED)
    assert f"repeat_by: 30 kept samples are written as {len(REPEATED)}" in run.warnings
    assert rows(run, "runs", "rows_kept") == [(30,)]


# Kinds of exports and inputs.
FORMS = [
    *(("jsonl", "jsonl"), ("jsonl", "parquet")),
    *(("jsonl.gz", "parquet"), ("jsonl.gz", "jsonl")),
    *(("json", "jsonl"), ("json", "parquet")),
    *(("parquet", "parquet"), ("parquet", "jsonl")),
]


@pytest.mark.parametrize(("kind", "carrier"), sampled(FORMS, 2))
def test_every_format_repeats(tmp_path: Path, kind: str, carrier: str) -> None:
    write_lines(tmp_path / "in.jsonl", SAMPLES)
    pq.write_table(pa.Table.from_pylist(SAMPLES), tmp_path / "in.parquet")
    keys = {"dataset_path": tmp_path / f"in.{carrier}", "export_path": tmp_path / f"kept.{kind}"}
    run = refinery.run(settings(tmp_path, STEPS, repeat_by="times", **keys))
    assert run.to_arrow().to_pylist() == REPEATED


def test_the_same_for_any_shards_and_workers_after_a_deduplicator(tmp_path: Path) -> None:
    steps = [*STEPS, {"document_deduplicator": {}}]
    twins = [*SAMPLES, *(sample | {"id": sample["id"] + 100} for sample in SAMPLES)]
    variants: dict[str, dict[str, Any]] = {"a": {}, "b": {"shard_size": 200, "np": 2}}
    for name, keys in (variants | ({"c": {"workers": "processes"}} if ALL else {})).items():
        run = refine(tmp_path / name, twins, steps, repeat_by='"select"."x.y" + text_len // 100', **keys)
        assert exported(run) == [sample for sample in KEPT for _ in range(sample["select"]["x.y"])], name


def test_partitions_have_the_copies(tmp_path: Path) -> None:
    keys: dict[str, Any] = {"export_path": tmp_path / "kept", "partition_by": "times", "np": 2, "shard_size": 300}
    refine(tmp_path, SAMPLES, STEPS, repeat_by="times", **keys)
    found = {int(path.parent.name[-1]): lines_of(path) for path in (tmp_path / "kept").rglob("*.jsonl")}
    assert found == {k: [sample for sample in REPEATED if sample["times"] == k] for k in (1, 2, 3)}


def test_other_repeats_reuse_no_result(tmp_path: Path) -> None:
    for by, count in (("times", len(REPEATED)), ("2", 60), (None, 30), ("times", len(REPEATED))):
        assert len(exported(refine(tmp_path, SAMPLES, STEPS, repeat_by=by))) == count


def test_shares_of_buckets_repeat(tmp_path: Path) -> None:
    samples = [{"id": k, "text": f"text {k}", "b": "xyz"[k % 3]} for k in range(300)]
    steps = [{"sample_by_bucket": {"bucket": "b", "shares": {"x": 2.5, "y": 0.5}, "others": 2}}]
    run = refine(tmp_path, samples, steps, repeat_by="bucket_repeats")
    counts = Counter((sample["b"], sample["id"]) for sample in exported(run))
    assert {bucket: {n for (b, _), n in counts.items() if b == bucket} for bucket in "xyz"} == {
        "x": {2, 3},
        "y": {1},
        "z": {2},
    }
    assert dict(rows(run, "stats", "_row, bucket_repeats", "bucket_repeats > 0")) == {
        row: n for (_, row), n in counts.items()
    }
    assert run.counts.removed == 300 - len(counts)


def test_shares_above_one_need_the_key(tmp_path: Path) -> None:
    steps = [{"sample_by_bucket": {"bucket": "id", "shares": [0.5], "others": 1.5}}]
    with pytest.raises(RecipeError, match="Add repeat_by: bucket_repeats"):
        refine(tmp_path, SAMPLES, steps)
    assert refine(tmp_path, SAMPLES, steps, export_type="none").counts.kept > 0


def test_a_script_is_refused(tmp_path: Path) -> None:
    write_lines(tmp_path / "in.jsonl", SAMPLES)
    with pytest.raises(RecipeError, match="repeat_by cannot be followed by a script"):
        refinery.compile(settings(tmp_path, STEPS, repeat_by="times"))


@pytest.mark.parametrize("steps", [[], STEPS[1:], [{"document_deduplicator": {}}]])
def test_values_that_are_no_number_of_times_go_to_quarantine(tmp_path: Path, steps: list[Any]) -> None:
    values = [1, 0, -1, 1.5, None, "two", "2", 10_001, 2.0, True]
    samples = [{"id": k, "text": f"text {k}", "n": value} for k, value in enumerate(values)]
    run = refine(tmp_path, samples, steps, repeat_by="n")
    assert [sample["id"] for sample in exported(run)] == [0, 6, 6, 8, 8, 9]
    errors = rows(run, "quarantine", "_row, error")
    assert [row for row, _ in errors] == [1, 2, 3, 4, 5, 7]
    assert errors[0][1] == "repeat_by is 0, not a whole number from 1 to 10000" and "NULL" in errors[3][1]


@pytest.mark.parametrize(
    ("by", "message"),
    [("tmies", "repeat_by.*'tmies'.*Did you mean 'times'"), ("times +", "repeat_by"), ("f(times)", "repeat_by")],
)
def test_wrong_expressions_are_errors_of_the_recipe(tmp_path: Path, by: str, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        refine(tmp_path, SAMPLES, STEPS, repeat_by=by)


def test_a_refilter_with_an_export_is_refused(tmp_path: Path) -> None:
    run = refine(tmp_path, SAMPLES, STEPS, repeat_by="times")
    with pytest.raises(RecipeError, match="repeat_by: refilter writes each kept sample once"):
        refilter(run.work_dir, ["process.1.min_len=6"])
    again = refilter(run.work_dir, ["process.1.min_len=6"], writes=False)
    assert again.outcome.counts.kept < run.counts.kept


def test_long_samples_are_copied_in_pieces(tmp_path: Path) -> None:
    samples = [{"text": "a" * (1 << 20), "n": 40}, {"text": "b", "n": 1}]
    run = refine(tmp_path, samples, [], repeat_by="n")
    assert [len(sample["text"]) for sample in exported(run)] == [1 << 20] * 40 + [1]
