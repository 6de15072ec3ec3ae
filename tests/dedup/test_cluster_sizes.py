"""`save_cluster_size`: the number of samples of a cluster in a field of the sample that stays."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

import refinery
from refinery.errors import RecipeError
from refinery.inspect.refilter.refilter import refilter
from tests.runs import exported, refine, rows, settings, write_lines

WORDS = ["one", "one", "two", "one", "three", "two", "four", "one"]
ROWS = [{"text": f"{word} and six more words stand here", "n": n} for n, word in enumerate(WORDS)]
SIZES = {"one": 4, "two": 2, "three": 1, "four": 1}


def sizes(samples: list[dict[str, Any]], field: str = "cluster_size") -> dict[str, int]:
    return {sample["text"].split()[0]: sample[field] for sample in samples}


@pytest.mark.parametrize("name", ["document_deduplicator", "document_minhash_deduplicator"])
def test_the_size_is_a_field_of_the_sample_that_stays(tmp_path: Path, name: str) -> None:
    """Also where samples are in several shards, the last one of a cluster stays, and a later step reads the field."""
    step = {name: {"save_cluster_size": True, "keep": "n desc"}}
    steps = [step, {"sql_filter": {"where": "cluster_size <> 1 OR n = 6"}}]
    run = refine(tmp_path, ROWS, steps, shard_size=130, np=2)
    assert sizes(exported(run)) == {"one": 4, "two": 2, "four": 1}
    assert [sample["n"] for sample in exported(run)] == [5, 6, 7]
    assert rows(run, "runs", "rows_read, rows_kept, rows_removed, rows_quarantined") == [(8, 3, 5, 0)]


def test_samples_may_be_repeated_by_it_in_parquet(tmp_path: Path) -> None:
    recipe = settings(tmp_path, [{"document_deduplicator": {"save_cluster_size": "minhash_cluster_size"}}])
    recipe |= {"export_path": str(tmp_path / "run" / "out.parquet"), "repeat_by": "least(minhash_cluster_size, 3)"}
    refinery.run(recipe, dataset=ROWS)
    table = pq.read_table(tmp_path / "run" / "out.parquet")
    assert str(table.schema.field("minhash_cluster_size").type) == "int64"
    assert sizes(table.to_pylist(), "minhash_cluster_size") == SIZES and table.num_rows == 3 + 2 + 1 + 1


def test_a_parquet_input_gets_the_column(tmp_path: Path) -> None:
    import pyarrow as pa

    pq.write_table(pa.Table.from_pylist(ROWS), tmp_path / "in.parquet")
    steps = [{"document_deduplicator": {"save_cluster_size": True}}]
    run = refinery.run(settings(tmp_path, steps, dataset_path=str(tmp_path / "in.parquet")))
    assert sizes(exported(run)) == SIZES


def test_a_later_deduplicator_counts_what_the_earlier_one_has_left(tmp_path: Path) -> None:
    steps = [
        {"document_deduplicator": {"save_cluster_size": "copies"}},
        {"key_deduplicator": {"key": "length(text)", "save_cluster_size": "of_length", "keep": "copies desc"}},
    ]
    run = refine(tmp_path, ROWS, steps)
    assert [(sample["n"], sample["copies"], sample["of_length"]) for sample in exported(run)] == [
        (0, 4, 2),  # one, two
        (4, 1, 1),
        (6, 1, 1),
    ]


def test_sizes_follow_when_a_stored_result_is_used_again(tmp_path: Path) -> None:
    """A sample more changes a size, but neither the removed samples nor the text of the shard that has the size."""
    source, step = tmp_path / "in.jsonl", {"document_deduplicator": {"save_cluster_size": True}}
    recipe = settings(tmp_path, [step], dataset_path=[str(source), str(tmp_path / "more.jsonl")])
    write_lines(source, ROWS)
    write_lines(tmp_path / "more.jsonl", ROWS[6:7])
    assert sizes(exported(refinery.run(recipe)))["four"] == 2
    write_lines(tmp_path / "more.jsonl", [*ROWS[6:7], *ROWS[6:7]])
    assert sizes(exported(refinery.run(recipe)))["four"] == 3
    assert sizes(exported(refinery.run(recipe)))["four"] == 3


def test_refilter_brings_the_sizes_along(tmp_path: Path) -> None:
    steps = [{"document_deduplicator": {"save_cluster_size": True}}, {"text_length_filter": {"min_len": 34}}]
    write_lines(tmp_path / "in.jsonl", ROWS)
    run = refinery.run(settings(tmp_path, steps, dataset_path=str(tmp_path / "in.jsonl")))
    assert sizes(exported(run)) == {"three": 1, "four": 1}
    again = refilter(run.work_dir, ["process.2.min_len=1"], work_dir=str(tmp_path / "again"))
    lines = [json.loads(line) for path in again.outcome.outputs for line in path.read_text().splitlines()]
    assert sizes(lines) == SIZES


@pytest.mark.parametrize(
    ("value", "said"),
    [(5, "save_cluster_size is 5; set it to true"), ("", "to the name of a field"), ("text", "name another")],
)
def test_other_values_are_mistakes_of_the_recipe(tmp_path: Path, value: Any, said: str) -> None:
    with pytest.raises(RecipeError, match=said):
        refine(tmp_path, ROWS, [{"document_deduplicator": {"save_cluster_size": value}}])


def test_false_saves_nothing(tmp_path: Path) -> None:
    run = refine(tmp_path, ROWS, [{"document_deduplicator": {"save_cluster_size": False}}])
    assert all(set(sample) == {"text", "n"} for sample in exported(run))


def test_a_sample_that_is_in_an_index_stays_nowhere_else(tmp_path: Path) -> None:
    """Clusters of samples that earlier runs have kept have no sample to give a size to."""
    step = {"document_deduplicator": {"save_cluster_size": True, "index": str(tmp_path / "seen")}}
    first = refine(tmp_path / "one", ROWS[:3], [step])
    assert sizes(exported(first)) == {"one": 2, "two": 1}
    write_lines(tmp_path / "in.jsonl", ROWS[3:])
    second = refinery.run(settings(tmp_path / "two", [step], dataset_path=str(tmp_path / "in.jsonl")))
    assert sizes(exported(second)) == {"three": 1, "four": 1}
