"""Exports with chosen, renamed and left out fields, without empty texts, and as Parquet for stores of chunks."""

from __future__ import annotations

import json
import random
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refinery
from refinery.errors import RecipeError
from tests.runs import exported, refine, rows, settings, texts

KEEP_ALL: list[Any] = [{"text_length_filter": {"min_len": 0}}]
SAMPLES: list[dict[str, Any]] = [
    {"id": k, "text": text, "meta": {"url": f"u{k}", "n": 1.50}} for k, text in enumerate(["aaa", "", "b", ""])
]


def test_fields_are_chosen_in_the_order_of_the_recipe(tmp_path: Path) -> None:
    run = refine(tmp_path, SAMPLES, KEEP_ALL, export_fields=["text", "meta.url", "id"])
    assert (tmp_path / "run/out.jsonl").read_text().splitlines()[0] == '{"text": "aaa", "url": "u0", "id": 0}'
    assert [[*sample] for sample in exported(run)] == [["text", "url", "id"]] * 4


@pytest.mark.parametrize("keys", [{}, {"shard_size": 60, "np": 2}, {"workers": "processes"}])
def test_new_texts_and_statistics_can_be_renamed(tmp_path: Path, keys: dict[str, Any]) -> None:
    fields = {"text": "content", "__dj__stats__.text_len": "length", "id": True}
    steps = [*KEEP_ALL, {"sql_mapper": {"text": "upper(text)"}}]
    run = refine(tmp_path, SAMPLES, steps, export_fields=fields, keep_stats_in_res_ds=True, **keys)
    assert exported(run)[:2] == [
        {"content": "AAA", "length": 3, "id": 0},
        {"content": "", "length": 0, "id": 1},
    ]


def test_a_table_without_samples_has_the_chosen_columns(tmp_path: Path) -> None:
    steps = [{"text_length_filter": {"min_len": 10}}]
    refine(tmp_path, SAMPLES, steps, export_fields=["meta.n", "text"], export_path=tmp_path / "run/out.parquet")
    assert pq.read_schema(tmp_path / "run/out.parquet").names == ["n", "text"]


def test_columns_of_tables_are_chosen(tmp_path: Path) -> None:
    pq.write_table(pa.Table.from_pylist(SAMPLES), tmp_path / "in.parquet")
    keys: dict[str, Any] = {"dataset_path": tmp_path / "in.parquet", "export_path": tmp_path / "run/out.parquet"}
    refinery.run(settings(tmp_path, KEEP_ALL, export_fields={"meta.url": "url", "id": None, "*": True}, **keys))
    assert pq.read_table(tmp_path / "run/out.parquet").to_pylist()[0] == {
        "text": "aaa",
        "meta": {"n": 1.5},
        "url": "u0",
    }


def test_an_unknown_field_is_refused_before_the_run(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="'txet', which none of the 4 .* Did you mean 'text'"):
        refine(tmp_path, SAMPLES, KEEP_ALL, export_fields=["txet"])


def test_a_new_choice_is_not_taken_from_stored_results(tmp_path: Path) -> None:
    refine(tmp_path, SAMPLES, KEEP_ALL, export_fields=["id"])
    run = refine(tmp_path, SAMPLES, KEEP_ALL, export_fields=["text"])
    assert [*exported(run)[0]] == ["text"]


# Empty texts


def test_empty_texts_are_removed_into_the_ledger(tmp_path: Path) -> None:
    run = refine(tmp_path, SAMPLES, KEEP_ALL, drop_empty=True)
    assert [sample["id"] for sample in exported(run)] == [0, 2]
    ledger = rows(run, "ledger", "_row, step, operator, reason")
    assert ledger == [(1, 2, "empty_text_filter", "empty_text"), (3, 2, "empty_text_filter", "empty_text")]
    assert (run.counts.read, run.counts.kept, run.counts.removed) == (4, 2, 2)


def test_empty_texts_make_a_note(tmp_path: Path) -> None:
    run = refine(tmp_path, SAMPLES, KEEP_ALL)
    assert any("2 kept samples have an empty text; drop_empty: true" in line for line in run.warnings)
    run = refine(tmp_path, SAMPLES, KEEP_ALL, drop_empty=True)
    assert not any("empty text" in line for line in run.warnings)


# Parquet


def test_parquet_has_a_page_index_and_zstd(tmp_path: Path) -> None:
    for name, keys in {"lines": {}, "table": {"dataset_path": tmp_path / "in.parquet"}}.items():
        pq.write_table(pa.Table.from_pylist(texts(["a" * 2000] * 50)), tmp_path / "in.parquet")
        refine(tmp_path, texts(["a" * 2000] * 50), KEEP_ALL, export_path=tmp_path / name / "out.parquet", **keys)
        group = pq.ParquetFile(tmp_path / name / "out.parquet").metadata.row_group(0)
        columns = {group.column(k).path_in_schema: group.column(k) for k in range(group.num_columns)}
        assert all(column.has_offset_index and column.compression == "ZSTD" for column in columns.values())
        assert columns["id"].has_column_index


def test_pages_of_a_changed_export_stay_where_their_contents_are_the_same(tmp_path: Path) -> None:
    """Content-defined chunks: a sample put before the others leaves most pages as they are, byte for byte."""
    chance = random.Random(1)
    many = [{"id": k, "text": chance.randbytes(800).hex()} for k in range(4000)]
    found = []
    for name, samples in {"a": many, "b": [{"id": -1, "text": "new " * 300}, *many]}.items():
        refine(tmp_path, samples, KEEP_ALL, export_path=tmp_path / name / "out.parquet", export_fields=["text"])
        found.append(pages(tmp_path / name / "out.parquet"))
    before, after = found
    assert len(before) > 3 and len(before - after) <= 2


def pages(path: Path) -> set[bytes]:
    """Stretches between the pages of a file of one column, by the places in its page index."""
    data = path.read_bytes()
    starts = [found.start() for found in re.finditer(rb"\x28\xb5\x2f\xfd", data)]  # each page is one frame of zstd
    return {data[a:b] for a, b in zip(starts, [*starts[1:], None], strict=True)}


def test_the_recipe_of_a_run_is_one_of_the_same_steps(tmp_path: Path) -> None:
    refine(tmp_path, SAMPLES, KEEP_ALL, drop_empty=True)
    again = refinery.run(str(tmp_path / "run/.refinery/recipe.yaml"))
    assert [json.loads(line)["id"] for line in (tmp_path / "run/out.jsonl").read_text().splitlines()] == [0, 2]
    assert again.counts.removed == 2
