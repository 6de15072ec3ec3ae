"""docs/questions.md: every query gives the table below it."""

from __future__ import annotations

import re
import shutil
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.commands import command
from tests.conftest import ROOT
from tests.doc_blocks import Block, blocks_of

PAGE = ROOT / "docs" / "questions.md"
QUERIES = [block for block in blocks_of(PAGE) if block.language == "sql"]
# Columns whose values are those of one run on one machine.
MEASURED = {"seconds", "share_of_stage"}


def table_after(block: Block) -> tuple[list[str], list[list[str]]]:
    """Names and rows of the table below a query."""
    lines = PAGE.read_text("utf-8").split("\n")[block.line + block.text.count("\n") + 1 :]
    table = []
    for line in lines[1:]:
        if not line.startswith("|"):
            break
        table.append([cell.strip().strip("`").replace("\\|", "|") for cell in line.strip().strip("|").split(" | ")])
    return table[0], table[2:]


def shown(value: Any) -> str:
    """A value as the page has it."""
    if isinstance(value, list):
        return f"[{', '.join(map(str, value))}]"
    return "" if value is None else str(value)


def answer_of(block: Block, database: Path) -> tuple[list[str], list[list[str]]]:
    with duckdb.connect(str(database), read_only=True) as con:
        for query in filter(str.strip, block.text.split(";\n")):
            cursor = con.execute(query)
        names = [column[0] for column in cursor.description or ()]
        return names, [list(map(shown, row)) for row in cursor.fetchall()]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder in which the recipes and the commands of the page have run."""
    folder = tmp_path_factory.mktemp("questions")
    shutil.copytree(ROOT / "recipes", folder / "recipes")
    for recipe in [block for block in blocks_of(PAGE) if block.language == "yaml"]:
        name = recipe.title.removeprefix("# ") if recipe.title.startswith("# ") else "recipe.yaml"
        (folder / name).write_text(recipe.text, "utf-8")
    for block in blocks_of(PAGE):
        for line in block.lines if block.language == "indented" else ():
            code, printed = command(*line.split()[1:], folder=folder)
            assert code == 0, printed
    return folder


@pytest.mark.parametrize("block", QUERIES, ids=str)
def test_each_answer_is_that_of_the_page(block: Block, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    names, rows = answer_of(block, folder / "outputs" / "questions" / "refinery.duckdb")
    expected, listed = table_after(block)
    assert names == expected and len(rows) == len(listed) > 0
    for row, written in zip(rows, listed, strict=True):
        for name, value, text in zip(names, row, written, strict=True):
            assert re.fullmatch(r"\d+\.\d+", value) if name in MEASURED else re.sub(r"\s+", " ", value).strip() == text


def test_there_are_twelve_questions() -> None:
    headings = re.findall(r"^## (.+)$", PAGE.read_text("utf-8"), re.MULTILINE)
    assert len(headings) == 13 and headings[-1] == "Fields of the input without keep_fields"
