"""The ledger names what a sample broke: the term of a predicate, its value and bound, or the value that is NULL."""

from __future__ import annotations

import base64
import zlib
from pathlib import Path
from typing import Any

import pytest

import refinery
from refinery.operators import Library

ROWS: list[dict[str, Any]] = [
    {"text": "a text of some words", "rating": 5, "lang": "en", "meta": {"k": "x"}},
    {"text": "a text of some words", "rating": 1, "lang": "en", "meta": {"k": "x"}},
    {"text": "a text of some words", "rating": None, "lang": "en", "meta": {"k": "x"}},
    {"text": "a text of some words", "rating": 5, "lang": None, "meta": {"k": "x"}},
    {"text": "a text of some words", "rating": 5, "lang": "en", "meta": {"k": None}},
    {"text": "nothing", "rating": 5, "lang": "en", "meta": {"k": "x"}},
]


def ledger(folder: Path, *process: Any, rows: list[dict[str, Any]] = ROWS, **keys: Any) -> dict[int, tuple[Any, ...]]:
    """Reason, statistic, value and bound of each removed row."""
    recipe = {"process": list(process), "export_path": str(folder / "out" / "out.jsonl"), **keys}
    run = refinery.run(recipe, dataset=rows)
    found = run.sql("SELECT _row, reason, statistic, value, bound FROM ledger ORDER BY _row").fetchall()
    return {row: tuple(cells) for row, *cells in found}


def test_the_term_that_failed_is_the_reason(tmp_path: Path) -> None:
    where = "rating > 2 AND (lang = 'en' AND text LIKE 'a %') AND meta.k IS NOT NULL"
    assert {row: cells[0] for row, cells in ledger(tmp_path, {"sql_filter": {"where": where}}).items()} == {
        1: "not kept by where: rating > 2",
        2: "rating is NULL: rating > 2",
        3: "lang is NULL: lang = 'en'",
        4: "not kept by where: meta.k IS NOT NULL",
        5: "not kept by where: text LIKE 'a %'",
    }


def test_a_predicate_without_and_names_what_is_null(tmp_path: Path) -> None:
    found = ledger(tmp_path, {"sql_filter": {"where": "rating BETWEEN 2 AND 9 OR lang IS NULL"}})
    assert {row: cells[0] for row, cells in found.items()} == {
        1: "not kept by where: rating BETWEEN 2 AND 9 OR lang IS NULL",
        2: "rating is NULL: rating BETWEEN 2 AND 9 OR lang IS NULL",
    }


def test_a_term_on_a_statistic_has_value_and_bound(tmp_path: Path) -> None:
    process = [{"text_length_filter": {"min_len": 1}}, {"sql_filter": {"where": "text_len < 100 AND text_len > 10"}}]
    assert ledger(tmp_path, *process) == {5: ("not kept by where: text_len > 10", "text_len", 7.0, 10.0)}


def test_words_of_the_user_stay_as_they_are(tmp_path: Path) -> None:
    found = ledger(tmp_path, {"sql_filter": {"where": "rating is not null and Text like '%words' AND Lang in ('en')"}})
    assert found[2][0] == "not kept by where: rating is not null"
    assert found[5][0] == "not kept by where: Text like '%words'"


def test_a_term_is_not_computed_after_one_that_is_not_true(tmp_path: Path) -> None:
    rows = [{"text": "a", "n": "7"}, {"text": "b", "n": "seven"}]
    where = "regexp_full_match(n, '[0-9]+') AND CAST(n AS INTEGER) > 5"
    found = ledger(tmp_path, {"sql_filter": {"where": where}}, rows=rows)
    assert {row: cells[0] for row, cells in found.items()} == {1: "not kept by where: regexp_full_match(n, '[0-9]+')"}


def model(folder: Path) -> str:
    """A model of languages, from an example of the operator."""
    example = Library().operators["language_id_score_filter"].examples[0]
    (name, content), *_ = example["files"].items()
    (folder / name).write_bytes(zlib.decompress(base64.b64decode(content["zlib"])))
    return str(folder / name)


@pytest.mark.parametrize(("lang", "wanted"), [("en", "en"), (["en", "fr"], "one of en, fr")])
def test_a_language_is_named_with_the_wanted_one(tmp_path: Path, lang: Any, wanted: str) -> None:
    rows = [{"text": "der tag"}, {"text": "the the"}, {"text": "the der"}]
    step = {"language_id_score_filter": {"lang": lang, "min_score": 0.97, "model": model(tmp_path)}}
    found = ledger(tmp_path, step, rows=rows)
    assert found[0] == (f"lang is de, not {wanted}", "lang", None, None)
    assert {cells[:2] for cells in found.values()} <= {
        (f"lang is de, not {wanted}", "lang"),
        ("lang_score below min_score", "lang_score"),
    }


@pytest.mark.parametrize(("languages", "wanted"), [("en", "en"), (["en", "fr"], "one of en, fr")])
def test_a_language_filter_names_what_the_text_is(tmp_path: Path, languages: Any, wanted: str) -> None:
    rows = [{"text": "der tag"}, {"text": "the the"}, {"text": "the"}]
    step = {"language_filter": {"languages": languages, "language_threshold": 0.97, "model": model(tmp_path)}}
    found = ledger(tmp_path, step, rows=rows)
    assert found[0] == (f"language is de, not {wanted}", "language", None, None)
    assert found[2] == ("not kept by language_score > 0.97", "language_score", pytest.approx(0.9525841), 0.97)
    assert set(found) == {0, 2}


def test_a_condition_of_a_user_is_named_with_all_of_its_parts(tmp_path: Path) -> None:
    found = ledger(tmp_path, {"sql_filter": {"where": "lang = 'fr' OR rating > 4"}}, rows=ROWS[1:2])
    assert found[0][0] == "not kept by where: lang = 'fr' OR rating > 4"


@pytest.mark.parametrize("keep", ["false", "{{ text }} = ''"])
def test_reasons_have_no_folders(tmp_path: Path, keep: str) -> None:
    header = "/*---\ndoc: A test.\nversion: 1\nparams: {list: {type: file}, least: {type: int}}\n---*/\n"
    (tmp_path / "ops" / "filters").mkdir(parents=True)
    (tmp_path / "ops" / "filters" / "own_filter.sql").write_text(f"{header}SELECT {keep} AS keep")
    (tmp_path / "words.txt").write_text("x")
    step = {"own_filter": {"list": str(tmp_path / "words.txt"), "least": 3}}
    reason = ledger(tmp_path, step, rows=ROWS[:1], operators=[str(tmp_path / "ops")])[0][0]
    assert str(tmp_path) not in reason


def test_a_statistic_that_is_null_is_the_reason(tmp_path: Path) -> None:
    header = "/*---\ndoc: A test.\nversion: 1\nstats: {size: {type: BIGINT}}\n"
    header += "params: {least: {type: int, default: 1}, most: {type: int, default: 9}}\n"
    body = "bounds: {size: [least, most]}\n---*/\nSELECT nullif(length({{ text }}), 7) AS size"
    (tmp_path / "ops" / "filters").mkdir(parents=True)
    (tmp_path / "ops" / "filters" / "own_filter.sql").write_text(header + body)
    found = ledger(tmp_path, {"own_filter": {}}, rows=[ROWS[0], ROWS[5]], operators=[str(tmp_path / "ops")])
    assert found == {0: ("size above most", "size", 20.0, 9.0), 1: ("size is NULL", "size", None, None)}
