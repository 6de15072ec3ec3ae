"""The tutorial, from its first command to its last, prints what it shows."""

from __future__ import annotations

import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import duckdb
import pytest
import yaml

from tests.commands import command
from tests.conftest import ROOT
from tests.doc_blocks import Block, blocks_of

BLOCKS = list(blocks_of(ROOT / "docs" / "tutorial.md"))


def plain(line: str) -> str:
    """A line with single spaces, without lines of tables and seconds of steps."""
    return " ".join(re.sub(r"( [\d,]+) +\d+\.\d\d *$", r"\1", re.sub("[│─█▍▌▋▊▉▎▏]", " ", line)).split())


def shown(block: Block) -> Iterator[str]:
    return (text for line in block.text.splitlines() if (text := plain(line)))


def queried(block: Block, folder: Path) -> str:
    """Rows of the queries of a block, one on each line."""
    with closing(duckdb.connect(str(folder / "outputs/docs/refinery.duckdb"), read_only=True)) as con:
        found = [row for query in block.text.split(";") if query.strip() for row in con.execute(query).fetchall()]
    assert found
    return "\n".join(" ".join(map(str, row)) for row in found)


def changed(block: Block, recipe: Path) -> None:
    """Follow what the page says of the recipe: all of it is shown first, then a step is added."""
    content = yaml.safe_load(block.text)
    if isinstance(content, dict):
        assert content == yaml.safe_load(recipe.read_text("utf-8"))
        return
    text = recipe.read_text("utf-8")
    assert "min_ratio: 0.55" in text
    recipe.write_text(text.replace("min_ratio: 0.55", "min_ratio: 0.4").rstrip("\n") + "\n" + block.text, "utf-8")


def test_the_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copytree(ROOT / "recipes" / "data", tmp_path / "recipes" / "data")
    monkeypatch.chdir(tmp_path)
    printed = ""
    for block in BLOCKS:
        if block.language == "text":
            lines = {plain(line) for line in printed.splitlines()}
            missing = [line for line in shown(block) if not any(line in other for other in lines)]
            assert not missing, f"{missing} not in\n{printed}"
        elif block.language == "yaml":
            changed(block, tmp_path / "docs.yaml")
        elif block.language == "sql":
            printed = queried(block, tmp_path)
        elif block.language == "python":
            exec(compile(block.text, str(block), "exec"), {})
            assert "removed by step 4" in capsys.readouterr().out
        elif block.text.startswith("cp "):
            shutil.copy(*shlex.split(block.text)[1:])
        else:
            code, printed = command(*shlex.split(block.text)[1:], folder=tmp_path)
            assert code == 0 and printed, f"{block}\n{printed}"
            assert "report" not in block.text or (tmp_path / "outputs" / "docs" / "report.html").is_file()
