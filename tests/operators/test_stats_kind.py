"""Operators of the kind stats: they measure, change nothing, remove nothing."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import refinery
from refinery.cli import main
from refinery.compiler.chain import compile_chain
from refinery.compiler.model import Schema
from refinery.errors import OperatorError, RecipeError
from refinery.execution.open import open_recipe
from refinery.operators import Library, read_operator

HEADER = """/*---
doc: Counts letters.
version: 1
params:
  letters: {type: "list[str]", default: [a, b]}
  name: {type: str, default: x}
stats:
  "n_{letters}": {type: BIGINT, doc: How often.}
  "share_{letters[0]}": {type: DOUBLE, doc: Of the first.}
  "length_{name}": {type: BIGINT, doc: Characters.}
---*/
SELECT
  length({{ text }}) AS _length,
  {% for letter in letters | unique %}
  length({{ text }}) - length(replace({{ text }}, {{ letter | lit }}, '')) AS {{ ('n_' ~ letter) | ident }},
  {% endfor %}
  (length({{ text }}) - length(replace({{ text }}, {{ letters[0] | lit }}, ''))) / nullif(_length, 0)
    AS {{ ('share_' ~ letters[0]) | ident }},
  _length AS {{ ('length_' ~ name) | ident }}
"""


@pytest.fixture
def operators(tmp_path: Path) -> Path:
    folder = tmp_path / "own" / "statistics"
    folder.mkdir(parents=True)
    (folder / "letter_stats.sql").write_text(HEADER, encoding="utf-8")
    return folder.parent


def recipe(tmp_path: Path, operators: Path, *process: object) -> dict[str, object]:
    texts = ["abab", "", "x" * 40, "aAé"]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": t}) + "\n" for t in texts), encoding="utf-8")
    return {
        "project_name": "stats",
        "dataset_path": str(tmp_path / "in.jsonl"),
        "export_path": str(tmp_path / "out" / "kept.jsonl"),
        "operators": [str(operators)],
        "process": list(process),
    }


def test_names_depend_on_parameters(operators: Path) -> None:
    operator = Library((operators,)).operators["letter_stats"]
    assert operator.kind == "stats"
    found = operator.stats_of({"letters": ("q", "r", "q"), "name": 7})
    assert list(found) == ["n_q", "n_r", "share_q", "length_7"]
    assert list(operator.stats_of({"letters": [], "name": "x"})) == ["length_x"]


def test_measures_and_keeps_everything(tmp_path: Path, operators: Path) -> None:
    run = refinery.run(recipe(tmp_path, operators, {"letter_stats": None}))
    assert run.counts.kept == 4
    columns = [row[0] for row in run.sql("DESCRIBE stats").fetchall()]
    assert columns == ["_row", "kept", "n_a", "n_b", "share_a", "length_x"]
    rows = run.sql("SELECT * FROM stats ORDER BY _row").fetchall()
    assert rows[0] == (0, True, 2, 2, 0.5, 4)
    assert rows[1] == (1, True, 0, 0, None, 0)
    assert rows[3][2:] == (1, 0, pytest.approx(1 / 3), 3)
    assert run.sql("SELECT kind, rows_in, rows_out, removed, changed FROM steps").fetchall() == [("stats", 4, 4, 0, 0)]
    assert run.sql("SELECT count(*) FROM ledger").fetchall() == [(0,)]
    kept = [json.loads(line) for line in run.outputs[0].read_text(encoding="utf-8").splitlines()]
    assert [sample["text"] for sample in kept] == ["abab", "", "x" * 40, "aAé"]


def test_removed_samples_are_not_measured_and_later_steps_see_the_statistics(tmp_path: Path, operators: Path) -> None:
    steps = (
        {"text_length_filter": {"min_len": 1}},
        {"letter_stats": {"letters": ["A"]}},
        {"letter_stats": None},
        {"sql_filter": {"where": "n_a_3 > 0"}},
    )
    run = refinery.run(recipe(tmp_path, operators, *steps))
    rows = run.sql('SELECT _row, "n_A", n_a_3, length_x, length_x_3 FROM stats ORDER BY _row').fetchall()
    assert rows == [(0, 0, 2, 4, 4), (1, None, None, None, None), (2, 0, 0, 40, 40), (3, 1, 1, 3, 3)]
    fates = run.sql("SELECT _row, operator FROM ledger ORDER BY _row").fetchall()
    assert fates == [(1, "text_length_filter"), (2, "sql_filter")]


def test_example_through_the_compiler(operators: Path) -> None:
    opened, library = open_recipe(
        {"process": [{"letter_stats": None}], "operators": [str(operators)]}, need_inputs=False
    )
    chain = compile_chain(opened.steps, library, Schema(True))
    assert [stat.column for stat in chain.stats] == ["n_a", "n_b", "share_a", "length_x"]
    assert chain.alive == {}
    assert chain.dropped() == "CAST(NULL AS INTEGER)"


def test_commands_know_the_kind(
    tmp_path: Path, operators: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = recipe(tmp_path, operators, {"letter_stats": None}, {"text_length_filter": {"min_len": 3}})
    path = tmp_path / "recipe.json"
    path.write_text(json.dumps(given), encoding="utf-8")

    def said(*arguments: str) -> str:
        monkeypatch.setattr(sys, "argv", ["refinery", *arguments])
        main.main()
        return capsys.readouterr().out

    said("run", str(path), "--open_tracer", "true", "--trace_num", "5")
    run = str(tmp_path / "out")
    assert "letter_stats" in said("why", "1", "--run", run)
    assert "n_a = 2" in said("why", "0", "--run", run)
    assert "letter_stats" in said("sql", str(path), "--explain")
    assert "length_x" in said("sql", str(path))
    assert "letter_stats" in said("sql", str(path), "--lineage", "share_a")
    assert "letter_stats" in said("ops", "--operators", str(operators))
    assert "n_{letters}" in said("ops", "letter_stats", "--operators", str(operators))


def test_wrong_headers_and_bodies(tmp_path: Path) -> None:
    folder = tmp_path / "statistics"
    folder.mkdir()

    def written(name: str, text: str) -> Path:
        (folder / name).write_text(text, encoding="utf-8")
        return folder / name

    bounds = "doc: x\nversion: 1\nparams: {low: {type: int, default: 1}}\nstats: {n: {type: BIGINT}}\nbounds: {n: [low, low]}"
    with pytest.raises(OperatorError, match="keeps every sample"):
        read_operator(written("bounded_stats.sql", f"/*---\n{bounds}\n---*/ SELECT 1 AS n"))
    with pytest.raises(OperatorError, match="no parameter"):
        read_operator(
            written("named_stats.sql", '/*---\ndoc: x\nversion: 1\nstats: {"n_{q}": {}}\n---*/ SELECT 1 AS n')
        )
    for file in folder.glob("*.sql"):
        file.unlink()
    written("odd_stats.sql", "/*---\ndoc: x\nversion: 1\nstats: {n: {type: BIGINT}}\n---*/ SELECT 1 AS n, TRUE AS keep")
    with pytest.raises(RecipeError, match="'keep'"):
        refinery.run({"process": [{"odd_stats": None}], "operators": [str(tmp_path)], **io(tmp_path)})


def io(tmp_path: Path) -> dict[str, str]:
    (tmp_path / "in.jsonl").write_text('{"text": "x"}\n', encoding="utf-8")
    return {"dataset_path": str(tmp_path / "in.jsonl"), "export_path": str(tmp_path / "out" / "kept.jsonl")}
