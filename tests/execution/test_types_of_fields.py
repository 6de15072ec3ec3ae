"""Runs over JSON fields whose values are late, rare, null, large or mixed: nothing is rounded, and NULL is null."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.errors import DataError, RecipeError
from refinery.execution.needs import ready
from refinery.execution.open import open_recipe


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def write(*samples: str, name: str = "in.jsonl") -> None:
    lines = [f'{{"text": "a b", "n": {at}, {sample}}}\n' for at, sample in enumerate(samples)]
    Path(name).write_text("".join(lines), encoding="utf-8")


def quarantined(run: refinery.Run) -> list[tuple[int, str]]:
    return run.sql("SELECT _row, error FROM quarantine ORDER BY _row").fetchall()


def ran(step: dict[str, Any], **keys: Any) -> refinery.Run:
    recipe = {"dataset_path": "in.jsonl", "export_path": "out.jsonl", "np": 1, "process": [step], **keys}
    return refinery.run(recipe, work_dir="run", overwrite=True)


def kept(step: dict[str, Any], **keys: Any) -> list[int]:
    """Numbers of the samples that a step keeps."""
    ran(step, **keys)
    return [json.loads(line)["n"] for line in Path("out.jsonl").read_text(encoding="utf-8").splitlines()]


def test_a_late_value_decides_the_type_in_every_shard() -> None:
    write(*(['"v": 1'] * 50), '"v": 0.4', '"late": true')
    where = {"sql_filter": {"where": "v < 1 OR late"}}
    assert kept(where) == kept(where, shard_size=100) == [50, 51]


def test_appended_lines_that_change_a_type_change_the_results_of_all_shards() -> None:
    write('"v": 9007199254740992', '"v": 9007199254740993')
    key = {"key_deduplicator": {"key": "v"}}
    assert kept(key, shard_size=50) == [0, 1]
    write('"v": 9007199254740992', '"v": 9007199254740993', '"v": 0.5', '"v": "x"')
    assert kept(key, shard_size=50) == [0, 1, 2, 3]


def test_the_input_is_not_looked_at_where_no_sql_names_a_field(monkeypatch: pytest.MonkeyPatch) -> None:
    write('"v": 1')
    monkeypatch.setattr("refinery.planning.input_schema.profile_of", lambda *_, **__: pytest.fail("a scan"))
    assert kept({"sql_filter": {"where": "length(text) > 1 AND text NOT LIKE 'x%'"}}) == [0]


def test_declared_types_keep_what_fits_exactly() -> None:
    write('"v": 0.5', '"v": "n/a"', '"v": 9007199254740993', '"v": null', '"w": 1', '"v": 7')
    run = ran({"sql_filter": {"where": "v IS NULL OR v < 10"}}, fields={"v": "DOUBLE"})
    assert run.counts.kept == 4
    (first, second) = quarantined(run)
    assert first[0] == 1 and "field v is declared as DOUBLE, which does not hold" in first[1]
    assert second[0] == 2 and "9007199254740993" in second[1]


def test_declared_types_of_nested_fields() -> None:
    write('"m": {"id": 18446744073709551615, "l": "a"}', '"m": {"id": -1}', '"m": {"id": 1.5}', '"m": null')
    run = ran({"sql_filter": {"where": "m.id > 9223372036854775808"}}, fields={"m.id": "UBIGINT"})
    assert [row for row, _ in quarantined(run)] == [1, 2]
    assert run.counts.kept == 1


def test_declarations_that_are_wrong_are_refused() -> None:
    write('"v": 1')
    step = {"sql_filter": {"where": "v = 1"}}
    with pytest.raises(RecipeError, match="there is no type 'DUBLE'. Did you mean 'DOUBLE'"):
        kept(step, fields={"v": "DUBLE"})
    with pytest.raises(RecipeError, match="there is no type"):
        kept(step, fields={"v": "DOUBLE) AS x, (SELECT 1"})
    with pytest.raises(DataError, match="declares v.x, but v is BIGINT"):
        kept(step, fields={"v.x": "DOUBLE"})


def test_names_with_escapes_dots_and_quotes() -> None:
    write('"a\\u002eb": 1', '"a.b": 2, "q\\"x": 3', '"A.B": 2')
    assert kept({"sql_filter": {"where": '"a.b" = 2 AND "q""x" = 3'}}) == [1]


def test_the_last_of_repeated_keys_counts() -> None:
    write('"v": "x", "v": 1', '"v": 2')
    assert kept({"sql_filter": {"where": "v + 1 = 2"}}) == [0]


def test_unreadable_lines_decide_no_type() -> None:
    write('"v": 1')
    with Path("in.jsonl").open("a", encoding="utf-8") as file:
        file.write('{"text": "a", "n": 1, "v": "x"\n')
    assert kept({"sql_filter": {"where": "v + 1 = 2"}}, max_quarantined=1) == [0]


def test_an_order_of_mixed_values_is_refused() -> None:
    write('"v": 1', '"v": "x"')
    with pytest.raises(RecipeError, match="values of several types, which have no order"):
        kept({"key_deduplicator": {"key": "text", "keep": "v DESC"}})


def test_check_says_that_it_has_seen_a_part_and_a_run_sees_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("refinery.planning.input_schema.WHOLE", 100)
    monkeypatch.setattr("refinery.planning.input_schema.PART", 100)
    write(*(['"v": 1'] * 20), '"v": "x"')
    recipe, library = open_recipe(
        {"dataset_path": "in.jsonl", "process": [{"sql_filter": {"where": "v = 1"}}]}, {"shard_size": 100}
    )
    (note,) = [note for note in ready(recipe, library).notes if "types of fields" in note]
    assert "a run looks at all values" in note
    run = ready(recipe, library, runs=True)
    assert run.schema.columns["v"] == "JSON" and not [note for note in run.notes if "types of fields" in note]


def test_the_language_of_a_sample_has_no_quotes_beside_other_types() -> None:
    write('"language": "en", "language_score": 0.5', '"language": 3', '"language": null')
    run = ran({"lang_stats": {"language": "en"}})
    assert run.sql("SELECT fasttext_en FROM stats ORDER BY _row").fetchall() == [(0.5,), (None,), (None,)]
