"""`refinery why`: one row's way through a finished run, recomputed."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

import refinery
from refinery.errors import DataError, RecipeError
from refinery.inspect.why.query import Event, RowHistories, RowHistory
from tests.runs import exported, operator_folder, refine, rows, settings, write_lines

STEPS: list[Any] = [
    {"clean_email_mapper": None},
    {"text_length_filter": {"min_len": 6, "max_len": 60}},
    {"sql_mapper": {"text": "text || ' ' || (100 // CAST(n AS INTEGER))::VARCHAR"}},
    {"whitespace_normalization_mapper": None},
    {"sql_filter": {"where": "n NOT IN ('3', '4')"}},
    {"text_length_filter": {"min_len": 12}},
]
SAMPLES: list[Any] = [
    {"id": "a", "n": "1", "text": "write to me@example.org "},
    {"id": "b", "n": "2", "text": "tiny"},
    {"id": "c", "n": "many", "text": "not a number"},
    {"id": "d", "n": "3", "text": "unwanted number"},
    "not json at all",
    {"id": "e", "n": "5", "text": "nothing\u00a0changes here?"},
    {"id": "f", "n": "6", "text": "short one"[:7]},
    {"id": "g", "n": "7", "text": None},
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("history")
    refine(found, SAMPLES, STEPS, shard_size=150, np=2)
    return found


@pytest.fixture(scope="module")
def histories(folder: Path) -> Iterator[RowHistories]:
    with RowHistories(folder / "run") as found:
        yield found


@pytest.fixture(scope="module")
def said(histories: RowHistories) -> dict[int, RowHistory]:
    return {row: histories.of(row) for row in range(len(SAMPLES))}


def fates(history: RowHistory) -> list[str]:
    return [event.fate for event in history.events]


def where(step: int) -> str:
    return f"recipe, step {step}"


def test_a_kept_row(said: dict[int, RowHistory], folder: Path) -> None:
    assert said[0] == RowHistory(
        0,
        f"{folder / 'in.jsonl'}:1",
        SAMPLES[0],
        "kept",
        (
            Event(1, "clean_email_mapper", where(1), "changed", SAMPLES[0]["text"], "write to  "),
            Event(2, "text_length_filter", where(2), "kept", stats={"text_len": 10}),
            Event(3, "sql_mapper", where(3), "changed", "write to  ", "write to   100"),
            Event(4, "whitespace_normalization_mapper", where(4), "unchanged"),
            Event(5, "sql_filter", where(5), "kept", stats={}),
            Event(6, "text_length_filter", where(6), "kept", stats={"text_len_6": 14}),
        ),
    )


def test_a_removed_row_and_the_bound_that_it_broke(said: dict[int, RowHistory]) -> None:
    assert said[1].fate == "removed" and fates(said[1]) == ["unchanged", "removed"] + ["not reached"] * 4
    assert said[1].events[1] == Event(
        2,
        "text_length_filter",
        where(2),
        "removed",
        stats={"text_len": 4},
        reason="text_len below min_len",
        value=4.0,
        bound=6.0,
    )
    assert fates(said[3]) == ["unchanged", "kept", "changed", "unchanged", "removed", "not reached"]
    assert said[3].events[4].reason == "not kept by where: n NOT IN ('3', '4')" and said[3].events[4].bound is None
    assert said[6].events[5].reason == "text_len_6 below min_len" and said[6].events[5].value == 10


def test_a_row_that_a_step_raised_on(said: dict[int, RowHistory], folder: Path) -> None:
    history = said[2]
    assert (history.fate, history.file) == ("quarantined", f"{folder / 'in.jsonl'}:3")
    assert fates(history) == ["unchanged", "kept", "quarantined", "not reached", "not reached", "not reached"]
    assert history.events[1].stats == {"text_len": 12} and history.sample == SAMPLES[2]
    assert history.error == history.events[2].reason == "Conversion Error: Could not convert string 'many' to INT32"


def test_rows_that_could_not_be_read(said: dict[int, RowHistory], folder: Path) -> None:
    assert said[4].file == f"{folder / 'in.jsonl'}:5" and (said[4].fate, said[4].events) == ("quarantined", ())
    assert (said[4].error or "").startswith("malformed JSON")
    assert said[7].error == "'text' is null, not a text" and said[7].sample is None


def test_texts_chain_up_from_the_input_to_the_export(said: dict[int, RowHistory], folder: Path) -> None:
    kept = {row["id"]: row["text"] for row in map(json.loads, (folder / "run" / "out.jsonl").open(encoding="utf-8"))}
    assert set(kept) == {"a", "e"}
    for history in said.values():
        if history.sample is None:
            continue
        text = history.sample["text"]
        for event in history.events:
            if event.fate == "changed":
                assert event.before == text and event.after != text
                text = event.after
        if history.fate == "kept":
            assert text == kept[history.sample["id"]]


def test_rows_are_found_by_their_columns(histories: RowHistories) -> None:
    assert histories.find("id = 'd'") == [3]
    assert histories.find("id IN ('f', 'a') OR n = 'many'") == [0, 2, 6]
    assert histories.find("_row = 5") == [5]
    assert histories.find("text LIKE '%me@%'") == [0]  # the text as it was read
    with pytest.raises(DataError, match="holds for no row that could be read"):
        histories.find("id = 'nobody'")
    with pytest.raises(RecipeError, match="--where.*'idd'.*Did you mean 'id'"):
        histories.find("idd = 'a'")


def test_too_many_rows_are_not_found(tmp_path: Path) -> None:
    refine(tmp_path, [{"text": str(k)} for k in range(50)], STEPS[1:2])
    with RowHistories(tmp_path / "run") as histories, pytest.raises(DataError, match="more than 20 rows"):
        histories.find("TRUE")


@pytest.mark.parametrize("row", [-1, 8, 10**12])
def test_rows_that_there_are_not(histories: RowHistories, row: int) -> None:
    with pytest.raises(DataError, match=f"no row {row}: the run read rows 0 to 7"):
        histories.of(row)


def test_a_run_without_rows(tmp_path: Path) -> None:
    refine(tmp_path, [], STEPS[1:2])
    with RowHistories(tmp_path / "run") as histories, pytest.raises(DataError, match="no row 0: the run read none"):
        histories.of(0)


def test_a_history_is_one_json_object(said: dict[int, RowHistory]) -> None:
    found = json.loads(said[0].json())
    assert found["row"] == 0 and found["sample"] == SAMPLES[0] and found["events"][0]["after"] == "write to  "


# What has changed since


def test_a_changed_input_is_noticed(tmp_path: Path) -> None:
    run = refine(tmp_path, SAMPLES, STEPS[1:2])
    path = tmp_path / "in.jsonl"
    before = path.stat()
    data = path.read_bytes()
    path.write_bytes(data.replace(b"tiny", b"TINY"))
    for later in (5, 0):  # `cp -p` and `rsync -t` give a file its old time
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + later))
        with pytest.raises(DataError, match="the input has changed since the run .*in.jsonl"):
            RowHistories(run.work_dir)
    path.write_bytes(data + b"\n")
    with pytest.raises(DataError, match="the input has changed since the run"):
        RowHistories(run.work_dir)
    path.unlink()
    with pytest.raises(DataError, match="in.jsonl"):
        RowHistories(run.work_dir)


def test_a_changed_operator_is_noticed(tmp_path: Path) -> None:
    operators = operator_folder(tmp_path / "operators", shout="return text.upper()")
    run = refine(tmp_path, SAMPLES[:1], [{"shout_mapper": None}], operators=[str(operators)])
    with RowHistories(run.work_dir) as histories:
        assert histories.of(0).events[0].after == "WRITE TO ME@EXAMPLE.ORG "
    operator_folder(operators, shout="return text.title()")
    with pytest.raises(DataError, match="shout_mapper.py changed since the run"):
        RowHistories(run.work_dir)


def test_operators_of_the_command_line_are_remembered(tmp_path: Path) -> None:
    from refinery.execution.open import open_recipe
    from refinery.execution.run import execute

    operators = operator_folder(tmp_path / "operators", shout="return text.upper()")
    write_lines(tmp_path / "in.jsonl", SAMPLES[:1])
    outcome = execute(*open_recipe(settings(tmp_path, [{"shout_mapper": None}]), operators=[operators]))
    with RowHistories(outcome.run_dir.root) as histories:
        assert fates(histories.of(0)) == ["changed"]


def test_samples_that_were_handed_over_are_gone(tmp_path: Path) -> None:
    run = refinery.run(settings(tmp_path, STEPS[1:2]), dataset=pa.table({"text": ["one"]}))
    with pytest.raises(DataError, match="passed in from Python"):
        RowHistories(run.work_dir)


def test_a_folder_without_a_run(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no run here"):
        RowHistories(tmp_path)


# Other inputs


def test_steps_with_a_text_of_their_own(tmp_path: Path) -> None:
    samples = [{"meta": {"title": "MAIL me@example.org"}, "body": "the body"}]
    steps = [
        {"clean_email_mapper": {"text_key": "meta.title"}},
        {"sql_mapper": {"text": "lower(text)", "text_key": "meta.title"}},
        {"sql_mapper": {"text": "upper(text)"}},
        {"text_length_filter": {"text_key": "meta.title", "min_len": 50}},
    ]
    run = refine(tmp_path, samples, steps, text_keys="body")
    with RowHistories(run.work_dir) as histories:
        history = histories.of(0)
    assert [(event.before, event.after) for event in history.events] == [
        ("MAIL me@example.org", "MAIL "),
        ("MAIL ", "mail "),
        ("the body", "THE BODY"),
        (None, None),
    ]
    assert history.events[3].stats == {"text_len": 5} and history.fate == "removed"


def test_text_files_and_tables(tmp_path: Path) -> None:
    for name in ("b.txt", "a.txt", "c.md"):
        (tmp_path / "texts").mkdir(exist_ok=True)
        (tmp_path / "texts" / name).write_text(f"this is {name}")
    run = refinery.run(settings(tmp_path, STEPS[:2], dataset_path=tmp_path / "texts"))
    with RowHistories(run.work_dir) as histories:
        assert [histories.of(row).file for row in range(3)] == [
            str(tmp_path / "texts" / name) for name in ("a.txt", "b.txt", "c.md")
        ]
    (tmp_path / "table.csv").write_text('n,text\n1,"two\nlines"\n2,tiny\n')
    run = refinery.run(settings(tmp_path, STEPS[:2], dataset_path=tmp_path / "table.csv"))
    with RowHistories(run.work_dir) as histories:
        assert histories.of(0).sample == {"n": 1, "text": "two\nlines"}
        assert [fates(histories.of(row)) for row in (0, 1)] == [["unchanged", "kept"], ["unchanged", "removed"]]
        assert histories.find("n = 2") == [1]


def test_drawn_samples(tmp_path: Path) -> None:
    """Rows of a mixture are numbered among those that were drawn."""
    write_lines(tmp_path / "in.jsonl", [{"id": k, "text": f"number {k}"} for k in range(60)])
    dataset = {"max_sample_num": 9, "configs": [{"type": "local", "path": str(tmp_path / "in.jsonl")}]}
    keys = settings(tmp_path, STEPS[:2], shard_size=200)
    del keys["dataset_path"]
    run = refinery.run(keys | {"dataset": dataset})
    with RowHistories(run.work_dir) as histories:
        found = [histories.of(row) for row in range(9)]
    assert [history.sample["id"] for history in found] == [row["id"] for row in exported(run)]
    assert [history.file.rpartition(":")[2] for history in found] == [str(row["id"] + 1) for row in exported(run)]
    assert rows(run, "runs", "rows_read") == [(9,)]
