"""`refinery test`: the examples of a folder of operators, alone, in batches, and as columns of a table."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from refinery.errors import OperatorError, RecipeError
from refinery.inspect.examples.folder import FileExamples, run_examples, total
from refinery.inspect.examples.places import example_lines
from tests.commands import command

SIZE = """/*---
doc: Keep long texts.
version: 1
params:
  least: {type: int, default: 3, doc: Least.}
stats: {size: {type: DOUBLE}}
bounds: {size: [least, null]}
examples:
  - {text: "abcd", stats: {size: 4}, keep: true}
  - {text: "ab", stats: {size: 3}, keep: true}
  - text: "abc"
    keeps: false
  - {text: a, params: {leest: 2}, keep: false}
  - {text: a, params: {least: many}, error: true}
  - {text: a, params: {least: 1}, error: true}
  - {text: "abc"}
---*/
SELECT length({{ text }}) AS size
"""
ROWS = '''"""Functions that look at their batch."""
import pyarrow as pa

OPERATOR = {
    "doc": "Append the number of rows.",
    "version": 1,
    "functions": {"rows_delta": {"columns": ["VARCHAR"], "returns": "VARCHAR", "runs": "python"}},
    "sql": "SELECT rows_delta({{ text }}) AS delta",
    "examples": [
        {"text": "a", "out": "a 1"},
        {
            "text": "b",
            "quarantined": "no b",
        },
    ],
}


def rows_delta(column):
    if "b" in column.to_pylist():
        raise ValueError("there is no b")
    return pa.array([f"{text} {len(column)}" for text in column.to_pylist()], pa.string())
'''
FIELD = """/*---
doc: Keep by a field.
version: 1
examples:
  - {text: a, fields: {lang: de, n: 12345678901234567890}, keep: true}
  - {text: a, fields: {lang: null, n: 1}, keep: false}
---*/
SELECT coalesce({{ field('lang') }} = 'de', false) AS keep
"""
COPIES = """/*---
doc: Remove copies.
version: 1
match: keys
examples:
  - {texts: [a, b, a], kept: [0, 1]}
  - {texts: [a, b, a], kept: [0, 2]}
---*/
SELECT {{ text }} AS key
"""
PLAIN = "/*---\ndoc: Upper.\nversion: 1\n---*/\nSELECT upper({{ text }}) AS text\n"
REFUSED = PLAIN.replace("version: 1\n", "version: 1\nexamples: [{text: a, out: A}]\n").replace("upper", "uper")
FILES = {
    "filters/size_filter.sql": SIZE,
    "filters/lang_filter.sql": FIELD,
    "mappers/rows_mapper.py": ROWS,
    "mappers/upper_mapper.sql": PLAIN,
    "mappers/uper_mapper.sql": REFUSED,
    "mappers/broken_mapper.sql": PLAIN.replace("doc:", "docs:"),
    "deduplicators/copies_deduplicator.sql": COPIES,
}


def put(folder: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> dict[str, FileExamples]:
    folder = put(tmp_path_factory.mktemp("ops"), FILES)
    return {report.path.name: report for report in run_examples(folder)}


def told(report: FileExamples) -> list[tuple[int, str, list[tuple[str, Any, Any]]]]:
    return [
        (one.line, one.problem or one.form, [(d.what, d.expected, d.actual) for d in one.differences])
        for one in report.wrong
    ]


def test_a_wrong_example_is_named_by_its_line(reports: dict[str, FileExamples]) -> None:
    problems = told(reports["size_filter.sql"])
    assert problems == [
        (10, "", [("keep", True, False), ("size", 3, 2.0)]),
        (11, "an example has no field 'keeps'. Did you mean 'keep'?", []),
        (13, "size_filter has no parameter 'leest'. Did you mean 'least'?", []),
        (15, "", [("outcome", "an error", "none: the parameters are accepted")]),
        (16, "the example expects nothing: add out, stats, keep or the like", []),
    ]


def test_results_do_not_depend_on_the_batch(reports: dict[str, FileExamples]) -> None:
    [(line, form, [difference])] = told(reports["rows_mapper.py"])
    assert (line, form) == (10, "a batch of 2")
    assert difference == ("text", "a 1", "a 2")


def test_what_is_right_is_right_in_every_form(reports: dict[str, FileExamples]) -> None:
    assert told(reports["lang_filter.sql"]) == [] and reports["lang_filter.sql"].count == 2
    assert told(reports["upper_mapper.sql"]) == [] and reports["upper_mapper.sql"].count == 0


def test_deduplicators_run(reports: dict[str, FileExamples]) -> None:
    assert told(reports["copies_deduplicator.sql"]) == [(7, "", [("kept", [0, 2], [0, 1])])]


def test_files_that_cannot_be_used_are_named(reports: dict[str, FileExamples]) -> None:
    [(line, problem, _)] = told(reports["broken_mapper.sql"])
    assert line == 1 and "the header has no 'doc'" in problem
    [(line, problem, differences)] = told(reports["uper_mapper.sql"])
    assert line == 4 and "uper" in f"{problem}{differences}"
    assert total(list(reports.values())) == {"operators": 7, "examples": 14, "wrong": 9}


def test_safe_runs_no_code_and_reads_no_file(tmp_path: Path) -> None:
    (tmp_path / "secret.txt").write_text("secret")
    secret = f"/*---\ndoc: d\nversion: 1\nexamples: [{{text: a, out: secret}}]\n---*/\nSELECT (SELECT content FROM read_text('{tmp_path}/secret.txt')) AS text\n"
    folder = put(tmp_path, {"mappers/secret_mapper.sql": secret})
    assert told(run_examples(folder)[0]) == []
    [report] = run_examples(folder, safe=True)
    assert report.wrong and "secret.txt" in str(report.wrong)
    put(folder, {"mappers/rows_mapper.py": "raise SystemExit"})
    with pytest.raises(RecipeError, match=r"rows_mapper.py: --safe: Python code is not run"):
        run_examples(folder, safe=True)


def test_a_folder_without_operators_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(OperatorError, match="has no operators"):
        run_examples(tmp_path)


def test_the_command_exits_with_1_if_an_example_is_wrong(tmp_path: Path) -> None:
    put(tmp_path, {"filters/lang_filter.sql": FIELD, "mappers/upper_mapper.sql": PLAIN})
    code, printed = command("test", str(tmp_path))
    assert code == 0, printed
    assert "lang_filter.sql: 2 examples right" in printed
    assert "upper_mapper.sql: has no example" in printed
    put(tmp_path, {"filters/lang_filter.sql": FIELD.replace("keep: false", "keep: true")})
    code, printed = command("test", str(tmp_path), "--json")
    assert code == 1
    answer = json.loads(printed)
    assert answer["wrong"] == 1
    assert answer["files"][1]["wrong"][0] == {
        "line": 6, "problem": None, "form": "alone", "differences": [{"what": "keep", "expected": True, "actual": False}],
    }  # fmt: skip


def test_lines_of_examples(tmp_path: Path) -> None:
    put(tmp_path, FILES)
    assert example_lines(tmp_path / "filters" / "size_filter.sql") == [9, 10, 11, 13, 14, 15, 16]
    assert example_lines(tmp_path / "mappers" / "rows_mapper.py") == [10, 11]
    assert example_lines(tmp_path / "mappers" / "upper_mapper.sql") == []


ENDLESS = '''"""A function that does not end."""
OPERATOR = {
    "doc": "Wait for ever.",
    "version": 1,
    "functions": {"wait_for_ever": {"params": ["VARCHAR"], "returns": "VARCHAR", "runs": "python"}},
    "sql": "SELECT wait_for_ever({{ text }}) AS text",
    "examples": [{"text": "a", "out": "a"}],
}


def wait_for_ever(text):
    while True:
        pass
'''


def test_examples_that_do_not_end_are_ended(tmp_path: Path) -> None:
    put(tmp_path, {"mappers/endless_mapper.py": ENDLESS, "mappers/rows_mapper.py": ROWS})
    code, printed = command("test", tmp_path, "--timeout", "3")
    assert code == 1 and "endless_mapper.py:7: its examples: not done after 3 seconds, and ended" in printed
    assert "rows_mapper.py:10" in printed  # the other operators are tested
