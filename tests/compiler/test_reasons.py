"""Filters with several named conditions, and operators that both change a text and remove samples."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

import refinery
from tests.compiled import run_samples

FILTER = """/*---
doc: Keep texts of min_n to max_n characters without a brace, and take x out of them.
version: 1
params:
  min_n: {type: int, default: 3, nullable: true, doc: Fewest characters.}
  max_n: {type: int, default: 6, nullable: true, doc: Most characters.}
  braces: {type: bool, default: false, doc: Keep braces.}
stats:
  n_chars: {type: BIGINT, doc: Characters.}
---*/
SELECT length({{ text }}) AS n_chars,
  {% if min_n is not none %}n_chars >= {{ min_n | lit }} AS keep_too_short,{% endif %}
  {% if max_n is not none %}n_chars <= {{ max_n | lit }} AS keep_too_long,{% endif %}
  {% if not braces %}NOT contains({{ text }}, '{') AS keep_curly_bracket,{% endif %}
  replace({{ text }}, 'x', '') AS text
"""

MODIFIER = """/*---
doc: Take a out of texts, and remove those of nothing else.
version: 1
params: {}
---*/
SELECT replace({{ text }}, 'a', '') AS _rest, nullif(_rest, {{ text }}) AS delta, _rest <> '' AS keep_empty
"""

TEXTS = ["ab", "abcx", "abcdefghij", "abc{", "aaa", "bbbb", "xxxx"]


@pytest.fixture
def operators(tmp_path: Path) -> str:
    for kind, name, body in (("filters", "trim_filter", FILTER), ("mappers", "trim_modifier", MODIFIER)):
        path = tmp_path / "operators" / kind / f"{name}.sql"
        path.parent.mkdir(parents=True)
        path.write_text(body, encoding="utf-8")
    return str(tmp_path / "operators")


def outcomes(operators: str, **params: Any) -> list[tuple[str, str | None]]:
    steps: list[Any] = [{"trim_filter": params}, {"trim_modifier": None}]
    rows = run_samples([{"text": text} for text in TEXTS], steps, operators=[operators])
    assert all(row["error"] is None for row in rows)
    return [(row["text"], row["reason"]) for row in rows]


def test_the_first_condition_that_is_not_true_is_the_reason(operators: str) -> None:
    reasons = [reason for _, reason in outcomes(operators)]
    assert reasons == ["too_short", None, "too_long", "curly_bracket", "empty", None, "empty"]


def test_conditions_that_are_off_remove_nothing(operators: str) -> None:
    reasons = [reason for _, reason in outcomes(operators, min_n=None, max_n=None, braces=True)]
    assert reasons == [None, None, None, None, "empty", None, "empty"]


def test_a_filter_changes_the_samples_that_it_keeps(operators: str, tmp_path: Path) -> None:
    recipe = recipe_over(tmp_path, operators, [{"trim_filter": {}}])
    refinery.run(recipe)
    kept = [json.loads(line)["text"] for line in (tmp_path / "kept.jsonl").read_text().splitlines()]
    assert kept == ["abc", "aaa", "bbbb", ""]


def test_tables_have_reason_value_bound_and_changes(operators: str, tmp_path: Path) -> None:
    refinery.run(recipe_over(tmp_path, operators, [{"trim_filter": {}}, {"trim_modifier": None}], open_tracer=True))
    with duckdb.connect(str(tmp_path / "work" / "refinery.duckdb"), read_only=True) as db:
        ledger = db.sql("SELECT _row, step, reason, statistic, value, bound FROM ledger ORDER BY _row").fetchall()
        steps = db.sql("SELECT rows_in, removed, changed FROM steps ORDER BY step").fetchall()
        trace = db.sql("SELECT step, _row, processed_text FROM trace ORDER BY step, _row").fetchall()
    assert ledger == [
        (0, 1, "too_short", "n_chars", 2.0, 3.0),
        (2, 1, "too_long", "n_chars", 10.0, 6.0),
        (3, 1, "curly_bracket", None, None, None),
        (4, 2, "empty", None, None, None),
        (6, 2, "empty", None, None, None),
    ]
    assert steps == [(7, 3, 2), (4, 2, 2)]
    assert trace == [
        (1, 0, None), (1, 1, "abc"), (1, 2, None), (1, 3, None), (1, 6, ""), (2, 1, "bc"), (2, 4, ""), (2, 6, None),
    ]  # fmt: skip


def recipe_over(folder: Path, operators: str, process: list[Any], **keys: Any) -> dict[str, Any]:
    (folder / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in TEXTS), encoding="utf-8")
    paths = {"dataset_path": str(folder / "in.jsonl"), "export_path": str(folder / "kept.jsonl")}
    return {**paths, "work_dir": str(folder / "work"), "operators": [operators], "process": process, "np": 1, **keys}
