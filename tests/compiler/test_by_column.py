"""Parameters that depend on a column: every sample is judged as a recipe of its own language would."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import refinery
from refinery.errors import RecipeError
from tests.compiled import run_samples
from tests.examples import share_of

SHAPED = '''
import pyarrow as pa

OPERATOR = {
    "doc": "Count listed words; by `least` of them, or by the number two, a sample stays.",
    "version": 1,
    "params": {
        "words": {"type": "list[str]", "default": ["a"], "doc": "Words."},
        "least": {"type": "float", "default": 0.5, "nullable": True, "doc": "Fewest words; null: any number."},
        "rule": {"type": "str", "default": "least", "choices": ["least", "not_two"], "doc": "Rule."},
    },
    "stats": {"n_listed": {"type": "BIGINT", "doc": "Listed words."}},
    "functions": {
        "n_listed_words": {
            "columns": ["VARCHAR"], "constants": ["VARCHAR[]"], "returns": "BIGINT", "runs": "python", "call": "count",
        }
    },
    "sql": """
        SELECT n_listed_words({{ text }}, {{ words | lit }}) AS n_listed,
        {% if rule == 'least' %}
        {% if least is not none %}n_listed >= {{ least | lit }} AS keep_few{% endif %}
        {% else %}n_listed <> 2 AS keep_two
        {% endif %}
    """,
}


def count(column, words):
    return pa.array([None if t is None else sum(w in words for w in t.split()) for t in column.to_pylist()], pa.int64())
'''

TEXTS = st.lists(st.sampled_from(["a", "b", "c", "dd"]), max_size=6).map(" ".join)
COLUMNS = {"language": "VARCHAR"}
LANGUAGES = st.sampled_from(["fra", "deu", "spa", "it's", None])


@pytest.fixture(scope="module")
def operators(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("operators")
    (folder / "filters").mkdir()
    (folder / "filters" / "shaped_filter.py").write_text(SHAPED, encoding="utf-8")
    return str(folder)


@pytest.mark.parametrize(
    ("step", "by_language", "default"),
    [
        ("text_length_filter", {"fra": {"min_len": 2, "max_len": 5}, "it's": {"min_len": 0, "max_len": 1}}, {"min_len": 3, "max_len": 9}),
        ("special_characters_filter", {"fra": {"max_ratio": 0.1}, "deu": {"max_ratio": 0.45}}, {"max_ratio": 0.3}),
        ("shaped_filter", {"fra": {"words": ["b"], "rule": "not_two"}, "deu": {"words": ["c", "dd"], "rule": "least"}}, {"words": ["a"], "rule": "least"}),
        ("shaped_filter", {"fra": {"least": None}, "deu": {"least": 2.0}}, {"least": 1.0}),
    ],
)  # fmt: skip
@settings(max_examples=share_of(60, 12))
@given(samples=st.lists(st.tuples(TEXTS, LANGUAGES), min_size=1, max_size=8))
def test_samples_are_judged_by_the_values_of_their_column(
    operators: str,
    step: str,
    by_language: dict[str, Any],
    default: dict[str, Any],
    samples: list[tuple[str, str | None]],
) -> None:
    names = dict.fromkeys([*default, *(name for one in by_language.values() for name in one)])
    params = {
        name: {
            "language": {
                **{k: one[name] for k, one in by_language.items() if name in one},
                "default": default.get(name),
            }
        }
        for name in names
    }
    rows = [{"text": text, "language": language} for text, language in samples]
    together = run_samples(rows, [{step: params}], columns=COLUMNS, operators=[operators])
    for row, outcome in zip(rows, together, strict=True):
        own = {**default, **by_language.get(row["language"] or "", {})}
        (alone,) = run_samples([row], [{step: own}], columns=COLUMNS, operators=[operators])
        assert (outcome["kept"], outcome["reason"], outcome["error"]) == (
            alone["kept"],
            alone["reason"],
            alone["error"],
        )
        assert {name: outcome["stats"][name] for name in alone["stats"]} == alone["stats"]


def recipe(folder: Path, process: list[Any]) -> dict[str, Any]:
    lines = [{"text": "abcd", "lang": lang} for lang in ("fra", "deu", "spa", None)]
    (folder / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    paths = {"dataset_path": str(folder / "in.jsonl"), "export_path": str(folder / "kept.jsonl")}
    return {**paths, "work_dir": str(folder / "work"), "process": process, "np": 1}


def test_ledger_and_statistics_have_the_bound_of_each_sample(tmp_path: Path) -> None:
    refinery.run(recipe(tmp_path, [{"text_length_filter": {"min_len": {"lang": {"fra": 5, "deu": 2, "default": 9}}}}]))
    with duckdb.connect(str(tmp_path / "work" / "refinery.duckdb"), read_only=True) as db:
        ledger = db.sql("SELECT _row, reason, value, bound FROM ledger ORDER BY _row").fetchall()
        stats = db.sql("SELECT _row, min_len FROM stats ORDER BY _row").fetchall()
    assert ledger == [(row, "text_len below min_len", 4.0, bound) for row, bound in ((0, 5.0), (2, 9.0), (3, 9.0))]
    assert stats == [(0, 5), (1, 2), (2, 9), (3, 9)]


@pytest.mark.parametrize("form", ["file", "short", "folder", "folder with keys"])
def test_values_may_be_in_files(tmp_path: Path, form: str) -> None:
    (tmp_path / "least.yaml").write_text("fra: 5\ndeu: 2\n", encoding="utf-8")
    (tmp_path / "languages").mkdir()
    for name, least in (("fra", 5), ("deu", 2)):
        (tmp_path / "languages" / f"{name}.yml").write_text(f"min_len: {least}\nother: {least}\n", encoding="utf-8")
    value = {
        "file": {"by": "lang", "file": str(tmp_path / "least.yaml"), "default": 9},
        "short": {"lang": str(tmp_path / "least.yaml"), "default": 9},
        "folder": {"lang": str(tmp_path / "languages"), "default": 9},
        "folder with keys": {"by": "lang", "folder": str(tmp_path / "languages"), "key": "other", "default": 9},
    }[form]
    refinery.run(recipe(tmp_path, [{"text_length_filter": {"min_len": value}}]))
    kept = [json.loads(line)["lang"] for line in (tmp_path / "kept.jsonl").read_text().splitlines()]
    assert kept == ["deu"]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ({"lang": {"fra": 5}}, "no default"),
        ({"lang": {"fra": "many", "default": 5}}, "whole number"),
        ({"lang": {"fra": 1, "default": 5}, "script": {"Latn": 2}}, "not of one column"),
        ({"by": "lang", "vallues": {"fra": 1}, "default": 5}, "'vallues'"),
        ({"lang": "missing.yaml", "default": 5}, "missing.yaml"),
        ({"lang": {"default": 5}}, "no values"),
    ],
)
def test_mistakes_are_named(tmp_path: Path, value: Any, message: str) -> None:
    with pytest.raises(RecipeError, match=message):
        refinery.run(recipe(tmp_path, [{"text_length_filter": {"min_len": value}}]))


def test_an_unknown_column_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RecipeError, match="langg"):
        refinery.run(recipe(tmp_path, [{"text_length_filter": {"min_len": {"langg": {"fra": 5, "default": 1}}}}]))


def test_a_bound_may_depend_on_what_the_filter_measures(tmp_path: Path) -> None:
    (tmp_path / "lengths.jsonl").write_text(
        "".join(f'{{"text": "{"x" * n}"}}\n' for n in (3, 4, 5, 12)), encoding="utf-8"
    )
    process = [{"text_length_filter": {"min_len": 0, "max_len": {"text_len": {"4": 3, "5": 5, "default": 10}}}}]
    refinery.run({**recipe(tmp_path, process), "dataset_path": str(tmp_path / "lengths.jsonl")})
    with duckdb.connect(str(tmp_path / "work" / "refinery.duckdb"), read_only=True) as db:
        ledger = db.sql("SELECT value, bound FROM ledger ORDER BY _row").fetchall()
    assert ledger == [(4.0, 3.0), (12.0, 10.0)]


def test_a_value_within_json_is_each_samples_own(tmp_path: Path) -> None:
    (tmp_path / "task.jsonl").write_text('{"query": "x", "label": "one two three four five"}')
    ngrams = {"evaluation": str(tmp_path / "task.jsonl"), "n_grams": {"language": {"fra": 3, "default": 5}}}
    samples = [{"text": "one two three four", "language": language} for language in ("fra", "deu", None)]
    rows = run_samples(samples, [{"ngram_decontamination_filter": ngrams}], columns=COLUMNS)
    assert [row["kept"] for row in rows] == [False, True, True]
    page = "<body><main><h1>The weir</h1><p>The old weir was repaired in April.</p></main></body>"
    extract = {"by": "resiliparse", "timeout": {"language": {"fra": 30, "default": 40}}}
    pages = [{"text": page, "language": language} for language in ("fra", "deu")]
    [text] = {row["text"] for row in run_samples(pages, [{"extract_html_mapper": extract}], columns=COLUMNS)}
    assert text == "The weir\n\nThe old weir was repaired in April."
