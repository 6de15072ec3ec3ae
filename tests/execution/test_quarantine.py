"""Rows that cannot be read or processed are set aside, with place and bytes, and cost no other row."""

from __future__ import annotations

import gzip
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import refinery
from refinery.errors import DataError
from refinery.workers.worker import Worker
from tests.runs import exported, operator_folder, refine, rows, settings, texts, write_lines
from tests.sampling import named

LENGTH = {"text_length_filter": {"min_len": 0}}


@pytest.fixture(scope="module")
def operators(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`picky` raises on texts with an x; `shout` does not."""
    return operator_folder(
        tmp_path_factory.mktemp("operators"),
        picky="""
            if "x" in text:
                raise ValueError(f"no x, please: {text}")
            return text + "!"
        """,
        shout="return text.upper()",
        multiline="""
            if text:
                raise RuntimeError("one line\\nanother line")
            return text
        """,
    )


# Operators that raise


def test_only_the_rows_that_raise_are_set_aside(tmp_path: Path, operators: Path) -> None:
    samples = [{"id": k, "text": ("fox" if k % 50 == 7 else "dog") + f" {k}", "more": [1.50]} for k in range(200)]
    steps = [LENGTH, {"shout_mapper": None}, {"sql_mapper": {"text": "lower(text)"}}, {"picky_mapper": None}, LENGTH]
    run = refine(tmp_path, samples, steps, operators=[str(operators)], np=2, shard_size=3_000)
    raising = [k for k in range(200) if k % 50 == 7]
    found = rows(run, "quarantine", "_row, file, line, step, operator, error, raw")
    assert found == [
        (
            k,
            str(tmp_path / "in.jsonl"),
            k + 1,
            4,
            "picky_mapper",
            f"ValueError: no x, please: fox {k}",
            json.dumps(samples[k]),
        )
        for k in raising
    ]
    assert [row["id"] for row in exported(run)] == [k for k in range(200) if k not in raising]
    assert {row["text"][-1] for row in exported(run)} == {"!"}
    assert rows(run, "steps", "rows_in, rows_out, quarantined") == [(200, 200, 0)] * 3 + [(200, 196, 4), (196, 196, 0)]


def test_every_row_of_a_batch_can_raise(tmp_path: Path, operators: Path) -> None:
    samples = texts(f"x{k}" for k in range(20)) + texts(["good"])
    run = refine(tmp_path, samples, [LENGTH, {"picky_mapper": None}], operators=[str(operators)])
    assert run.counts.quarantined == 20 and exported(run) == [{"id": 0, "text": "good!"}]
    errors = rows(run, "quarantine", "error", "operator = 'picky_mapper' AND step = 2")
    assert errors[0] == ("ValueError: no x, please: x0",) and len(errors) == 20
    only = refine(tmp_path, samples[:10], [{"picky_mapper": None}], operators=[str(operators)])
    assert only.counts.quarantined == 10 and exported(only) == []


def test_each_row_is_charged_to_the_step_that_fails_first(tmp_path: Path, operators: Path) -> None:
    steps = [
        {"sql_filter": {"where": "CAST(left(text, 1) AS INTEGER) > 0"}},
        {"picky_mapper": None},
        {"sql_mapper": {"text": "text || (10 // length(text[5:]))::VARCHAR || error_if[1]::VARCHAR"}},
        {"sql_filter": {"where": "CAST(n AS INTEGER) >= 0"}},
    ]
    samples = [
        {"text": "1 fine", "n": "1", "error_if": [1]},
        {"text": "a letter", "n": "1", "error_if": [1]},
        {"text": "2 x", "n": "oops", "error_if": [1]},
        {"text": "0 x removed before it could fail", "n": "oops", "error_if": [1]},
        {"text": "3 dogs", "n": "oops", "error_if": [1]},
        {"text": "x", "n": "1", "error_if": [1]},
    ]
    run = refine(tmp_path, samples, steps, operators=[str(operators)])
    assert rows(run, "quarantine", "_row, step, operator") == [
        (1, 1, "sql_filter"),
        (2, 2, "picky_mapper"),
        (4, 4, "sql_filter"),
        (5, 1, "sql_filter"),
    ]
    assert rows(run, "ledger", "_row, step") == [(3, 1)] and rows(run, "stats", "_row, kept") == [(0, True), (3, False)]
    assert rows(run, "steps", "rows_in, removed, quarantined, rows_out") == [
        (6, 1, 2, 3),
        (3, 0, 1, 2),
        (2, 0, 0, 2),
        (2, 0, 1, 1),
    ]


def test_a_cast_that_fails_on_some_rows(tmp_path: Path) -> None:
    samples = texts("many" if k % 9 == 0 else str(k) for k in range(100))
    run = refine(tmp_path, samples, [{"sql_filter": {"where": "CAST(text AS INTEGER) % 2 = 0"}}], shard_size=900)
    failing = [k for k in range(100) if k % 9 == 0]
    assert rows(run, "quarantine", "_row, error") == [
        (k, "Conversion Error: Could not convert string 'many' to INT32") for k in failing
    ]
    assert [row["id"] for row in exported(run)] == [k for k in range(0, 100, 2) if k not in failing]


def test_a_reason_never_shows_the_value_of_another_row(tmp_path: Path) -> None:
    run = refine(
        tmp_path, texts(f"n{k}." for k in range(130)), [{"sql_filter": {"where": "CAST(text AS INTEGER) > 0"}}]
    )
    errors = [error for _, error in rows(run, "quarantine", "_row, error")]
    assert all(f"'n{k}.'" in error for k, error in enumerate(errors[:100]))
    assert (
        errors[100:] == ["the step fails on this row, too; messages are determined for 100 such rows of a batch"] * 30
    )


def test_what_duckdb_cannot_try_is_found_row_by_row(tmp_path: Path) -> None:
    where = "CASE WHEN id % 3 = 0 THEN error('no ' || id) ELSE TRUE END"
    run = refine(tmp_path, texts(["text"] * 12), [LENGTH, {"sql_filter": {"where": where}}, LENGTH])
    assert rows(run, "quarantine", "_row, step, error") == [
        (k, 2, f"Invalid Input Error: no {k}") for k in range(0, 12, 3)
    ]
    assert run.counts.kept == 8


def test_messages_are_one_line_without_advice(tmp_path: Path, operators: Path) -> None:
    run = refine(tmp_path, texts(["a"]), [{"multiline_mapper": None}], operators=[str(operators)])
    assert rows(run, "quarantine", "error") == [("RuntimeError: one line another line",)]


def test_rows_of_tables_are_shown_as_json(tmp_path: Path) -> None:
    table = pa.table({"text": ["1", "one", "2"], "tag": [["a"], ["ü"], None], "raw": [b"\xff", b"\xfe", b""]})
    pq.write_table(table, tmp_path / "in.parquet")
    keys = {"dataset_path": tmp_path / "in.parquet", "export_path": tmp_path / "run" / "out.parquet"}
    steps = [{"sql_filter": {"where": "CAST(text AS INTEGER) > 0"}}]
    run = refinery.run(settings(tmp_path, steps, **keys))
    [(row, line, step, raw, data)] = rows(run, "quarantine", "_row, line, step, raw, raw_bytes")
    assert (row, line, step, raw) == (1, 2, 1, None)  # with its bytes it is no UTF-8
    assert data == b'{"text": "one", "tag": ["\xc3\xbc"], "raw": "\xfe"}'
    assert pq.read_table(run.outputs[0]) == table.take([0, 2])


# Lines that cannot be read

BAD = [
    (b"{broken", "malformed JSON"),
    (b'{"text": "a", }', "malformed JSON"),
    (b"\xff\xfe{}", "invalid UTF-8"),
    (b'{"text": "caf\xe9"}', "invalid UTF-8"),
    (b'{"text": null}', "'text' is null"),
    (b'{"text": 7}', "'text' is a number"),
    (b'{"text": 7.5}', "'text' is a number"),
    (b'{"text": true}', "'text' is a boolean"),
    (b'{"text": ["a"]}', "'text' is a list"),
    (b'{"text": {"a": 1}}', "'text' is an object"),
    (b'{"body": "a"}', "'text' is missing"),
    (b'["text"]', "no sample"),
    (b'"text"', "no sample"),
    (b"null", "no sample"),
    (b'{"text": "\\ud800"}', "malformed JSON: unpaired surrogate"),
    (b'{"text": "a\x01b"}', "malformed JSON"),
    (b'{"text": "a"} {"text": "b"}', "malformed JSON"),
    (b"'text': 'a'", "malformed JSON"),
]


@pytest.mark.parametrize("shard_size", [120, pytest.param(1_000_000, marks=pytest.mark.long)])
def test_bad_lines_are_found_where_they_stand(tmp_path: Path, shard_size: int) -> None:
    expected = []
    for name, stride in (("b", 2), ("a", 3)):
        lines: list[bytes] = []
        for k, (line, error) in enumerate(BAD):
            lines += [json.dumps({"id": [name, k, j], "text": f"good {k}"}).encode() for j in range(k % stride)]
            lines += [b""] * (k % 4 == 0) + [line]
            expected.append((str(tmp_path / "data" / f"{name}.jsonl"), len(lines), line, error))
        write_lines(tmp_path / "data" / f"{name}.jsonl", lines)
    expected = expected[len(BAD) :] + expected[: len(BAD)]  # files are read in the order of their names
    keys = {"dataset_path": tmp_path / "data", "shard_size": shard_size, "np": 2}
    run = refinery.run(settings(tmp_path, [LENGTH], **keys))
    found = rows(run, "quarantine", "_row, file, line, step, operator, error, raw, raw_bytes")
    assert [(file, line, data) for _, file, line, *_, data in found] == [item[:3] for item in expected]
    for (*_, error, raw, data), (*_, reason) in zip(found, expected, strict=True):
        assert error.startswith(reason) and raw == (None if error.startswith("invalid") else data.decode())
    assert {(step, operator) for _, _, _, step, operator, *_ in found} == {(0, "")}
    assert sorted([row[0] for row in found] + [row for (row,) in rows(run, "stats", "_row")]) == list(
        range(run.counts.read)
    )


def test_a_file_that_is_named_twice_counts_its_lines_twice(tmp_path: Path) -> None:
    path = write_lines(tmp_path / "in.jsonl", [{"text": "a"}, "broken", {"text": "b"}])
    run = refinery.run(settings(tmp_path, [LENGTH]) | {"dataset_path": [str(path), str(path)]})
    assert rows(run, "quarantine", "_row, line") == [(1, 2), (4, 2)] and len(exported(run)) == 4


def test_nested_and_other_text_fields(tmp_path: Path) -> None:
    lines = [
        {"meta": {"body": "good"}},
        {"meta": {"body": None}},
        {"meta": {}},
        {"meta": "text"},
        {"text": "elsewhere"},
    ]
    run = refine(tmp_path, lines, [LENGTH], text_keys="meta.body")
    assert rows(run, "quarantine", "_row, error") == [
        (1, "'meta.body' is null, not a text"),
        (2, "'meta.body' is missing"),
        (3, "'meta.body' is missing"),
        (4, "'meta.body' is missing"),
    ]


def test_null_texts_of_tables(tmp_path: Path) -> None:
    table = pa.table({"id": range(5), "text": ["a", None, "", None, "b"]})
    run = refinery.run(settings(tmp_path, [LENGTH]) | {"dataset_path": ""}, dataset=table)
    found = rows(run, "quarantine", "_row, line, error, raw")
    assert found == [(k, k + 1, "'text' is null", f'{{"id": {k}, "text": null}}') for k in (1, 3)]
    assert [row["id"] for row in exported(run)] == [0, 2, 4]


def test_only_bad_lines(tmp_path: Path) -> None:
    run = refine(
        tmp_path,
        [line for line, _ in BAD],
        [LENGTH, {"clean_email_mapper": None}],
        np=2,
        shard_size=30,
        max_quarantined="100%",
    )
    assert run.counts.quarantined == run.counts.read == len(BAD)
    assert run.outputs[0].read_bytes() == b"" and rows(run, "stats") == []
    assert rows(run, "steps", "DISTINCT rows_in, rows_out") == [(0, 0)]


# Empty inputs


EMPTY = ("in.jsonl", "in.json", "in.csv", "in.tsv", "in.jsonl.gz")


@pytest.mark.parametrize("name", named({name: name for name in EMPTY}, "in.json", "in.csv"))
def test_an_empty_file_is_an_empty_data_set(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(gzip.compress(b"") if name.endswith(".gz") else b"")
    steps = [LENGTH, {"clean_email_mapper": None}, {"sql_filter": {"where": "id % 2 = 0 AND score > text_len"}}]
    keys = {"dataset_path": tmp_path / name, "open_tracer": True, "keep_stats_in_res_ds": True}
    run = refinery.run(settings(tmp_path, steps, **keys))
    assert run.counts.read == 0 and exported(run) == []
    assert rows(run, "steps", "rows_in, rows_out") == [(0, 0)] * 3


@pytest.mark.parametrize(
    ("kind", "typed"),
    [
        *((kind, False) for kind in ("json", "parquet")),
        ("jsonl.gz", True),
        *(pytest.param(kind, True, marks=pytest.mark.long) for kind in ("jsonl", "jsonl.zst", "json", "parquet")),
        *(pytest.param(kind, False, marks=pytest.mark.long) for kind in ("jsonl", "jsonl.gz", "jsonl.zst")),
    ],
)
def test_an_empty_result_is_a_valid_file(tmp_path: Path, kind: str, typed: bool) -> None:
    keys = settings(tmp_path, [{"text_length_filter": {"min_len": 100}}], export_path=tmp_path / f"out.{kind}")
    if typed:
        run = refinery.run(keys, dataset=pa.table({"text": ["a"], "n": [1]}))
    else:
        write_lines(tmp_path / "in.jsonl", [{"text": "a", "n": 1}])
        run = refinery.run(keys)
    assert run.counts.removed == 1 and run.outputs[0].exists()
    again = refinery.run(settings(tmp_path, [LENGTH], dataset_path=run.outputs[0]))
    assert again.counts.read == 0


def test_an_empty_table_keeps_its_columns(tmp_path: Path) -> None:
    table = pa.table({"text": pa.array([], pa.string()), "n": pa.array([], pa.int32())})
    keys = settings(tmp_path, [{"sql_filter": {"where": "n > 1"}}], export_path=tmp_path / "out.parquet")
    run = refinery.run(keys, dataset=table)
    assert run.counts.read == 0 and pq.read_table(run.outputs[0]) == table


def test_a_folder_without_data_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").mkdir()
    with pytest.raises(DataError, match="no file to read"):
        refinery.run(settings(tmp_path, [LENGTH]))
    assert not (tmp_path / "run").exists()


# Uncommon texts


def test_a_nul_is_a_character_like_others(tmp_path: Path) -> None:
    samples = [{"text": "a\0b me@example.org"}, {"text": "\0"}, {"text": ""}]
    steps = [
        {"clean_email_mapper": None},
        {"text_length_filter": {"min_len": 0}},
        {"alphanumeric_filter": {"min_ratio": 0}},
    ]
    run = refine(tmp_path, samples, steps, open_tracer=True)
    assert [row["text"] for row in exported(run)] == ["a\0b ", "\0", ""]
    assert rows(run, "stats", "text_len") == [(4,), (1,), (0,)]
    assert rows(run, "trace", "original_text, processed_text") == [("a\0b me@example.org", "a\0b ")]


def test_a_very_long_text(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A single sample of several batches' size, between others."""
    long = "The quick brown fox. " * 40_000
    work = Worker.run
    monkeypatch.setattr(
        Worker, "run", lambda self, shard, task: work(self, shard, replace(task, batch_bytes=len(long) // 3))
    )
    samples = texts(["short one", long + "me@example.org", "last one"])
    steps = [{"clean_email_mapper": None}, {"words_num_filter": {"min_num": 1}}, LENGTH]
    run = refine(tmp_path, samples, steps, open_tracer=True, shard_size=200_000, np=2)
    assert [(row["id"], len(row["text"])) for row in exported(run)] == [(0, 9), (1, len(long)), (2, 8)]
    assert rows(run, "stats", "num_words, text_len") == [(2, 9), (160_000, len(long)), (2, 8)]


def test_wide_and_uneven_samples(tmp_path: Path) -> None:
    samples: list[Any] = [{"text": f"t{k}", **{f"c{k}_{j}": j for j in range(300)}} for k in range(40)]
    samples += [{"text": "typed", "c0_0": "a text"}, {"c0_0": {"deep": [1]}, "text": "nested"}]
    run = refine(tmp_path, samples, [LENGTH, {"sql_filter": {"where": "c0_0 IS NULL OR text <> 'nested'"}}])
    assert exported(run) == samples[:-1]
