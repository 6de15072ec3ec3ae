"""Errors end in a message with place and cure, and in the exit code of their kind; never in a traceback."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import duckdb
import pytest

from refinery.cli import commands, runs
from refinery.errors import ConservationError
from tests.cli.conftest import Call

RECIPE_MISTAKES: list[tuple[str, str, list[str]]] = [
    (
        "dataset_path: docs.jsonl",
        "datset_path: docs.jsonl",
        ["recipe.yaml:2", "'datset_path'", "Did you mean 'dataset_path'?"],
    ),
    ("text_length_filter:", "text_lenght_filter:", ["recipe.yaml:8", "Did you mean 'text_length_filter'"]),
    ("min_len: 6", "minimum_len: 6", ["recipe.yaml:9", "Did you mean 'min_len'?"]),
    ("min_len: 6", "min_len: six", ["recipe.yaml:9", "text_length_filter.min_len must be a whole number, not 'six'"]),
    ("np: 1", "np: 0", ["recipe.yaml:4", "at least 1"]),
    ("np: 1", "np: 1\nnp: 2", ["recipe.yaml:5", "np"]),
    ("np: 1", "np: {{ workers }}", ["recipe.yaml:4", "--var workers="]),
    ("np: 1", "np: ${REFINERY_TEST_UNSET}", ["recipe.yaml:4", "REFINERY_TEST_UNSET"]),
    ("np: 1", "np: [1", ["recipe.yaml:4", "bracket"]),
    ("out/docs.jsonl", "out/docs.xyz", ["recipe.yaml:3", "'.xyz'", "jsonl"]),
    ("score > 0.3", "scor > 0.3", ["recipe.yaml:10", "no column or statistic 'scor'", "Did you mean 'score'?"]),
    ("score > 0.3", "max(score) > 0.3", ["recipe.yaml:10", "more than one row"]),
    ("score > 0.3", "random() > 0.3", ["recipe.yaml:10", "hash(_row)"]),
    ("score > 0.3", "score >", ["recipe.yaml:10", "the SQL cannot be read"]),
    ("score > 0.3", "scoring(id)", ["recipe.yaml:10", "scoring does not exist"]),
    ("score > 0.3 OR text_len > 50", "text", ["recipe.yaml:10", "gives VARCHAR where BOOLEAN is needed"]),
    ("process:", "steps:", ["has no process"]),
]


@pytest.mark.parametrize(
    "command", ["run", pytest.param("check", marks=pytest.mark.long), pytest.param("sql", marks=pytest.mark.long)]
)
@pytest.mark.parametrize(
    ("before", "after", "said"), RECIPE_MISTAKES, ids=[after[:40] for _, after, _ in RECIPE_MISTAKES]
)
def test_recipe_mistakes(call: Call, folder: Path, before: str, after: str, said: list[str], command: str) -> None:
    text = (folder / "recipe.yaml").read_text()
    assert before in text
    (folder / "recipe.yaml").write_text(text.replace(before, after))
    done = call(command, "recipe.yaml")
    assert (done.code, done.out) == (2, "")
    assert [part for part in said if part not in done.err] == []


def test_all_problems_at_once(call: Call, folder: Path) -> None:
    text = (folder / "recipe.yaml").read_text()
    text = text.replace("np: 1", "np: none").replace("min_len", "min_lenn").replace("sql_mapper", "sql_maper")
    (folder / "recipe.yaml").write_text(text)
    done = call("run", "recipe.yaml", "--trace_num", "few", "--set", "process.9.x=1")
    places = [line.partition(": ")[0] for line in done.err.splitlines()]
    assert done.code == 2
    assert places == ["recipe.yaml:4", "recipe.yaml:6", "recipe.yaml:9", "--set process.9.x", "--trace_num"]


def test_all_wrong_sql_at_once(call: Call, folder: Path) -> None:
    """Names that are not there, and then what DuckDB does not bind, of every step."""
    text = (folder / "recipe.yaml").read_text()
    (folder / "recipe.yaml").write_text(text.replace("replace(text,", "replace(txt,").replace("score >", "scor >"))
    lines = call("run", "recipe.yaml").err.splitlines()
    assert [line.partition(": ")[0] for line in lines] == ["recipe.yaml:6", "recipe.yaml:10"]
    wrong = text.replace("replace(text,", "replace(id,").replace("score > 0.3", "scoring(id)")
    (folder / "recipe.yaml").write_text(wrong)
    done = call("run", "recipe.yaml")
    assert done.code == 2
    assert [line.partition(": ")[0] for line in done.err.splitlines()] == ["recipe.yaml:6", "recipe.yaml:10"]


COMMAND_LINES: list[tuple[list[str], int, list[str]]] = [
    (["run"], 2, ["no recipe is given"]),
    (["run", "nothing.yaml"], 2, ["nothing.yaml: no such recipe", "Recipes there: recipe.yaml"]),
    (["run", "recipe.yml"], 2, ["Did you mean 'recipe.yaml'?"]),
    (["run", "no/such/recipe.yaml"], 2, ["There is no folder no/such either"]),
    (["run", "."], 2, ["is a directory"]),
    (["run", "docs.jsonl"], 2, ["docs.jsonl"]),
    (["run", "recipe.yaml", "--trace_nun", "5"], 2, ["--trace_nun", "Did you mean 'trace_num'?"]),
    (["run", "recipe.yaml", "trace_num=5"], 2, ["unexpected argument 'trace_num=5'"]),
    (["run", "recipe.yaml", "--trace_num", "x"], 2, ["--trace_num", "whole number"]),
    (["run", "recipe.yaml", "--set", "np"], 2, ["--set", "process.3.max_num=500"]),
    (["run", "recipe.yaml", "--set", "trace_nmu=1"], 2, ["Did you mean 'trace_num'?"]),
    (["run", "recipe.yaml", "--set", "process.7.x=1"], 2, ["there is no step 7: process has 3"]),
    (["run", "recipe.yaml", "--var", "x"], 2, ["--var", "name=value"]),
    (["run", "recipe.yaml", "--var", "x=1"], 2, ["the recipe has no variable 'x'"]),
    (["run", "recipe.yaml", "--operators", "nowhere"], 2, ["--operators", "nowhere"]),
    (["run", "recipe.yaml", "--words_num_filter.min_num", "3"], 2, ["the recipe has no step 'words_num_filter'"]),
    (["run", "recipe.yaml", "--dataset_path", "filecache::s3://bucket/a.jsonl"], 2, ["is a chain of URLs"]),
    (["run", "recipe.yaml", "--dataset_path", "memory://nothing/a.jsonl"], 3, ["there is no bucket '/nothing'"]),
    (
        ["run", "recipe.yaml", "--dataset_path", "doc.jsonl"],
        3,
        ["doc.jsonl: no such file", "Did you mean 'docs.jsonl'?"],
    ),
    (["run", "recipe.yaml", "--dataset_path", "*.arrow"], 3, ["no file matches"]),
    (["run", "recipe.yaml", "--dataset_path", "recipe.yaml"], 3, ["recipe.yaml"]),
    (["run", "recipe.yaml", "--dataset_path", "broken.parquet"], 3, ["broken.parquet: no readable parquet file"]),
    (["run", "recipe.yaml", "--dataset_path", "table.csv"], 2, ["names the field 'text'", "Did you mean 'texts'?"]),
    (["run", "recipe.yaml", "--operators", "broken"], 2, ["broken/filters/my_filter.sql", "no header"]),
    (["run", "recipe.yaml", "--operators", "twice"], 4, ["text_length_filter", "rename the file"]),
    (["run", "recipe.yaml", "--work_dir", "docs.jsonl/run"], 6, ["docs.jsonl/run", "cannot be written"]),
    (["run", "recipe.yaml", "--work_dir", "what?"], 6, ["what?", "Set another work_dir"]),
    (["run", "recipe.yaml", "--work_dir", "out", "--export_path", "docs.jsonl/x.jsonl"], 6, ["docs.jsonl/x.jsonl"]),
    (["run", "recipe.yaml", "--explain"], 2, ["--explain"]),
    (
        ["sql", "recipe.yaml", "--lineage", "text_length"],
        2,
        ["there is no column 'text_length'", "Did you mean 'text_len'?"],
    ),
    (["sql", "recipe.yaml", "--explain", "fully"], 2, ["plan", "analyze"]),
    (["ops", "text_lengthh_filter"], 2, ["Did you mean 'text_length_filter'?"]),
    (["ops", "zzz"], 2, ["`refinery ops` lists"]),
    (["why"], 2, ["give a row number or --where"]),
    (["why", "3", "--where", "id = 1"], 2, ["one of them"]),
    (["why", "three"], 2, ["three"]),
    (["why", "3"], 3, ["no run here", "--run"]),
    (["why", "3", "--run", "nowhere"], 2, ["nowhere"]),
    (["completion", "tcsh"], 2, ["tcsh"]),
    (["runn"], 2, ["runn"]),
]


@pytest.mark.parametrize(
    ("arguments", "code", "said"), COMMAND_LINES, ids=[" ".join(line) for line, _, _ in COMMAND_LINES]
)
def test_command_lines(call: Call, folder: Path, arguments: list[str], code: int, said: list[str]) -> None:
    (folder / "broken.parquet").write_bytes(b"PAR1 and not much more")
    (folder / "table.csv").write_text("id,texts\n1,a\n")
    for name in ("broken/filters/my_filter.sql", "twice/filters/text_length_filter.sql"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_text("SELECT 1 AS keep")
    if "--operators" in arguments and "broken" in arguments:
        arguments = [*arguments, "--set", "process=[my_filter]"]
    done = call(*arguments)
    assert (done.code, done.out) == (code, "")
    assert [part for part in said if part not in done.err] == []


def test_why_of_rows_that_are_not_there(call: Call, folder: Path) -> None:
    call("run", "recipe.yaml", "--quiet")
    done = call("why", "99", "--run", "out")
    assert (done.code, done.err) == (3, "refinery: no row 99: the run read rows 0 to 5\n")
    assert call("why", "--where", "id = 77", "--run", "out").code == 3
    missing = call("why", "--where", "idd = 7", "--run", "out")
    assert missing.code == 2 and "Did you mean 'id'?" in missing.err
    with (folder / "docs.jsonl").open("a") as file:
        file.write('{"text": "one more"}\n')
    done = call("why", "1", "--run", "out")
    assert done.code == 3 and "the input has changed since the run (docs.jsonl)" in done.err


def test_names_cannot_move_the_cursor(call: Call, folder: Path) -> None:
    """Messages show a recipe's text as it is written, without effect on a terminal."""
    text = (folder / "recipe.yaml").read_text().replace("np: 1", '"n\\ep\\r": 1')
    (folder / "recipe.yaml").write_text(text)
    done = call("check", "recipe.yaml")
    assert done.code == 2 and "\x1b" not in done.err and "\r" not in done.err


@pytest.mark.parametrize(
    ("error", "code", "said"),
    [
        (ConservationError("rows do not add up: 3 were kept, but 2 written"), 5, "rows do not add up"),
        (KeyboardInterrupt(), 130, "interrupted"),
        (RuntimeError("something\nunforeseen"), 4, "internal error: RuntimeError: something unforeseen"),
        (MemoryError(), 4, "refinery: memory ran out: no more can be had"),
        (
            duckdb.OutOfMemoryException("Out of Memory Error: 4 MiB\n\nPossible solutions"),
            4,
            "memory ran out: Out of Memory Error: 4 MiB. ",
        ),
    ],
    ids=["conservation", "interrupt", "fault", "memory", "memory of DuckDB"],
)
def test_other_ends(call: Call, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int, said: str) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise error

    monkeypatch.setattr(runs, "execute", fail)
    done = call("run", "recipe.yaml")
    assert (done.code, done.out) == (code, "")
    assert said in done.err


def test_traceback_of_a_fault_on_demand(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(os.environ, "REFINERY_TRACEBACK", "1")
    monkeypatch.setattr(commands, "check", lambda *_: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        call("check", "recipe.yaml")
