"""Traces: which rows, how many, and what their records hold."""

from __future__ import annotations

import json
from datetime import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import refinery
from refinery.api import Run
from tests.runs import lines_of, refine, rows, settings, texts, write_lines

STEPS: list[Any] = [
    {"clean_email_mapper": None},
    {"text_length_filter": {"min_len": 8}},
    {"whitespace_normalization_mapper": None},
    {"words_num_filter": {"min_num": 2}},
]


def sample(k: int) -> dict[str, Any]:
    """Every third text has an address, every fifth an odd blank; some are too short, some one word only."""
    words = ["Wörterbuch"] if k % 7 == 2 else ["wörd"] * (k % 4 + 2)
    blank = "\u3000" if k % 5 == 0 else " "
    text = blank.join(words) + (" me@example.org" if k % 3 == 0 else "")
    return {"id": k, "source": {"file": f"f{k % 2}.html", "day": k}, "text": "tiny" if k % 11 == 4 else text}


SAMPLES = [sample(k) for k in range(120)]
# Only one of them has a member that is named `missing` here, for the others lack it.
FEW = [*SAMPLES[:-1], SAMPLES[-1] | {"missing": 1}]
MAIL = [k for k in range(120) if k % 3 == 0 and k % 11 != 4]


def names(run: Run) -> list[str]:
    return sorted(path.name for path in (run.work_dir / "trace").iterdir())


def traced(run: Run, operator: str, suffix: str = "") -> list[Any]:
    return lines_of(run.work_dir / "trace" / f"sample_trace-{operator}{suffix}.jsonl")


def per_step(run: Run, table: str = "trace") -> dict[int, list[int]]:
    found: dict[int, list[int]] = {}
    for step, row in run.sql(f"SELECT step, _row FROM {table} ORDER BY step, _row").fetchall():
        found.setdefault(step, []).append(row)
    return found


# How many, and which


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Run:
    return refine(tmp_path_factory.mktemp("all"), SAMPLES, STEPS, open_tracer=True, trace_num="all")


def test_all_are_as_many_as_the_waterfall_says(everything: Run) -> None:
    counts = dict(everything.sql("SELECT step, removed + changed FROM steps").fetchall())
    assert {step: len(found) for step, found in per_step(everything).items()} == counts and min(counts.values()) > 5
    removed = per_step(everything, "ledger")
    assert {step: found for step, found in per_step(everything).items() if step in removed} == removed
    assert per_step(everything)[1] == MAIL


@pytest.mark.parametrize("np", [pytest.param(1, marks=pytest.mark.long), 2])
@pytest.mark.parametrize(
    ("number", "keys"),
    [
        pytest.param(3, {}, marks=pytest.mark.long),
        (10, {"shard_size": 900}),
        pytest.param(1000, {"shard_size": 400}, marks=pytest.mark.long),
    ],
)
def test_the_first_rows_are_traced_at_any_number_of_workers(
    tmp_path: Path, everything: Run, np: int, number: int, keys: dict[str, Any]
) -> None:
    run = refine(tmp_path, SAMPLES, STEPS, open_tracer=True, trace_num=number, np=np, **keys)
    assert per_step(run) == {step: found[:number] for step, found in per_step(everything).items()}
    for operator in {name for (name,) in rows(run, "trace", "operator")}:
        assert traced(run, operator) == traced(everything, operator)[:number]


def test_ten_are_traced_by_default(tmp_path: Path, everything: Run) -> None:
    run = refine(tmp_path, SAMPLES, STEPS, use_tracer=True)
    assert {step: len(found) for step, found in per_step(run).items()} == {
        step: min(10, len(found)) for step, found in per_step(everything).items()
    }


def test_none_are_traced_with_a_limit_of_0(tmp_path: Path) -> None:
    run = refine(tmp_path, SAMPLES, STEPS, open_tracer=True, trace_num=0)
    assert rows(run, "trace") == [] and all(traced(run, step) == [] for k in STEPS for step in k)


def test_only_named_operators_are_traced(tmp_path: Path, everything: Run) -> None:
    named = ["words_num_filter", "clean_email_mapper"]
    run = refine(tmp_path, SAMPLES, STEPS, open_tracer=True, trace_num="all", op_list_to_trace=named)
    assert names(run) == [f"sample_trace-{name}.jsonl" for name in sorted(named)]
    assert per_step(run) == {step: found for step, found in per_step(everything).items() if step in (1, 4)}


def test_the_same_operator_twice_has_two_files(tmp_path: Path) -> None:
    steps = [
        {"text_length_filter": {"min_len": 3}},
        {"clean_ip_mapper": None},
        {"text_length_filter": {"min_len": 0, "max_len": 5}},
    ]
    run = refine(tmp_path, texts(["12", "1234", "123456"]), steps, open_tracer=True)
    assert names(run) == [
        "sample_trace-clean_ip_mapper.jsonl",
        "sample_trace-text_length_filter.jsonl",
        "sample_trace-text_length_filter_3.jsonl",
    ]
    assert [row["id"] for row in traced(run, "text_length_filter")] == [0]
    [record] = traced(run, "text_length_filter", "_3")
    assert record == {"id": 2, "text": "123456", "__dj__stats__": {"text_len": 6, "text_len_3": 6}}


def test_nothing_is_traced_unless_asked_for(tmp_path: Path) -> None:
    run = refine(tmp_path, SAMPLES, STEPS)
    assert rows(run, "trace") == [] and not (run.work_dir / "trace").exists()


def test_traces_of_an_earlier_run_are_gone(tmp_path: Path) -> None:
    refine(tmp_path, SAMPLES, STEPS, open_tracer=True)
    (tmp_path / "run" / "trace" / "mine.txt").write_text("kept")
    run = refine(tmp_path, SAMPLES, STEPS[:1], open_tracer=True)
    assert names(run) == ["mine.txt", "sample_trace-clean_email_mapper.jsonl"]
    run = refine(tmp_path, SAMPLES, STEPS)
    assert names(run) == ["mine.txt"]
    (tmp_path / "run" / "trace" / "mine.txt").unlink()
    assert not (refine(tmp_path, SAMPLES, STEPS).work_dir / "trace").exists()


def test_a_step_without_effect_is_reported(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    run = refine(tmp_path, texts(["plain text"] * 2), [*STEPS, {"sql_filter": {"where": "id > 0"}}], open_tracer=True)
    steps = ", ".join(f"{k} {name}" for k, name in enumerate([name for step in STEPS for name in step], 1))
    assert run.warnings == (f"no sample was changed or removed by steps {steps}",)
    assert len(names(run)) == 5 and traced(run, "clean_email_mapper") == []
    assert "Datasets before and after op [clean_email_mapper] are all the same" in caplog.text


# Records


def test_a_mapper_record_holds_the_keys_and_both_texts(tmp_path: Path) -> None:
    run = refine(tmp_path, FEW, STEPS, open_tracer=True, trace_keys=["id", "source.file", "source", "missing"])
    line = (run.work_dir / "trace" / "sample_trace-clean_email_mapper.jsonl").read_text("utf-8").split("\n")[1]
    assert line == (
        '{"id": 3, "source.file": "f1.html", "source": {"file": "f1.html", "day": 3}, "missing": null, '
        '"original_text": "wörd wörd wörd wörd wörd me@example.org", "processed_text": "wörd wörd wörd wörd wörd "}'
    )
    for record, (original, processed) in zip(
        traced(run, "whitespace_normalization_mapper"),
        rows(run, "trace", "original_text, processed_text", "step = 3"),
        strict=True,
    ):
        assert list(record)[-2:] == ["original_text", "processed_text"] and list(record.values())[-2:] == [
            original,
            processed,
        ]
        assert processed == original.replace("\u3000", " ").strip() and "@" not in original


def test_a_filter_record_is_the_whole_sample_with_what_was_measured(everything: Run) -> None:
    first = next(row for row in traced(everything, "words_num_filter") if row["id"] == 9)
    assert list(first) == ["id", "source", "text", "__dj__stats__"]
    # The sample as the step was given it: without the address and the blank, which earlier steps have removed.
    assert first == {
        "id": 9,
        "source": {"file": "f1.html", "day": 9},
        "text": "Wörterbuch",
        "__dj__stats__": {"text_len": 11, "num_words": 1},
    }
    short = traced(everything, "text_length_filter")[0]
    assert list(short["__dj__stats__"]) == ["text_len"]


def test_keys_hold_what_the_step_was_given(tmp_path: Path) -> None:
    steps = [{"sql_mapper": {"text": "'b' || text"}}, {"sql_mapper": {"text": "'c' || text"}}]
    run = refine(tmp_path, texts(["a"]), steps, open_tracer=True, trace_keys=["text", "id"])
    assert traced(run, "sql_mapper") == [{"text": "a", "id": 0, "original_text": "a", "processed_text": "ba"}]
    assert traced(run, "sql_mapper", "_2") == [{"text": "ba", "id": 0, "original_text": "ba", "processed_text": "cba"}]


def test_nested_texts_and_texts_of_single_steps(tmp_path: Path) -> None:
    samples = [{"id": 0, "doc": {"body": "keep", "title": "x"}, "note": "me@example.org!"}]
    steps = [
        {"clean_email_mapper": {"text_key": "note"}},
        {"sql_mapper": {"text": "text || '!'"}},
        {"text_length_filter": {"text_key": "note", "min_len": 2}},
    ]
    run = refine(tmp_path, samples, steps, text_keys="doc.body", open_tracer=True, trace_keys=["doc.title"])
    assert traced(run, "clean_email_mapper") == [
        {"doc.title": "x", "original_text": "me@example.org!", "processed_text": "!"}
    ]
    assert traced(run, "sql_mapper") == [{"doc.title": "x", "original_text": "keep", "processed_text": "keep!"}]
    [record] = traced(run, "text_length_filter")
    assert record == {"id": 0, "doc": {"body": "keep!", "title": "x"}, "note": "!", "__dj__stats__": {"text_len": 1}}
    assert rows(run, "trace", "original_text, processed_text", "step = 3") == [("!", None)]


def test_any_value_can_stand_in_a_record(tmp_path: Path) -> None:
    lines = [
        '{"big": 123456789012345678901234567890, "odd": [NaN, -Infinity, 2.50], "text": "a\\u0000b\\ud83d\\ude00\\n"}'
    ]
    run = refine(tmp_path, lines, [{"text_length_filter": None}], open_tracer=True)
    [record] = traced(run, "text_length_filter")
    assert record == {
        "big": 123456789012345678901234567890,
        "odd": [None, None, 2.5],
        "text": "a\0b😀\n",
        "__dj__stats__": {"text_len": 5},
    }
    assert "😀" in (run.work_dir / "trace" / "sample_trace-text_length_filter.jsonl").read_text("utf-8")


def test_records_of_tables_are_json(tmp_path: Path) -> None:
    table = pa.table(
        {
            "text": ["short", "long enough"],
            "when": pa.array([datetime(2024, 5, 6, 7), None], pa.timestamp("us")),
            "raw": pa.array([b"\xff\x00", b"ok"], pa.binary()),
            "tags": pa.array([[{"k": 1}], None]),
        }
    )
    keys = settings(tmp_path, [{"text_length_filter": {"min_len": 8}}], open_tracer=True)
    del keys["dataset_path"]
    run = refinery.run(keys, dataset=table)
    [record] = traced(run, "text_length_filter")
    raw = record.pop("raw")
    assert record == {
        "text": "short",
        "when": "2024-05-06T07:00:00",
        "tags": [{"k": 1}],
        "__dj__stats__": {"text_len": 5},
    }
    assert raw == "\ufffd\0"


def test_overridden_from_the_command_line(tmp_path: Path) -> None:
    from refinery.execution.open import open_from_command_line
    from refinery.execution.run import execute

    write_lines(tmp_path / "in.jsonl", FEW)
    (tmp_path / "recipe.json").write_text(json.dumps(settings(tmp_path, STEPS)))
    options = ["--open_tracer", "true", "--trace_num", "2", "--op_list_to_trace", "clean_email_mapper,words_num_filter"]
    recipe = str(tmp_path / "recipe.json")
    opened, alike = (
        open_from_command_line(recipe, [*options, "--trace_keys", keys], [], [], [])
        for keys in ("id,missing", '["id", "missing"]')
    )
    assert opened[0] == alike[0]
    outcome = execute(*opened)
    assert sorted(path.name for path in outcome.trace_files) == [
        "sample_trace-clean_email_mapper.jsonl",
        "sample_trace-words_num_filter.jsonl",
    ]
    found = lines_of(outcome.run_dir.trace / "sample_trace-clean_email_mapper.jsonl")
    assert [list(row)[:2] for row in found] == [["id", "missing"]] * 2 and [row["id"] for row in found] == MAIL[:2]
