"""Scripts over lines that are no samples: they run to their end, and keep what a run keeps."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import duckdb
import pytest

import refinery
from refinery.operators.home import shipped


def test_lines_that_are_not_utf_8_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    good = [json.dumps({"id": number, "text": "long enough" if number else "no"}) for number in range(3)]
    lines = [good[0].encode(), b'{"text": "\xff"}', b"", good[1].encode(), b"no JSON", good[2].encode()]
    Path("docs.jsonl").write_bytes(b"\n".join(lines) + b"\n")
    recipe = {
        "dataset_path": "docs.jsonl",
        "export_path": "script.jsonl",
        "process": [{"text_length_filter": {"min_len": 5}}],
    }
    script = refinery.compile(recipe)
    assert "Lines that are not UTF-8 are left out" in script
    with duckdb.connect() as con:
        con.execute(script).fetchall()
        assert con.execute("SELECT line FROM reject_errors").fetchall() == [(2,)]
        assert con.execute("SELECT raw FROM quarantine").fetchall() == [("no JSON",)]
    assert Path("script.jsonl").read_text(encoding="utf-8").splitlines() == good[1:]


DIRTY = [
    b'{"id": 1,  "text": "two  spaces and \\u00e9 \\/ escaped",  "n": 1.0}  ',
    b'{"text": "a comma, ]", "more": [1, 2,]}',
    b'{"text": "a comma too many", }',
    b'{"text": "no comma  too many, ] here", "list": ["a","b"] }',
    b'{"text": null}',
    b'{"title": "no text  at all"}',
    b"   ",
    b"no JSON",
    b'[{"text": "an array"}]',
    b'{"text": "not  UTF-8 \xff"}',
    b'\t{"text": "after  white space"}',
    '{"text": "caf\u00e9  \U0001f600", "\u00fc": "\u00e9"}'.encode(),
    b'{"text": "unchanged text", "big": 12345678901234567890, "e": 1E5}',
]
# Keys that stand twice: of the sample, within a value, spelt otherwise.
TWICE = [
    b'{"text":"a  1","text":"b  2"}',
    b'{"a": 1, "text":"cccc",  "a" :2.0,"text":"d  \\u00e9",  "z" : 1E5 }  ',
    b'{"text":"unchanged", "t\\u0065xt": "unchanged too"}',
    b'{"text": "inside  of", "m": {"k": 1, "l": [{"k": 1,"k": 2}], "k": {"k": 2}} }',
]
STEPS: list[Any] = [{"whitespace_normalization_mapper": {}}, {"text_length_filter": {"min_len": 5}}]


def both(recipe: Any, folder: Path, **keys: Any) -> tuple[refinery.Run, list[tuple[str]]]:
    """Run a recipe and its script, whose exports must be the same bytes; the run, and the quarantine of the script."""
    run = refinery.run(recipe, work_dir=str(folder / "run"), export_path=str(folder / "run.jsonl"), **keys)
    script = refinery.compile(recipe, work_dir=str(folder / "run"), export_path=str(folder / "script.jsonl"), **keys)
    with duckdb.connect() as con:
        refinery.register(con)
        con.execute(script).fetchall()
        found = con.execute("SELECT raw FROM quarantine ORDER BY _row").fetchall()
    assert (folder / "script.jsonl").read_bytes() == (folder / "run.jsonl").read_bytes()
    return run, found


MORE: list[Any] = [{"document_deduplicator": {}}, {"fix_unicode_mapper": {}}]
KEYS = {"keep_stats_in_res_ds": True, "add_suffix": True}


@pytest.mark.parametrize(
    ("keys", "more"),
    [
        pytest.param({}, [], id="plain-one", marks=pytest.mark.long),
        pytest.param({}, MORE, id="plain-stages", marks=pytest.mark.long),
        pytest.param(KEYS, [], id="stats-one", marks=pytest.mark.long),
        pytest.param(KEYS, MORE, id="stats-stages"),
    ],
)
def test_exports_are_the_bytes_of_the_run(more: list[Any], keys: dict[str, Any], tmp_path: Path) -> None:
    (tmp_path / "in.jsonl").write_bytes(b"\n".join(DIRTY + TWICE) + b"\n")
    recipe = {"dataset_path": str(tmp_path / "in.jsonl"), "process": [*STEPS, *more]}
    run, found = both(recipe, tmp_path, **keys)
    quarantine = run.sql("SELECT raw FROM quarantine WHERE raw IS NOT NULL ORDER BY _row").fetchall()
    assert found == quarantine and len(found) == 6


@pytest.mark.parametrize(
    "name", ["web_sample", *(pytest.param(name, marks=pytest.mark.long) for name in ("web_dedup", "papers"))]
)
def test_shipped_recipes(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(shipped())
    run, found = both(f"recipes/{name}.yaml", tmp_path, open_tracer=False)
    assert len(found) == run.sql("SELECT count(*) FROM quarantine WHERE raw IS NOT NULL").fetchall()[0][0]


def test_keys_that_stand_twice_without_functions(tmp_path: Path) -> None:
    """DuckDB alone writes the values of a run, compactly, and the script says so."""
    (tmp_path / "in.jsonl").write_bytes(b"\n".join(TWICE[:3]) + b"\n")
    recipe = {
        "dataset_path": str(tmp_path / "in.jsonl"),
        "process": [{"sql_mapper": {"text": "replace(text, 'b ', 'B ')"}}],
    }
    refinery.run(recipe, work_dir=str(tmp_path / "run"), export_path=str(tmp_path / "run.jsonl"))
    script = refinery.compile(recipe, export_path=str(tmp_path / "script.jsonl"))
    head = " ".join(line.removeprefix("-- ") for line in script.splitlines() if line.startswith("-- "))
    assert "A line that holds a key twice is written as compact JSON as well, whatever the steps do with it" in head
    duckdb.execute(script)
    ran, made = ((tmp_path / name).read_text().splitlines() for name in ("run.jsonl", "script.jsonl"))
    assert ran[0] == made[0] == '{"text":"B  2"}'
    assert list(map(json.loads, ran)) == list(map(json.loads, made))
    assert made == [json.dumps(json.loads(line), separators=(",", ":"), ensure_ascii=False) for line in made]
